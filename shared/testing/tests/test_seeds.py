"""A run tries the same cases as every run, and a few from a seed of its own that repeats them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from graphtide_testing.seeds import VARIABLE

if TYPE_CHECKING:
    from pathlib import Path

TESTS = """
from pathlib import Path
from graphtide_testing.seeds import sample, seeds
from hypothesis import given, settings, strategies as st

settings.register_profile("fixed", max_examples=16, derandomize=True)
settings.load_profile("fixed")

def drawn(kind, number):
    with Path(kind).open("a") as file:
        file.write(f"{number}\\n")

@given(number=st.integers(0, 10**12))
def test_function(number):
    drawn("function", number)

class TestClass:
    @settings(max_examples=8)
    @given(number=st.integers(0, 10**12))
    def test_method(self, number):
        drawn("method", number)

def test_loop():
    for number in seeds(16):
        drawn("loop", number)

def test_sample():
    for number in sample(range(1_000), 3):
        drawn("sample", number)

@given(number=st.integers(0, 10**12))
def test_that_fails_for_what_is_new(number):
    known = Path("known")
    tried = set(known.read_text().split()) if known.exists() else set()
    if len(tried) >= 16:
        assert str(number) in tried, "new"
    with known.open("a") as file:
        file.write(f"{number}\\n")
"""


PLUGINS = [
    part
    for name in ("_hypothesis_pytestplugin", "xdist.plugin", "graphtide_testing.seeds", "no:cacheprovider")
    for part in ("-p", name)
]
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Plugins that happen to be installed would take most of the time."""


def run(folder: Path, *options: str, only: str = "not fails", **more: str) -> tuple[str, dict[str, list[str]]]:
    """Return what a run printed, and what its tests drew."""
    folder.mkdir()
    (folder / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", *PLUGINS, "-k", only, *options]
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | ALONE | more
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False).stdout
    kinds = ("function", "method", "loop", "sample")
    return said, {kind: (folder / kind).read_text().split() for kind in kinds if (folder / kind).exists()}


def test_cases_are_fixed_but_for_a_few_of_the_seed(tmp_path: Path) -> None:
    said, first = run(tmp_path / "first", "--graphtide-seed", "7")
    _, same = run(tmp_path / "same", "-n", "2", **{VARIABLE: "7"})
    _, other = run(tmp_path / "other", "--graphtide-seed", "8")
    _, none = run(tmp_path / "none", "--graphtide-seed", "0")
    assert "--graphtide-seed 7 repeats them" in said
    assert first == same, "workers have the seed of their run"
    assert "sample" not in none
    assert len({*first["sample"]}) == len({*other["sample"]}) == 3
    assert first["sample"] != other["sample"]
    for kind, count, new in (("function", 16, 3), ("method", 8, 2), ("loop", 16, 2)):
        assert len(none[kind]) == count
        assert first[kind][:count] == other[kind][:count] == none[kind]
        assert len(first[kind]) == len(other[kind]) == count + new
        assert first[kind][count:] != other[kind][count:]


def test_each_run_has_a_seed_of_its_own_which_a_failure_names(tmp_path: Path) -> None:
    said, _ = run(tmp_path / "first", "-q", only="fails")
    line = next(line for line in said.splitlines() if line.startswith("new cases were those of"))
    other, _ = run(tmp_path / "other", "-q", only="fails")
    assert "AssertionError: new" in said
    assert line not in other


def test_what_is_no_seed_is_refused(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGINS, "--graphtide-seed", "seven"],
        cwd=tmp_path,
        env=os.environ | ALONE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--graphtide-seed" in said.stderr
