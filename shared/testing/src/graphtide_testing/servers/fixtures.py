"""Servers as pytest fixtures: all workers of a run share one Kafka and one Redis.

A session of Spark belongs to its process, so tests of it are in files `test_…_on_spark.py`, which one worker runs
(`graphtide_testing.scheduling`).
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import pytest

from graphtide_testing.servers.kafka import KafkaServer
from graphtide_testing.servers.redis import RedisServer
from graphtide_testing.servers.redis_several import RedisClusterServers, RedisSentinelServers
from graphtide_testing.servers.sharing import share
from graphtide_testing.servers.spark import SparkCluster, environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

_Servers = TypeVar("_Servers", RedisClusterServers, RedisSentinelServers)

_SERVERS = {
    "spark",
    "spark_cluster",
    "kafka",
    "kafka_to_crash",
    "redis_server",
    "redis_to_crash",
    "redis_cluster",
    "redis_cluster_to_crash",
    "redis_sentinels",
    "redis_sentinels_to_crash",
}

_SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a server."""
    for item in items:
        if isinstance(item, pytest.Function) and _SERVERS.intersection(item.fixturenames):
            item.add_marker(pytest.mark.integration)


def folder_of_run(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that is the same for all workers of a run."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"shared-{name}"


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap address of a Kafka that all tests of a run share: use topics, groups and ids of your own."""
    folder = folder_of_run("kafka", tmp_path_factory)
    server = KafkaServer(folder)
    with share(server, folder):
        yield server.bootstrap


@pytest.fixture
def kafka_to_crash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """A Kafka of the test's own, started."""
    server = KafkaServer(tmp_path_factory.mktemp("kafka"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A Spark session on two cores that all tests of a worker share: it takes seconds to start."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - most tests need no Spark, and it takes half a second

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        builder = SparkSession.builder.master("local[2]").appName("tests")
        for name, value in _SPARK.items():
            builder = builder.config(name, value)
        session = builder.config("spark.local.dir", str(tmp_path_factory.mktemp("spark"))).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture
def spark_cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    """A Spark cluster of two workers of the test's own, started."""
    cluster = SparkCluster(tmp_path / "cluster")
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a Redis that all tests of a run share: use keys of your own."""
    folder = folder_of_run("redis", tmp_path_factory)
    server = RedisServer(folder)
    with share(server, folder):
        yield server.url


@pytest.fixture
def redis_to_crash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis of the test's own, started."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@contextmanager
def _running(servers: _Servers) -> Iterator[_Servers]:
    try:
        servers.start()
        yield servers
    finally:
        servers.kill()


@pytest.fixture(scope="module")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisClusterServers]:
    """A Redis Cluster that the tests of a file share."""
    with _running(RedisClusterServers(tmp_path_factory.mktemp("cluster"))) as servers:
        yield servers


@pytest.fixture
def redis_cluster_to_crash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisClusterServers]:
    """A Redis Cluster of the test's own, started."""
    with _running(RedisClusterServers(tmp_path_factory.mktemp("cluster"))) as servers:
        yield servers


@pytest.fixture(scope="module")
def redis_sentinels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisSentinelServers]:
    """Redis under sentinels that the tests of a file share."""
    with _running(RedisSentinelServers(tmp_path_factory.mktemp("sentinels"))) as servers:
        yield servers


@pytest.fixture
def redis_sentinels_to_crash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisSentinelServers]:
    """Redis under sentinels of the test's own, started."""
    with _running(RedisSentinelServers(tmp_path_factory.mktemp("sentinels"))) as servers:
        yield servers
