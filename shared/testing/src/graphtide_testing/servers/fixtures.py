"""Servers as pytest fixtures.

Tests that ask for one are of the group `servers`: with `--dist loadgroup` one worker runs them all and starts each server once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphtide_testing.servers.kafka import KafkaServer
from graphtide_testing.servers.redis import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVERS = {"kafka", "kafka_to_crash", "redis_server", "redis_to_crash"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a server, before the tests are spread over workers."""
    for item in items:
        if isinstance(item, pytest.Function) and _SERVERS.intersection(item.fixturenames):
            item.add_marker(pytest.mark.integration)
            item.add_marker(pytest.mark.xdist_group("servers"))


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap address of a Kafka that all tests of a worker share: use topics, groups and ids of your own."""
    server = KafkaServer(tmp_path_factory.mktemp("kafka"))
    server.start()
    yield server.bootstrap
    server.kill()


@pytest.fixture
def kafka_to_crash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """A Kafka of the test's own, started."""
    server = KafkaServer(tmp_path_factory.mktemp("kafka"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a Redis that all tests of a worker share: use keys of your own."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server.url
    server.kill()


@pytest.fixture
def redis_to_crash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis of the test's own, started."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()
