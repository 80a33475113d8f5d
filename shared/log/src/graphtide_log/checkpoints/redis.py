"""Checkpoints in Redis: one key a manifest, one hash of segments beside it, replaced in one transaction.

Both keys carry the checkpoint's key as hash tag. So a Redis Cluster keeps them in one slot, and every call is of one slot.
Redis need not keep anything for ever: a host without a checkpoint reads the log instead. A key of another type than ours
belongs to another user of Redis: it counts as none, and the next save replaces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from graphtide_log.redis_clients import RedisLogin
from graphtide_log.redis_connection import RedisConnection, none_of_another_type, translate_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["RedisCheckpoints", "RedisLogin"]


class RedisCheckpoints:
    """A `CheckpointStore` in Redis; connects at the first call."""

    def __init__(self, url: str, *, prefix: str = "graphtide", timeout: float = 5.0, login: RedisLogin | None = None) -> None:
        """Keep keys under `prefix`; `url` is one of `redis_clients`; `timeout` in seconds a call.

        Raises:
            FatalError: it is not a URL of Redis.
        """
        self._prefix = prefix
        self._connection = RedisConnection(url, timeout=timeout, login=login)

    def manifest(self, key: str) -> bytes | None:
        """Return the newest manifest; None if there is none.

        Raises:
            TransientError: Redis does not answer.
        """
        with translate_errors(), none_of_another_type():
            return cast("bytes | None", self._connection.client.get(self._manifest_key(key)))
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
        with translate_errors(), none_of_another_type():
            found = cast("list[bytes | None]", self._connection.client.hmget(self._segments_key(key), fields))
        whole = [segment for segment in found if segment is not None]
        return whole if len(whole) == len(fields) else None

    def save(self, key: str, manifest: bytes, added: Mapping[str, bytes], kept: Iterable[str]) -> None:
        """Add segments, drop those that are neither added nor kept, and replace the manifest, all or nothing.

        Raises:
            TransientError: Redis does not answer, or has no memory left.
        """
        segments = self._segments_key(key)
        with translate_errors(), self._connection.client.pipeline(transaction=True) as together:
            before: list[bytes] = []
            if self._connection.client.type(segments) in {b"hash", b"none"}:
                before = cast("list[bytes]", self._connection.client.hkeys(segments))
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
        with translate_errors(), self._connection.client.pipeline(transaction=True) as together:
            together.expire(self._manifest_key(key), seconds)
            together.expire(self._segments_key(key), seconds)
            together.execute()

    def ping(self) -> None:
        """Return if Redis answers.

        Raises:
            TransientError: it does not.
        """
        self._connection.ping()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def _manifest_key(self, key: str) -> str:
        return f"{self._prefix}:checkpoint:{{{key}}}:manifest"

    def _segments_key(self, key: str) -> str:
        return f"{self._prefix}:checkpoint:{{{key}}}:segments"
