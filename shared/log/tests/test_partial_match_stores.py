"""Stores of views of partial matches do what they must, Redis on a real server, a real cluster and under sentinels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import redis
from graphtide_core.errors import FatalError, TransientError
from graphtide_log.partial_matches.memory import MemoryPartialMatches
from graphtide_log.partial_matches.redis import RedisPartialMatches
from graphtide_log.redis_clients import RedisLogin
from graphtide_testing.contracts.partial_matches import PartialMatchContract
from graphtide_testing.servers.security import PASSWORD, REDIS_READER_RULES, REDIS_RULES
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_core.ports.partial_matches import PartialMatchStore
    from graphtide_testing.servers import RedisClusterServers, RedisSentinelServers


class TestMemoryPartialMatches(PartialMatchContract):
    @pytest.fixture
    def store(self) -> PartialMatchStore:
        return MemoryPartialMatches()


class TestRedisPartialMatches(PartialMatchContract):
    @pytest.fixture
    def store(self, redis_server: str) -> Iterator[PartialMatchStore]:
        # On a busy machine the server answers late.
        store = RedisPartialMatches(redis_server, timeout=60.0)
        yield store
        store.close()

    def test_the_key_goes_with_its_longest_view(self, redis_server: str, store: PartialMatchStore, pattern: str) -> None:
        client: Any = redis.Redis.from_url(redis_server)
        store.put(pattern, "a", b"1", 500)
        store.put(pattern, "b", b"2", 5)
        (key,) = [each for each in client.scan_iter("graphtide:partial-matches:*") if pattern in each.decode()]
        assert 5 < client.ttl(key) <= 500
        client.close()

    def test_what_another_user_wrote_there_is_none_and_makes_room(
        self, redis_server: str, store: PartialMatchStore, pattern: str
    ) -> None:
        client: Any = redis.Redis.from_url(redis_server)
        key = f"graphtide:partial-matches:{{{pattern}}}"
        client.rpush(key, "of another user")
        store.remove(pattern, "a")
        assert store.views(pattern) == {}
        store.put(pattern, "a", b"1", 60)
        client.hset(key, "b", b"short")
        client.close()
        assert store.views(pattern) == {"a": b"1"}


@pytest.mark.integration
class TestClusterPartialMatches(PartialMatchContract):
    @pytest.fixture
    def store(self, redis_cluster: RedisClusterServers) -> Iterator[PartialMatchStore]:
        store = RedisPartialMatches(redis_cluster.url, timeout=5.0)
        yield store
        store.close()

    def test_views_of_many_patterns_lie_on_all_nodes(
        self, redis_cluster: RedisClusterServers, store: PartialMatchStore
    ) -> None:
        names = [f"pattern_{number}" for number in range(40)]
        for name in names:
            store.put(name, "a", name.encode(), 60)
            store.put(name, "b", b"", 60)
        assert [store.views(name) for name in names] == [{"a": name.encode(), "b": b""} for name in names]
        sizes = []
        for node in redis_cluster.nodes:
            with redis.Redis(port=node.port) as client:
                sizes.append(client.dbsize())
        assert all(sizes)


@pytest.mark.integration
class TestSentinelPartialMatches(PartialMatchContract):
    @pytest.fixture
    def store(self, redis_sentinels: RedisSentinelServers) -> Iterator[PartialMatchStore]:
        store = RedisPartialMatches(redis_sentinels.url, timeout=5.0)
        yield store
        store.close()


@pytest.mark.integration
def test_views_go_on_at_the_next_primary_after_a_crash(redis_sentinels_to_crash: RedisSentinelServers) -> None:
    store = RedisPartialMatches(redis_sentinels_to_crash.url)
    store.put("p", "a", b"1", 600)
    redis_sentinels_to_crash.fail_over()

    def puts() -> bool:
        try:
            store.put("p", "b", b"2", 600)
        except TransientError:
            return False
        return True

    wait_until(puts, 60)
    assert store.views("p")["b"] == b"2"
    store.close()


def test_a_server_that_is_not_there_may_come_later() -> None:
    store = RedisPartialMatches("redis://127.0.0.1:1", timeout=0.5)
    calls: list[Callable[[], object]] = [
        lambda: store.put("p", "a", b"", 1),
        lambda: store.remove("p", "a"),
        lambda: store.views("p"),
    ]
    for call in calls:
        with pytest.raises(TransientError):
            call()
    store.close()


def test_users_of_the_documented_rights_are_enough(redis_server: str) -> None:
    admin: Any = redis.Redis.from_url(redis_server)
    try:
        for user, rules in (("views_writer", REDIS_RULES), ("views_reader", REDIS_READER_RULES)):
            admin.execute_command("ACL", "SETUSER", user, "on", f">{PASSWORD}", *rules.split())
        writer = RedisPartialMatches(redis_server, login=RedisLogin("views_writer", PASSWORD))
        reader = RedisPartialMatches(redis_server, login=RedisLogin("views_reader", PASSWORD))
        writer.put("documented_rights", "a", b"1", 60)
        assert reader.views("documented_rights") == writer.views("documented_rights") == {"a": b"1"}
        with pytest.raises(FatalError, match="what this user asks for"):
            reader.put("documented_rights", "a", b"2", 60)
        writer.remove("documented_rights", "a")
        writer.close()
        reader.close()
    finally:
        admin.acl_deluser("views_writer", "views_reader")
        admin.close()
