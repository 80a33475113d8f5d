"""The sampler of mutants: the changes it makes, its report on a toy package's tests, and that it leaves sources alone."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from graphtide_testing.mutation.__main__ import all_mutants, sample
from graphtide_testing.mutation.mutants import mutants
from graphtide_testing.seeds import sample as random_sample

if TYPE_CHECKING:
    from pathlib import Path

STRONG = """
from toy.sums import clamp, drain, positive

def test_a_number_above_the_limit_is_the_limit():
    assert [clamp(number, 3) for number in (2, 3, 4)] == [2, 3, 3]

def test_zero_is_not_positive():
    assert [positive(number) for number in (-1, 0, 1)] == [False, False, True]

def test_draining_ends():
    assert drain([3]) == []
"""
WEAK = """
from toy.sums import positive

def test_it_gives_something():
    assert positive(5) is not None
"""
SIGN = '''"""Signs."""

def positive(number: int) -> bool:
    return number > 0
'''
SUMS = '''"""Sums."""

def clamp(number: int, limit: int) -> int:
    """Return number, 100 at most."""
    if number > limit:
        return limit
    return number

def positive(number: int) -> bool:
    return number > 0

def drain(numbers: list[int]) -> list[int]:
    while numbers:
        numbers.pop()
    return numbers

def never_called(number: int) -> int:
    return number + 1
'''


def changes(source: str) -> list[tuple[str, str]]:
    return [(mutant.before, mutant.after) for mutant in mutants(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a == b", [("a == b", "(a != b)")]),
        ("a < b <= c", [("a < b <= c", "(a < b < c)"), ("a < b <= c", "(a <= b <= c)")]),
        ("a is b", [("a is b", "(a is not b)")]),
        ("a and b", [("a and b", "(a or b)")]),
        ("a + b", [("a + b", "(a - b)")]),
        ("a | b", []),
        ("a = 7", [("7", "6"), ("7", "8")]),
        ("a = 'ä', 0.5", [("0.5", "-0.5"), ("0.5", "1.5")]),
        ("a = True", []),
        ("if not a:\n    b", [("not a", "(a)")]),
        ("if a == b:\n    c", [("a == b", "(a != b)")]),
        ("a = b if c else d", [("c", "(not c)")]),
        ("a = [b for b in c if b]", [("b", "(not b)")]),
        ("match a:\n    case b if c:\n        d", [("c", "(not c)")]),
        ("f(a)", [("f(a)", "pass")]),
        ("a.b = c", [("a.b = c", "pass")]),
        ("a.b: int = c", [("a.b: int = c", "pass")]),
        ("a = b", []),
        ("a += b", [("a += b", "pass")]),
        ("def f():\n    return a", [("return a", "return None")]),
        ("def f():\n    return True", [("return True", "return False")]),
        ("def f():\n    return None", []),
    ],
)
def test_each_operator_changes_one_thing(source: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(changes(source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring of 3."""',
        "def f(a: 'b == 3', *, c: d[3] = e) -> d[3]: ...",
        "a: d[3]",
        "@limit(3)\nclass A: ...",
        "if TYPE_CHECKING:\n    f(3)",
        "if typing.TYPE_CHECKING:\n    f(3)",
        "if __name__ == '__main__':\n    f(3)",
        "a = f'{b + 3}'",
        "assert_never(a)",
    ],
)
def test_what_is_no_behaviour_is_never_changed(source: str) -> None:
    assert changes(source) == []


def test_mutants_of_a_package_parse_and_mean_something_else(pytestconfig: pytest.Config) -> None:
    files = sorted((pytestconfig.rootpath / "shared/core/src/graphtide_core").rglob("*.py"))
    for file in {*files[::8], *random_sample(files, 4)}:
        source = file.read_text()
        tree = ast.dump(ast.parse(source))
        for mutant in mutants(source):
            changed = mutant.applied_to(source.encode()).decode()
            assert ast.dump(ast.parse(changed)) != tree, f"{file}:{mutant.line}: {mutant.before} -> {mutant.after}"


