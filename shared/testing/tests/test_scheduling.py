"""Tests of a group run in one worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from graphtide_testing.scheduling import APART, TOGETHER, mix, name_group

ROOT = Path(__file__).parents[3]

TESTS = """
import os
import pathlib
import pytest

@pytest.mark.parametrize("number", range(6))
def test_where(number):
    with open(pathlib.Path(__file__).with_suffix(".workers"), "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + chr(10))
"""


def test_every_group_has_tests() -> None:
    files = [file for top in ("shared", "services", "e2e_tests") for file in (ROOT / top).rglob("test_*.py")]
    tests = [
        f"{file.relative_to(ROOT)}::{line.split('(')[0].removeprefix('def ')}"
        for file in files
        for line in file.read_text("utf-8").splitlines()
        if line.startswith("def test_")
    ]
    assert {name_group(test) for test in tests} >= TOGETHER.keys()
    assert all(any(test.startswith(file) for test in tests) for file in APART)


def test_rare_values_are_spread_and_each_kind_keeps_its_order() -> None:
    assert mix("abcdefXYghi", str.isupper) == list("aXbcYdefghi")
    assert mix("abc", str.isupper) == list("abc")
    assert mix("", str.isupper) == []


def test_tests_of_a_file_are_a_group_unless_they_take_long() -> None:
    assert name_group("a/test_b.py::test_c[d]") == "a/test_b.py"
    assert {name_group(f"{file}test_c[d]") for file in APART} == {f"{file}test_c[d]" for file in APART}


def test_a_group_runs_in_one_worker(tmp_path: Path) -> None:
    names = ("test_a_on_spark", "test_b_on_spark", "test_c")
    for name in names:
        (tmp_path / f"{name}.py").write_text(TESTS)
    plugins = ("xdist.plugin", "graphtide_testing.scheduling", "no:cacheprovider")
    program = [sys.executable, "-m", "pytest", "-n", "2", *(part for name in plugins for part in ("-p", name)), "."]
    # Plugins that happen to be installed would take most of the time.
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(program, cwd=tmp_path, env=alone, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    workers = {name: (tmp_path / f"{name}.workers").read_text().split() for name in names}
    assert [len(each) for each in workers.values()] == [6] * 3
    assert len({*workers["test_a_on_spark"], *workers["test_b_on_spark"]}) == 1
