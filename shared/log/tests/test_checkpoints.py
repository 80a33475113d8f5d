"""Keepers of checkpoints do what they must, Redis on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import redis
from graphtide_core.errors import FatalError, TransientError
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.checkpoints.redis import RedisCheckpoints, RedisLogin
from graphtide_testing.contracts.checkpoints import CheckpointContract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_core.ports.checkpoints import CheckpointStore


class TestMemoryCheckpoints(CheckpointContract):
    @pytest.fixture
    def store(self) -> CheckpointStore:
        return MemoryCheckpoints()


def limit_memory(url: str, limit: int) -> None:
    client: Any = redis.Redis.from_url(url)
    client.config_set("maxmemory", limit)
    client.close()


class TestRedisCheckpoints(CheckpointContract):
    @pytest.fixture
    def store(self, redis_server: str) -> Iterator[CheckpointStore]:
        store = RedisCheckpoints(redis_server)
        yield store
        store.close()

    def test_without_memory_nothing_is_changed(self, redis_server: str, store: CheckpointStore, key: str) -> None:
        store.save(key, b"1", {"a": b"1"}, [])
        limit_memory(redis_server, 1)
        try:
            with pytest.raises(TransientError, match="maxmemory"):
                store.save(key, b"2", {"b": b"2"}, [])
        finally:
            limit_memory(redis_server, 0)
        assert (store.manifest(key), store.segments(key, ["a"])) == (b"1", [b"1"])

    def test_keys_of_another_type_are_none_and_make_room(self, redis_server: str, store: CheckpointStore, key: str) -> None:
        store.save(key, b"1", {"a": b"1"}, [])
        client: Any = redis.Redis.from_url(redis_server)
        for name in list(client.scan_iter(f"*{key}*")):
            client.delete(name)
            client.rpush(name, "of another user")
        client.close()
        assert (store.manifest(key), store.segments(key, ["a"])) == (None, None)

        store.save(key, b"2", {"b": b"2"}, ["a"])

        assert (store.manifest(key), store.segments(key, ["b"]), store.segments(key, ["a"])) == (b"2", [b"2"], None)


def test_a_server_that_is_not_there_may_come_later() -> None:
    store = RedisCheckpoints("redis://127.0.0.1:1", timeout=0.5)
    calls: list[Callable[[], object]] = [
        store.ping,
        lambda: store.manifest("k"),
        lambda: store.save("k", b"", {}, []),
        lambda: store.expire("k", 1),
    ]
    for call in calls:
        with pytest.raises(TransientError):
            call()


def test_wrong_credentials_are_fatal(redis_server: str) -> None:
    store = RedisCheckpoints(redis_server.replace("redis://", "redis://unknown:wrong@"))
    with pytest.raises(FatalError, match="credentials"):
        store.ping()


def test_the_user_is_given_beside_the_url(redis_server: str) -> None:
    admin: Any = redis.Redis.from_url(redis_server)
    admin.acl_setuser("keeper", enabled=True, passwords=["+kept word"], keys=["graphtide:*"], categories=["+@all"])
    try:
        store = RedisCheckpoints(redis_server, login=RedisLogin("keeper", "kept word"))
        store.ping()
        store.close()
        with pytest.raises(FatalError, match="credentials"):
            RedisCheckpoints(redis_server, login=RedisLogin("keeper", "wrong")).ping()
    finally:
        admin.acl_deluser("keeper")
        admin.close()


def test_files_of_tls_are_passed_on_where_tls_is_spoken() -> None:
    login = RedisLogin("keeper", "kept word", "/authorities.pem", "/client.pem", "/client.key")
    assert login.options("redis://there:6379/0") == {"username": "keeper", "password": "kept word"}
    files = {"ssl_ca_certs": "/authorities.pem", "ssl_certfile": "/client.pem", "ssl_keyfile": "/client.key"}
    assert login.options("rediss://there:6379/0") == {"username": "keeper", "password": "kept word", **files}
