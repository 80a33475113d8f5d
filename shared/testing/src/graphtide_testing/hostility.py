"""What an enemy of a deployment does beside the traffic of others: odd headers in every topic, patterns that cost without end.

No other pattern may lose or repeat a match by it, or wait for one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import PoisonRecordError
from graphtide_core.ids import StreamName
from graphtide_wire import control

from graphtide_testing.raw_producer import send_raw

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from graphtide_core.ports.log import Record
    from graphtide_wire.topics import Topics

NAMES: Final = "hostile"
"""Begins the names of the enemy's patterns."""

STREAM: Final = StreamName("hub")
"""A stream of the enemy's own: all of its edges end in one vertex."""

_ODD: Final = b"\xff\xfe"
_LEAVES: Final = 10
"""A star of so many is refused: its first match alone is 10! of them."""

_FEWER_LEAVES: Final = 8
"""A star of so many is registered, and ends at its limit when a burst comes."""

_BURST: Final = 14


class Fates(NamedTuple):
    """What became of the enemy's patterns: how many versions ran, ended at a limit, failed otherwise; requests refused."""

    ran: int
    limited: int
    failed: int
    refused: int

    def __str__(self) -> str:
        """Return them as a part of a sentence."""
        return f"{self.ran} ran, {self.limited} were limited, {self.failed} failed otherwise, {self.refused} were refused"


def fates(statuses: Iterable[Record], refused: int) -> Fates:
    """Count what became of the enemy's patterns, each version once for each fate.

    Args:
        statuses: records of the topic of statuses, and of others.
        refused: requests to register one that were answered with 422.
    """
    ran: set[tuple[str, int]] = set()
    limited: set[tuple[str, int]] = set()
    failed: set[tuple[str, int]] = set()
    for record in statuses:
        try:
            status = control.decode_status(record.value or b"")
        except PoisonRecordError:
            continue
        if not status.name.startswith(NAMES):
            continue
        which = (status.name, status.version)
        if status.state == "running":
            ran.add(which)
        elif status.state in {"failed", "paused"}:
            (limited if "limit" in (status.reason or "") else failed).add(which)
    return Fates(len(ran), len(limited), len(failed), refused)


@dataclass
class Hostility:
    """An enemy.

    Attributes:
        rng: decides what comes next.
        bootstrap: of the brokers.
        topics: of the deployment.
        streams: of others, ordered or merged.
        odd: how many records with odd headers were sent.
        refused: how many of its patterns were refused.
    """

    rng: Random
    bootstrap: str
    topics: Topics
    streams: tuple[StreamName, ...]
    odd: int = 0
    refused: int = 0
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
        send_raw(self.bootstrap, self.rng.choice(topics), headers, value, key=self.rng.choice((b"", _ODD, b"unknown")))
        self.odd += 1

    def first_pattern(self) -> str:
        """Return a text that runs, and ends at its limit when a burst comes: every run tries it, at any seed."""
        star = ", ".join(f"(v{leaf})-[:k]->(hub)" for leaf in range(_FEWER_LEAVES))
        return f"PATTERN {NAMES}0 MATCH {star} ON {STREAM} WINDOW 1000000"

    def pattern(self) -> str:
        """Return a text whose planning or matching explodes, or an absurd one."""
        name = f"{NAMES}{self.rng.randrange(4)}"
        match self.rng.randrange(5):
            case 0:
                optional = " ".join([":a?"] * 24)
                return f"QUERY {name} far(x, y) <- /{optional} :b/(x, y). ON {STREAM} WINDOW(1000)"
            case 1:
                either = " ".join(["(:a|:b)*"] * 20)
                return f"QUERY {name} far(x, y) <- /{either} :c/(x, y). ON {STREAM} WINDOW(1000)"
            case 2:
                star = ", ".join(f"(v{leaf})-[:k]->(hub)" for leaf in range(self.rng.choice((_LEAVES, _FEWER_LEAVES))))
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
