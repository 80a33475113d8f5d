"""A pytest plugin that spreads tests over the workers of pytest-xdist.

One worker runs all of a group: tests that share something dear within a process. Other tests go one by one to the worker that
is free. Files of tests that wait for servers stand between files of tests that compute, so that a core is seldom idle.

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
    "::test_what_was_stored_before_a_cut": "the true matches of its streams are computed once a process",
    "e2e_tests/test_install.py::": "environments take gigabytes while they are installed",
    "e2e_tests/images/test_services_in_images.py::": "images take gigabytes while they are built",
}
"""Parts of ids of tests that run in one worker, and why."""


def name_group(nodeid: str) -> str:
    """Return the group of a test: one of `TOGETHER`, or the test alone."""
    return next((part for part in TOGETHER if part in nodeid), nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """Return the scheduler of a run with several workers; it begins with the largest group."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - most runs of pytest have one worker

    class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return name_group(nodeid)

    return GroupScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mix the files of tests, where this process is one of several workers."""
    if not hasattr(config, "workerinput"):
        return
    files = [list(own) for _, own in groupby(items, key=lambda item: item.path)]
    items[:] = [item for own in mix(files, _waits) for item in own]


def _waits(tests: list[pytest.Item]) -> bool:
    return any(test.get_closest_marker("integration") is not None for test in tests)


def mix(values: Iterable[_T], is_rare: Callable[[_T], bool]) -> list[_T]:
    """Return the values with the rare ones spread evenly over the others; each kind keeps its order."""
    kinds: dict[bool, list[_T]] = {True: [], False: []}
    for value in values:
        kinds[is_rare(value)].append(value)
    placed = [
        ((place + 0.5) / len(own), number, value)
        for number, own in enumerate(kinds.values())
        for place, value in enumerate(own)
    ]
    return [value for _, _, value in sorted(placed, key=lambda each: each[:2])]
