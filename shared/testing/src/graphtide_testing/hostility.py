"""What an enemy of a deployment does beside the traffic of others: odd headers in every topic, patterns that cost without end.

Nobody else may lose or repeat a match by it, or wait for one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.ids import StreamName

from graphtide_testing.raw_producer import send_raw

if TYPE_CHECKING:
    from random import Random

    from graphtide_wire.topics import Topics

STREAM: Final = StreamName("hub")
"""A stream of the enemy's own: all of its edges end in one vertex."""

_ODD: Final = b"\xff\xfe"
_LEAVES: Final = 10
_BURST: Final = 14


@dataclass
class Hostility:
    """An enemy.

    Attributes:
        rng: decides what comes next.
        bootstrap: of the brokers.
        topics: of the deployment.
        streams: of others, ordered or merged.
        odd: how many records with odd headers were sent.
    """

    rng: Random
    bootstrap: str
    topics: Topics
    streams: tuple[StreamName, ...]
    odd: int = 0
    _burst: int = 0

    def send_odd_record(self) -> None:
        """Send a record with header names that are not UTF-8 to some topic of the deployment."""
        topics = [
            self.topics.patterns,
            self.topics.plans,
            self.topics.status,
            self.topics.statistics,
            self.topics.hosts,
            self.topics.matches,
            self.topics.raw(self.streams[0]),
            *(self.topics.ordered(stream) for stream in self.streams),
            *(self.topics.dead_letters(stream) for stream in self.streams),
        ]
        value = self.rng.choice((b"", b"\0", b"{}", self.rng.randbytes(100)))
        headers = [(b"good", b"v"), (_ODD, self.rng.randbytes(8)), (b"", b"")]
        send_raw(self.bootstrap, self.rng.choice(topics), headers, value, key=self.rng.choice((b"", _ODD, b"nobody")))
        self.odd += 1

    def pattern(self) -> str:
        """Return a text whose planning or matching explodes, or an absurd one."""
        name = f"hostile{self.rng.randrange(4)}"
        match self.rng.randrange(5):
            case 0:
                optional = " ".join([":a?"] * 24)
                return f"QUERY {name} far(x, y) <- /{optional} :b/(x, y). ON {STREAM} WINDOW(1000)"
            case 1:
                either = " ".join(["(:a|:b)*"] * 20)
                return f"QUERY {name} far(x, y) <- /{either} :c/(x, y). ON {STREAM} WINDOW(1000)"
            case 2:
                star = ", ".join(f"(v{leaf})-[:k]->(hub)" for leaf in range(_LEAVES))
                return f"PATTERN {name} MATCH {star} ON {STREAM} WINDOW 1000000"
            case 3:
                types = ", ".join(f"e{place}:k" for place in range(12))
                return f"PATTERN {name} AND({types}) ON {STREAM} WITHIN 1000000"
            case _:
                star = ", ".join(f"(v{leaf})-[:k]->(hub)" for leaf in range(_LEAVES))
                return f"PATTERN {name} MATCH {star} UNDER DUAL SIMULATION REPORT CHANGES ON {STREAM} WINDOW 1000000"

    def edges(self) -> bytes:
        """Return edges into one vertex, as JSON Lines: a burst for the patterns above."""
        self._burst += 1
        times = range(self._burst * _BURST, (self._burst + 1) * _BURST)
        lines = [{"id": f"h{ts}", "ts": ts, "src": f"leaf{ts}", "dst": "hub", "label": "k"} for ts in times]
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
