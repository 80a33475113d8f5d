"""A pytest plugin for tests that share something dear within a process: one worker of pytest-xdist runs all of a group.

Other tests go one by one to the worker that is free. pytest-xdist has groups of its own (`--dist loadgroup`), which it writes
into the ids of tests; from pytest 9.2 on these ids do not change, so that its groups do nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

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
