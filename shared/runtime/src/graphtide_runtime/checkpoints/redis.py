"""Checkpoints in Redis: one key a manifest, one hash of segments beside it, replaced in one transaction.

Both keys carry the checkpoint's key as hash tag, so that a Redis Cluster keeps them in one slot. Redis is not asked to keep
anything for ever: whoever finds no checkpoint reads the log instead. A key of another type than ours is somebody else's: it
counts as none, and the next save takes its place.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import redis
from graphtide_core.errors import FatalError, TransientError
from redis.exceptions import NoPermissionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class RedisLogin:
    """What a client shows of itself, and whom it trusts, beside what the URL says; the URL has the last word.

    Attributes:
        username: of the ACL user; None is Redis' default user.
        password: of that user, which is never printed; None logs nobody in.
        authorities: file in PEM of the authorities to trust; None is the system's own. This and the next two are for `rediss://`.
        certificate: file in PEM of the client's certificate.
        key: file in PEM of its key.
    """

    username: str | None = None
    password: str | None = field(default=None, repr=False)
    authorities: str | None = None
    certificate: str | None = None
    key: str | None = None

    def options(self, url: str) -> dict[str, str]:
        """Return what redis-py calls them, those that are given and that a connection to this URL knows."""
        named = {"username": self.username, "password": self.password}
        if url.startswith("rediss://"):
            named |= {"ssl_ca_certs": self.authorities, "ssl_certfile": self.certificate, "ssl_keyfile": self.key}
        return {name: value for name, value in named.items() if value is not None}


class RedisCheckpoints:
    """A `CheckpointStore` in Redis; connects at the first call."""

    def __init__(self, url: str, *, prefix: str = "graphtide", timeout: float = 5.0, login: RedisLogin | None = None) -> None:
        """Keep keys under `prefix`; `url` is `redis://…`, `rediss://…` or `unix://…`; `timeout` in seconds a call."""
        self._prefix = prefix
        options: dict[str, Any] = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
        self._client = redis.Redis.from_url(url, **options, **(login or RedisLogin()).options(url))

    def manifest(self, key: str) -> bytes | None:
        """Return the newest manifest; None if there is none.

        Raises:
            TransientError: Redis does not answer.
        """
        with _translated(), _none_of_another_type():
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
        with _translated(), _none_of_another_type():
            found = cast("list[bytes | None]", self._client.hmget(self._segments_key(key), fields))
        whole = [segment for segment in found if segment is not None]
        return whole if len(whole) == len(fields) else None

    def save(self, key: str, manifest: bytes, added: Mapping[str, bytes], kept: Iterable[str]) -> None:
        """Add segments, drop those that are neither added nor kept, and replace the manifest, all or nothing.

        Raises:
            TransientError: Redis does not answer, or has no memory left.
        """
        segments = self._segments_key(key)
        with _translated(), self._client.pipeline(transaction=True) as together:
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
        with _translated(), self._client.pipeline(transaction=True) as together:
            together.expire(self._manifest_key(key), seconds)
            together.expire(self._segments_key(key), seconds)
            together.execute()

    def ping(self) -> None:
        """Return if Redis answers.

        Raises:
            TransientError: it does not.
        """
        with _translated():
            self._client.ping()

    def close(self) -> None:
        """Give back the connections."""
        self._client.close()

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
def _translated() -> Iterator[None]:
    """Raise what Redis raises as errors of the domain."""
    try:
        yield
    except redis.AuthenticationError as error:
        message = f"Redis refuses the credentials: {error}"
        raise FatalError(message) from error
    except NoPermissionError as error:
        message = f"Redis refuses what this user asks for: {error}"
        raise FatalError(message) from error
    except redis.RedisError as error:
        message = f"Redis: {error}"
        raise TransientError(message) from error
