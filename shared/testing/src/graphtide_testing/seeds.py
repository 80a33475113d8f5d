"""A pytest plugin: every run tries a few cases that no run has tried before, so that a year of CI explores.

What is drawn at random is drawn from fixed seeds first: a failure in a change's tests is the change's. Then comes a little from
the seed of the run, which the header prints. That is a few more examples of each Hypothesis test that the profile derandomizes,
and a few more numbers from `seeds`. `--graphtide-seed N`, or `GRAPHTIDE_TEST_SEED=N`, repeats a run. With 0 nothing is new.
"""

from __future__ import annotations

import os
import secrets
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest
from hypothesis import is_hypothesis_test, seed, settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

_T = TypeVar("_T")

VARIABLE: Final = "GRAPHTIDE_TEST_SEED"

_HARD: Final = 1_000
_TIMES: Final = 10

_NONE: Final = 0
_PART: Final = 8
"""One case in so many is new; there is one at least."""

_SETTINGS: Final = "_hypothesis_internal_use_settings"
_SEED: Final = "_hypothesis_internal_use_seed"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the seed of an earlier run, to repeat it."""
    parser.addoption("--graphtide-seed", type=int, metavar="N", help=f"seed of the new cases; {_NONE}: no new cases")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed before tests are collected; workers have that of their run by the environment."""
    given: int | None = config.getoption("--graphtide-seed")
    if given is not None:
        os.environ[VARIABLE] = str(given)
    os.environ.setdefault(VARIABLE, str(1 + secrets.randbelow(10**9)))


def pytest_report_header() -> str:
    """Print the seed."""
    return f"new cases: --graphtide-seed {_seed()} repeats them"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print it once more where something failed, since quiet runs have no header."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(f"new cases were those of --graphtide-seed {_seed()}")


def seeds(count: int, first: int = 0) -> Iterator[int]:
    """Yield so many numbers from the first on, then some from the seed of the run, one for every eight.

    Where Hypothesis tries much harder, as at night, there are ten times as many of both.
    """
    count *= _TIMES if settings().max_examples >= _HARD else 1
    yield from range(first, first + count)
    if _seed() != _NONE:
        drawn = Random(_seed())  # noqa: S311 - cases, not secrets
        for _ in range(_new(count)):
            yield drawn.randrange(10**9, 2 * 10**9)


def sample(values: Sequence[_T], count: int) -> list[_T]:
    """Return so many of the values, by the seed of the run; none if nothing is new.

    Where Hypothesis tries much harder, as at night, they are all of the values.
    """
    if settings().max_examples >= _HARD:
        return list(values)
    return Random(_seed()).sample(values, count) if _seed() != _NONE else []  # noqa: S311 - cases, not secrets


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run a derandomized Hypothesis test again, with a few examples from the seed of the run."""
    done = yield
    function: Any = getattr(pyfuncitem.obj, "__func__", pyfuncitem.obj)
    if _seed() != _NONE and is_hypothesis_test(function):
        fixed: settings = getattr(function, _SETTINGS, settings())
        if fixed.derandomize:
            _run_new(pyfuncitem, function, fixed)
    return done


def _run_new(item: pytest.Function, function: Any, fixed: settings) -> None:
    arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}  # noqa: SLF001 - as pytest calls it
    before = {name: vars(function)[name] for name in (_SETTINGS, _SEED) if name in vars(function)}
    try:
        # The first example is the simplest one, at any seed.
        count = 1 + _new(fixed.max_examples)
        setattr(function, _SETTINGS, settings(fixed, max_examples=count, derandomize=False, database=None))
        seed(_seed())(function)
        item.obj(**arguments)
    finally:
        for name in (_SETTINGS, _SEED):
            vars(function).pop(name, None)
        vars(function).update(before)


def _new(count: int) -> int:
    return max(1, count // _PART)


def _seed() -> int:
    return int(os.environ.get(VARIABLE, _NONE))
