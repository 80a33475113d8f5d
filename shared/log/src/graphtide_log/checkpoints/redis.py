"""Checkpoints in Redis: one key a manifest, one hash of segments beside it, replaced in one transaction.

Both keys carry the checkpoint's key as hash tag, so that a Redis Cluster keeps them in one slot, and every call is of one slot.
Redis need not keep anything for ever: a host without a checkpoint reads the log instead. A key of another type than ours
belongs to another user of Redis: it counts as none, and the next save replaces it.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

import redis
from graphtide_core.errors import FatalError, TransientError
from redis.exceptions import AskError, MovedError, NoPermissionError, RedisClusterException

from graphtide_log.checkpoints.redis_clients import RedisLogin, client_maker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_log.checkpoints.redis_clients import AnyRedis

__all__ = ["RedisCheckpoints", "RedisLogin"]

_IS_CLUSTER: Final = "Redis is a cluster, whose nodes keep a part of the keys each: write redis+cluster:// before its address"


class RedisCheckpoints:
    """A `CheckpointStore` in Redis; connects at the first call."""

    def __init__(self, url: str, *, prefix: str = "graphtide", timeout: float = 5.0, login: RedisLogin | None = None) -> None:
        """Keep keys under `prefix`; `url` is one of `redis_clients`; `timeout` in seconds a call.

        Raises:
            FatalError: it is not a URL of Redis.
        """
        self._prefix = prefix
        self._make = client_maker(url, timeout, login or RedisLogin())
        self._made: AnyRedis | None = None
        self._making = threading.Lock()

    def manifest(self, key: str) -> bytes | None:
        """Return the newest manifest; None if there is none.

        Raises:
            TransientError: Redis does not answer.
        """
        with _translate(), _none_of_another_type():
            return cast("bytes | None", self._client.get(self._manifest_key(key)))
        return None

    def segments(self, key: str, names: Iterable[str]) -> list[bytes] | None:
        """Return these segments, in that order; None if one is gone.

        Raises:
            TransientError: Redis does not answer.
        """
        fields = list(names)
        if not fields:
            return []
        found: list[bytes | None] = []
        with _translate(), _none_of_another_type():
            found = cast("list[bytes | None]", self._client.hmget(self._segments_key(key), fields))
        whole = [segment for segment in found if segment is not None]
        return whole if len(whole) == len(fields) else None

    def save(self, key: str, manifest: bytes, added: Mapping[str, bytes], kept: Iterable[str]) -> None:
        """Add segments, drop those that are neither added nor kept, and replace the manifest, all or nothing.

        Raises:
            TransientError: Redis does not answer, or has no memory left.
        """
        segments = self._segments_key(key)
        with _translate(), self._client.pipeline(transaction=True) as together:
            before: list[bytes] = []
            if self._client.type(segments) in {b"hash", b"none"}:
                before = cast("list[bytes]", self._client.hkeys(segments))
            else:
                together.delete(segments)
            gone = {name.decode() for name in before} - set(kept) - added.keys()
            for name, segment in added.items():
                together.hset(segments, name, segment)
            if gone:
                together.hdel(segments, *gone)
            together.persist(segments)
            together.set(self._manifest_key(key), manifest)
            together.execute()

    def expire(self, key: str, seconds: int) -> None:
        """Drop a checkpoint whole after so many seconds, unless one is saved under the key before.

        Raises:
            TransientError: Redis does not answer.
        """
        with _translate(), self._client.pipeline(transaction=True) as together:
            together.expire(self._manifest_key(key), seconds)
            together.expire(self._segments_key(key), seconds)
            together.execute()

    def ping(self) -> None:
        """Return if Redis answers.

        Raises:
            TransientError: it does not.
        """
        with _translate():
            self._client.ping()

    def close(self) -> None:
        """Close the connections."""
        if self._made is not None:
            self._made.close()

    @property
    def _client(self) -> AnyRedis:
        """The client, which is made at the first call: one of a cluster asks it for its nodes then."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    def _manifest_key(self, key: str) -> str:
        return f"{self._prefix}:checkpoint:{{{key}}}:manifest"

    def _segments_key(self, key: str) -> str:
        return f"{self._prefix}:checkpoint:{{{key}}}:segments"


@contextmanager
def _none_of_another_type() -> Iterator[None]:
    """Pass over a key of another type."""
    try:
        yield
    except redis.ResponseError as error:
        if not str(error).startswith("WRONGTYPE"):
            raise


@contextmanager
def _translate() -> Iterator[None]:
    """Raise what Redis raises as errors of the domain."""
    try:
        yield
    except redis.AuthenticationError as error:
        message = f"Redis refuses the credentials: {error}"
        raise FatalError(message) from error
    except NoPermissionError as error:
        message = f"Redis refuses what this user asks for: {error}"
        raise FatalError(message) from error
    except MovedError as error:
        message = f"Redis: MOVED {error}. {_IS_CLUSTER}"
        raise TransientError(message) from error
    except AskError as error:
        message = f"Redis: ASK {error}. {_IS_CLUSTER}"
        raise TransientError(message) from error
    except RedisClusterException as error:
        # No node took the client: the last node's error says why.
        if isinstance(error.__cause__, redis.AuthenticationError | NoPermissionError):
            message = f"Redis refuses the credentials: {error}"
            raise FatalError(message) from error
        message = f"Redis: {error}"
        raise TransientError(message) from error
    except redis.RedisError as error:
        message = f"Redis: {error}"
        raise TransientError(message) from error
