"""Checkpoints on a real Redis Cluster, and under real sentinels whose primary crashes."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis
from graphtide_core.errors import FatalError, TransientError
from graphtide_log.checkpoints.redis import RedisCheckpoints, RedisLogin
from graphtide_testing.contracts.checkpoints import CheckpointContract
from graphtide_testing.servers.security import PASSWORD, REDIS_CLUSTER_RULES, REDIS_RULES, USER
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_testing.servers import RedisClusterServers, RedisSentinelServers

pytestmark = pytest.mark.integration

KEYS = [f"matcher_timing.{shard}/{stream}" for shard in range(8) for stream in ("flows", "a.b", "logins")]


class TestClusterCheckpoints(CheckpointContract):
    @pytest.fixture
    def store(self, redis_cluster: RedisClusterServers) -> Iterator[CheckpointStore]:
        store = RedisCheckpoints(redis_cluster.url)
        yield store
        store.close()


def test_keys_of_all_nodes_are_read_and_written(redis_cluster: RedisClusterServers) -> None:
    store = RedisCheckpoints(redis_cluster.url)
    store.ping()
    for key in KEYS:
        store.save(key, key.encode(), {"a": b"1"}, [])
    assert [store.manifest(key) for key in KEYS] == [key.encode() for key in KEYS]
    store.close()
    sizes = []
    for node in redis_cluster.nodes:
        with redis.Redis(port=node.port) as client:
            sizes.append(client.dbsize())
    assert all(sizes), "each node has some"


def test_a_user_of_the_documented_rights_is_enough_in_a_cluster(redis_cluster: RedisClusterServers) -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/secure.md").read_text("utf-8")
    assert f"`{REDIS_CLUSTER_RULES}`" in page
    for node in redis_cluster.nodes:
        with redis.Redis(port=node.port) as client:
            client.execute_command(
                "ACL", "SETUSER", USER, "on", f">{PASSWORD}", *f"{REDIS_RULES} {REDIS_CLUSTER_RULES}".split()
            )
    store = RedisCheckpoints(redis_cluster.url, login=RedisLogin(USER, PASSWORD))
    store.ping()
    for key in KEYS:
        store.save(key, key.encode(), {"a": b"1"}, [])
        assert (store.manifest(key), store.segments(key, ["a"])) == (key.encode(), [b"1"])
        store.expire(key, 60)
    store.close()
    with pytest.raises(FatalError, match="credentials"):
        RedisCheckpoints(redis_cluster.url, login=RedisLogin(USER, "wrong")).manifest("k")
    for node in redis_cluster.nodes:
        with redis.Redis(port=node.port) as client:
            client.acl_deluser(USER)


def test_any_one_node_is_enough_to_find_the_others(redis_cluster: RedisClusterServers) -> None:
    for node in redis_cluster.nodes:
        store = RedisCheckpoints(f"redis+cluster://127.0.0.1:1,127.0.0.1:{node.port}")
        store.save("k", b"1", {}, [])
        assert store.manifest("k") == b"1"
        store.close()


def test_keys_that_one_server_had_are_those_that_a_cluster_has() -> None:
    """They carry hash tags since the first version: a dump of one server can be read by a cluster."""
    store = RedisCheckpoints("redis://127.0.0.1:1")
    keys = [store._manifest_key("g/s"), store._segments_key("g/s")]  # noqa: SLF001 - what stands in Redis is the contract
    assert keys == ["graphtide:checkpoint:{g/s}:manifest", "graphtide:checkpoint:{g/s}:segments"]


def test_a_cluster_that_is_called_one_server_says_moved_whole_and_what_to_write(redis_cluster: RedisClusterServers) -> None:
    store = RedisCheckpoints(f"redis://127.0.0.1:{redis_cluster.nodes[0].port}/0")
    said = []
    for key in KEYS:
        try:
            store.save(key, b"1", {"a": b"1"}, [])
        except TransientError as error:
            said.append(str(error))
    store.close()
    assert len(said) > len(KEYS) / 3
    whole = r"Redis: MOVED \d+ 127\.0\.0\.1:\d+\. Redis is a cluster, .*: write redis\+cluster:// before its address"
    assert [each for each in said if not re.fullmatch(whole, each)] == []


def test_a_node_that_is_gone_is_reported_and_waited_for(redis_cluster_to_crash: RedisClusterServers) -> None:
    store = RedisCheckpoints(redis_cluster_to_crash.url, timeout=1.0)
    for key in KEYS:
        store.save(key, b"1", {"a": b"1"}, [])
    redis_cluster_to_crash.nodes[0].kill()
    said = []
    for key in KEYS:
        try:
            store.save(key, b"2", {"a": b"2"}, [])
        except TransientError as error:
            said.append(str(error))
    assert said, "some keys were on that node"
    assert all(each.startswith("Redis: ") for each in said)
    redis_cluster_to_crash.nodes[0].start()

    def works() -> bool:
        try:
            for key in KEYS:
                store.save(key, b"3", {"a": b"3"}, [])
        except TransientError:
            return False
        return True

    wait_until(works, 60)
    assert {store.manifest(key) for key in KEYS} == {b"3"}
    store.close()


def saves(store: RedisCheckpoints, manifest: bytes, added: dict[str, bytes], kept: list[str]) -> bool:
    """Whether a checkpoint is saved: not while no primary is there."""
    try:
        store.save("k", manifest, added, kept)
    except TransientError:
        return False
    return True


def test_checkpoints_go_on_at_the_next_primary_after_a_crash(redis_sentinels_to_crash: RedisSentinelServers) -> None:
    store = RedisCheckpoints(redis_sentinels_to_crash.url, timeout=1.0)
    store.save("k", b"1", {"a": b"1"}, [])
    assert redis_sentinels_to_crash.replica is not None
    with redis.Redis(port=redis_sentinels_to_crash.replica.port) as client:
        wait_until(lambda: bool(client.exists("graphtide:checkpoint:{k}:manifest")), 30)
    redis_sentinels_to_crash.fail_over()
    wait_until(partial(saves, store, b"2", {"b": b"2"}, ["a"]), 60)
    assert (store.manifest("k"), store.segments("k", ["a", "b"])) == (b"2", [b"1", b"2"])
    with redis.Redis(port=redis_sentinels_to_crash.replica.port) as client:
        assert client.get("graphtide:checkpoint:{k}:manifest") == b"2"
    store.close()


def test_checkpoints_go_on_while_redis_fails_over_again_and_again(redis_sentinels_to_crash: RedisSentinelServers) -> None:
    store = RedisCheckpoints(redis_sentinels_to_crash.url, timeout=1.0)
    for number in (b"1", b"2"):
        redis_sentinels_to_crash.fail_over_and_back_up()
        wait_until(partial(saves, store, number, {"a": number}, []), 60)
        assert store.manifest("k") == number
    redis_sentinels_to_crash.flush()
    assert store.manifest("k") is None
    store.close()


class TestSentinelCheckpoints(CheckpointContract):
    @pytest.fixture
    def store(self, redis_sentinels: RedisSentinelServers) -> Iterator[CheckpointStore]:
        store = RedisCheckpoints(redis_sentinels.url)
        yield store
        store.close()

    def test_connections_to_sentinels_are_closed_with_the_store(self, redis_sentinels: RedisSentinelServers) -> None:
        def connections() -> list[int]:
            # Sentinels name their own connections; one that has no name is a client's, and one of these asks here.
            counted = []
            for port in redis_sentinels.ports:
                with redis.Redis(port=port, socket_timeout=10) as client:
                    counted.append(len([each for each in client.client_list() if not each["name"]]) - 1)
            return counted

        wait_until(lambda: not any(connections()), 30)
        store = RedisCheckpoints(redis_sentinels.url)
        store.ping()
        assert any(connections())
        store.close()
        wait_until(lambda: not any(connections()), 30)

    def test_a_primary_that_no_sentinel_knows_is_reported(self, redis_sentinels: RedisSentinelServers) -> None:
        store = RedisCheckpoints(redis_sentinels.url.replace("/checkpoints/", "/unknown/"), timeout=1.0)
        with pytest.raises(TransientError, match="unknown"):
            store.ping()


@pytest.mark.parametrize("url", ["redis+cluster://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/m/0"])
def test_servers_that_are_not_there_may_come_later(url: str) -> None:
    store = RedisCheckpoints(url, timeout=0.5)
    calls: list[Callable[[], object]] = [
        store.ping,
        lambda: store.manifest("k"),
        lambda: store.save("k", b"", {}, []),
        lambda: store.expire("k", 1),
    ]
    for call in calls:
        with pytest.raises(TransientError, match=r"^Redis: "):
            call()
    store.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://redis:6379", "begins with redis://"),
        ("redis+elsewhere://redis:6379", "redis+cluster://"),
        ("redis+cluster://redis:6379/3", "a cluster has database 0 alone"),
        ("redis+cluster://", "is not a host and port"),
        ("redis+cluster://redis:99999", "'redis:99999' is not a host and port"),
        ("redis+sentinel://redis:26379", "the name of the primary"),
        ("redis+sentinel://redis:26379/m/x", "the name of the primary"),
        ("redis+sentinel://user:hidden@a b/m", "'a b' is not a host and port"),
    ],
)
def test_a_url_that_is_none_is_refused_with_what_to_write_and_without_passwords(url: str, said: str) -> None:
    with pytest.raises(FatalError, match=re.escape(said)) as raised:
        RedisCheckpoints(url)
    assert "hidden" not in str(raised.value)


def test_files_of_tls_and_logins_are_those_of_every_connection() -> None:
    login = RedisLogin("keeper", "p", "/a.pem", "/c.pem", "/k.pem", "watcher", "w")
    files = {"ssl_ca_certs": "/a.pem", "ssl_certfile": "/c.pem", "ssl_keyfile": "/k.pem"}
    assert login.options("rediss+cluster://there") == {"username": "keeper", "password": "p", **files}
    assert login.sentinel_options("rediss+sentinel://there/m") == {"username": "watcher", "password": "w", **files}
    assert login.sentinel_options("redis+sentinel://there/m") == {"username": "watcher", "password": "w"}
