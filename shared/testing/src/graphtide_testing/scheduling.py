"""A pytest plugin that spreads tests over the workers of pytest-xdist.

One worker runs all tests of a file, so what they share is made once: fixtures of the module, streams, expected matches. Groups
of files share something dear within a process. Tests of a few long files share nothing dear, and go one by one to the worker
that is free. Files of tests that wait for servers are spread over files of tests that compute, so that a core is seldom idle.
They come early: what runs last, when workers become idle, is short.

pytest-xdist has groups of its own (`--dist loadgroup`), which it writes into the ids of tests. From pytest 9.2 on these ids do
not change, so its groups do nothing.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

_T = TypeVar("_T")

TOGETHER: Final[Mapping[str, str]] = {
    "_on_spark.py::": "a session of Spark belongs to its process, and takes half a minute of processor time",
    "e2e_tests/chart/": "what Helm makes of the sets of values is rendered once a process",
}
"""Parts of ids of tests of several files that run in one worker, and why."""

APART: Final = ("e2e_tests/documents/test_every_block.py::",)
"""Files whose tests take minutes together, and share nothing dear."""


def name_group(nodeid: str) -> str:
    """Return the group of a test: one of `TOGETHER`, its file, or, in a file of `APART`, the test alone."""
    file, separator, _ = nodeid.partition("::")
    return next((part for part in TOGETHER if part in nodeid), nodeid if file + separator in APART else file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """Return the scheduler of a run with several workers; groups come in the order of their first tests."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - most runs of pytest have one worker

    config.option.loadscopereorder = False

    class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return name_group(nodeid)

    return GroupScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put groups of files first, then mix the other files, where this process is one of several workers."""
    if not hasattr(config, "workerinput"):
        return
    files = [list(own) for _, own in groupby(items, key=lambda item: item.path)]
    files.sort(key=lambda own: name_group(own[0].nodeid) not in TOGETHER)
    together = sum(name_group(own[0].nodeid) in TOGETHER for own in files)
    items[:] = [item for own in [*files[:together], *mix(files[together:], _waits)] for item in own]


def _waits(tests: list[pytest.Item]) -> bool:
    return any(test.get_closest_marker("integration") is not None for test in tests)


def mix(values: Iterable[_T], is_rare: Callable[[_T], bool]) -> list[_T]:
    """Return the values with the rare ones spread evenly over the first half of the others; each kind keeps its order."""
    kinds: dict[bool, list[_T]] = {True: [], False: []}
    for value in values:
        kinds[is_rare(value)].append(value)
    placed = [
        ((place + 0.5) / len(own) / (2 if is_rare(own[0]) else 1), number, value)
        for number, own in enumerate(kinds.values())
        for place, value in enumerate(own)
    ]
    return [value for _, _, value in sorted(placed, key=lambda each: each[:2])]