def test_a_mutant_knows_the_lines_of_its_statement_and_whether_a_call_runs_it() -> None:
    source = "limit = 3\n\ndef f(a=4):\n    return g(\n        a,\n        5,\n    )\n"

    seen = {mutant.before: (mutant.line, mutant.lines, mutant.in_function) for mutant in mutants(source)}

    assert seen["3"] == (1, range(1, 2), False)
    assert seen["4"] == (3, range(3, 4), False)
    assert seen["5"] == (6, range(4, 8), True)


def test_a_seed_picks_the_same_mutants_again(tmp_path: Path) -> None:
    every = all_mutants(toy(tmp_path, STRONG))

    assert sample(every, 5, seed=1) == sample(every, 5, seed=1)
    assert sample(every, 5, seed=1) != sample(every, 5, seed=2)
    assert sample(every, len(every) + 1, seed=1) == every


def test_strong_tests_kill_what_they_run_and_an_endless_loop_counts_as_killed(tmp_path: Path) -> None:
    package = toy(tmp_path, STRONG)

    output = run(tmp_path)

    survived = [line.rpartition("toy/")[2] for line in output.splitlines() if line.startswith("survived")]
    assert survived == [
        # Equivalent: at the limit, both are the limit.
        "sums.py:5: number > limit  ->  (number >= limit)",
        "sums.py:18: return number + 1  ->  return None",
        "sums.py:18: number + 1  ->  (number - 1)",
        "sums.py:18: 1  ->  0",
        "sums.py:18: 1  ->  2",
    ]
    assert "15 mutants: 10 killed (1 by time), 5 survived (4 on lines that no test runs)" in output
    assert (package / "sums.py").read_text() == SUMS


def test_weak_tests_let_more_survive(tmp_path: Path) -> None:
    toy(tmp_path, WEAK, SIGN)

    output = run(tmp_path)

    assert "survived: " in output
    assert "number > 0  ->  (number >= 0)" in output


def test_tests_that_fail_before_any_change_are_refused(tmp_path: Path) -> None:
    toy(tmp_path, "import toy.sums\n\ndef test_it():\n    assert toy.sums.clamp(5, 3) == 5\n")

    result = sampler(tmp_path)

    assert result.returncode == 2
    assert "the tests must pass before anything is changed" in result.stderr


def test_a_test_that_cannot_pass_on_a_copy_is_left_out_by_name(tmp_path: Path) -> None:
    place = "import toy\n\ndef test_the_place():\n    assert 'graphtide-mutation' not in toy.__file__\n"
    toy(tmp_path, STRONG + place)

    result = sampler(tmp_path, "--mutants", "1", "--deselect", "tests/test_sums.py::test_the_place")

    assert result.returncode == 0, result.stderr
    assert "3 tests pass" in result.stdout


def test_tests_that_run_nothing_of_the_package_are_refused(tmp_path: Path) -> None:
    toy(tmp_path, "def test_it():\n    assert True\n")

    result = sampler(tmp_path)

    assert result.returncode == 2
    assert "no test runs a line of toy" in result.stderr


def toy(folder: Path, tests: str, source: str = SUMS) -> Path:
    package = folder / "src" / "toy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "sums.py").write_text(source)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_sums.py").write_text(tests)
    return package


def run(folder: Path) -> str:
    result = sampler(folder)
    assert result.returncode == 0, result.stderr
    return result.stdout


def sampler(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    module = [sys.executable, "-m", "graphtide_testing.mutation"]
    command = [*module, "src/toy", "--tests", "tests", "--mutants", "1000", "--start-seconds", "15", *options]
    # Plugins that happen to be installed would take longer than the toy's tests.
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "pytest_cov.plugin"}
    return subprocess.run(command, cwd=folder, env={**os.environ, **plugins}, capture_output=True, text=True, check=False)
