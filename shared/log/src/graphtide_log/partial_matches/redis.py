"""Views of partial matches in Redis: one hash for a pattern, with a field for each part.

One call uses one key, so a Redis Cluster needs no hash tag for it. The key has one all the same, so that later keys of the
pattern can lie in its slot. The hash expires with the view that lasts longest. Each view begins with the instant of its own
expiry, in milliseconds of the clock of the host that wrote it. Readers pass over those that are over. A key of another type
than ours belongs to another user of Redis: it counts as none, and the next view replaces it.
"""

from __future__ import annotations

import math
import struct
import time
from typing import TYPE_CHECKING, Final, cast

from graphtide_log.redis_connection import RedisConnection, none_of_another_type, translate_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_log.redis_clients import RedisLogin

TIMEOUT_SECONDS: Final = 1.0
"""How long a call waits for Redis: nobody needs a view so much."""

_EXPIRY: Final = struct.Struct(">q")


class RedisPartialMatches:
    """A `PartialMatchStore` in Redis; connects at the first call."""

    def __init__(
        self, url: str, *, prefix: str = "graphtide", timeout: float = TIMEOUT_SECONDS, login: RedisLogin | None = None
    ) -> None:
        """Keep keys under `prefix`; `url` is one of `redis_clients`; `timeout` in seconds a call.

        Raises:
            FatalError: it is not a URL of Redis.
        """
        self._prefix = prefix
        self._connection = RedisConnection(url, timeout=timeout, login=login)

    def put(self, pattern: str, part: str, view: bytes, seconds: float) -> None:
        """Replace the view of a part; it expires after so many seconds.

        Raises:
            TransientError: Redis does not answer, or has no memory left.
        """
        key, whole_seconds = self._key(pattern), max(1, math.ceil(seconds))
        expiry = _EXPIRY.pack(_now() + round(seconds * 1000))
        client = self._connection.client
        with translate_errors(), client.pipeline(transaction=True) as together:
            if client.type(key) not in {b"hash", b"none"}:
                together.delete(key)
            together.hset(key, part, expiry + view)
            # The key lasts as long as its longest view: NX sets an expiry where there is none, GT a later one.
            together.expire(key, whole_seconds, nx=True)
            together.expire(key, whole_seconds, gt=True)
            together.execute()

    def remove(self, pattern: str, part: str) -> None:
        """Drop the view of a part, if there is one.

        Raises:
            TransientError: Redis does not answer.
        """
        with translate_errors(), none_of_another_type():
            self._connection.client.hdel(self._key(pattern), part)

    def views(self, pattern: str) -> dict[str, bytes]:
        """Return the views that have not expired, by part.

        Raises:
            TransientError: Redis does not answer.
        """
        found: Mapping[bytes, bytes] = {}
        with translate_errors(), none_of_another_type():
            found = cast("Mapping[bytes, bytes]", self._connection.client.hgetall(self._key(pattern)))
        now = _now()
        return {
            part.decode(errors="replace"): each[_EXPIRY.size :]
            for part, each in found.items()
            if len(each) >= _EXPIRY.size and _EXPIRY.unpack_from(each)[0] > now
        }

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def _key(self, pattern: str) -> str:
        return f"{self._prefix}:partial-matches:{{{pattern}}}"


def _now() -> int:
    """Return the milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
