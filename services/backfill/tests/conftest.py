"""Fixtures: one Spark session for all tests that want Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_backfill.adapters.session import session
from graphtide_backfill.adapters.spark_cluster import SparkCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY = 2 << 30


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkCluster]:
    """A Spark on two cores that all tests of a worker share."""
    cluster = SparkCluster(session("local[2]", MEMORY, {}), MEMORY)
    yield cluster
    cluster.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker run all tests on Spark: a session takes seconds and half a gigabyte."""
    for item in items:
        if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("spark"))
