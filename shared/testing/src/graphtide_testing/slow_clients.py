"""Clients that hold connections to HTTP services and say next to nothing: some are silent, some send a byte now and then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from graphtide_testing.serving import Raw

if TYPE_CHECKING:
    from random import Random

MOST: Final = 40
"""Connections at once."""

_BEGINNINGS: Final = (
    b"",
    b"G",
    b"GET /livez HTTP/1.1\r\nhost: localhost\r\nx-slow: ",
    b"POST /api/v1/streams/s/edges HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4194304\r\n\r\n",
)
_OF_CALLERS: Final = (
    "POST /api/v1/streams/s/edges HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
    'content-length: 4194304\r\nx-api-key: {key}\r\n\r\n{{"ts": ',
    "POST /api/v1/patterns:simulate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    'content-length: 4194304\r\nx-api-key: {key}\r\n\r\n{{"text": "',
    "GET /api/v1/patterns/n0/matches:stream HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\r\n",
)


@dataclass
class SlowClients:
    """Some connections to services; they hold what they can get.

    Attributes:
        urls: of the services.
        key: of a caller of theirs.
        rng: decides which service is called, and how badly.
    """

    urls: list[str]
    key: str
    rng: Random
    made: int = 0
    _open: list[Raw] = field(default_factory=list)

    def step(self) -> None:
        """Open some connections, let others say a byte, and close the oldest of too many."""
        for _ in range(self.rng.randint(1, 8)):
            beginning = self.rng.choice((*_BEGINNINGS, *(each.format(key=self.key).encode() for each in _OF_CALLERS)))
            try:
                connection = Raw(self.rng.choice(self.urls))
            except OSError:
                continue  # It was killed, or takes no more.
            connection.send(beginning)
            self._open.append(connection)
            self.made += 1
        for connection in self.rng.sample(self._open, len(self._open) // 2):
            connection.send(b"1")
        while len(self._open) > MOST:
            self._open.pop(0).close()

    def close(self) -> None:
        """End all connections."""
        while self._open:
            self._open.pop().close()
