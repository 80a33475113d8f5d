"""The streams of `graphtide dev up --demo`: yesterday's network flows and log-ins with planted attacks, faster than they were.

A day is generated and played from 24 hours ago on, so that its times reach the clock after a while. From then on the next days
are played as they come, at the speed of the clock. A thread sends what is due twice a second and waits for the answer, so a
deployment that cannot keep up slows it down. Memory: one day of each stream.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

import httpx2
import msgspec
import structlog
from graphtide_core.event import Event as DataEvent
from graphtide_core.formats import JSON_LINES
from graphtide_generate import EVENTS, GENERATORS
from graphtide_generate.schedule import DAY, MIDNIGHT
from graphtide_generate.stream import Recipe
from graphtide_telemetry import events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.edge import Edge

_LOG = structlog.get_logger()
_RECORDS: Final = 100_000
_PLANTED: Final = 144
"""Attacks of a day: one each ten minutes, so that one comes within half a minute at 60 times its speed."""

_ROUND_SECONDS: Final = 0.5
_MOST_AT_ONCE: Final = 5_000
_PATIENCE_SECONDS: Final = 30.0

PATTERNS: Final = (
    """PATTERN exfiltration
MATCH (v:ip)-[a:http]->(w:ip), (w)-[b:http]->(v), (v)-[c:tcp]->(s:ip), (s)-[d:tcp]->(v), (v)-[e:tcp]->(s)
WHERE e.bytes > 1000000
ORDER a < b < c < d < e
RETURN e.bytes
ON flows WINDOW 10m
DESCRIPTION 'A host visits a page, gets a command, and sends more than a megabyte to another host.'
SEVERITY critical
TAGS 'exfiltration', 'network'
MESSAGE '{v.id} sent {e.bytes} bytes to {s.id} after it visited {w.id}'
""",
    """PATTERN brute_force
SEQ(NOT before:failed, f:failed{3,}, s:success)
PARTITION BY user
SKIP TILL NEXT
RETURN s.user
ON logins WITHIN 10m
DESCRIPTION 'Log-ins of one user fail, then one succeeds.'
SEVERITY high
TAGS 'log-in'
MESSAGE 'somebody guessed the password of {s.user}'
""",
    """QUERY resolved
resolved(x, z) <- dns(x, y), tcp(y, z).
ON flows WINDOW(5m)
SEVERITY info
MESSAGE '{src.id} may know {dst.id} by name'
""",
)
"""What the demo looks for: a pattern of edges, a pattern of events, a graph query."""


@dataclass(frozen=True, slots=True)
class Played:
    """A stream of the demo."""

    stream: str
    kind: str
    records: Sequence[Edge] | Sequence[DataEvent]


def day(number: int) -> tuple[Played, Played]:
    """Return the flows and log-ins of a day; the number is their seed."""
    recipe = Recipe(seed=number + 1, records=_RECORDS, planted=_PLANTED, decoys=_PLANTED)
    flows = GENERATORS["network"](recipe)
    logins = EVENTS["logins"](Recipe(seed=number + 1, records=_RECORDS // 10, planted=_PLANTED, decoys=_PLANTED))
    return Played("flows", "edges", flows.edges), Played("logins", "events", logins.events)


class DemoStreams:
    """Registers the patterns of the demo and plays its streams, in a thread of its own until `end`."""

    def __init__(self, url: str, speed: float) -> None:
        """Send to a deployment; a second of the clock is `speed` seconds of the streams as long as they are behind it."""
        self._http = httpx2.Client(base_url=url, timeout=_PATIENCE_SECONDS)
        self._speed = speed
        self._ended = Event()
        self._thread = Thread(target=self._run, name="demo", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self, timeout: float = 2.0) -> None:
        """Send nothing more."""
        self._ended.set()
        self._thread.join(timeout)
        self._http.close()

    def _run(self) -> None:
        try:
            self._register()
            self._play()
        except Exception as error:
            if not self._ended.is_set():
                _LOG.error(events.DEMO_ENDED, error=str(error))

    def _register(self) -> None:
        for text in PATTERNS:
            answer = self._until_answered("POST", "/api/v1/patterns", json={"text": text})
            if answer is not None and answer.status_code != httpx2.codes.CONFLICT:
                answer.raise_for_status()

    def _play(self) -> None:
        begun, begin = time.time(), time.time() * 1000 - DAY
        for number in count():
            start = begin + number * DAY
            for stream in self._due(day(number), start, begun, begin):
                self._send(*stream, number)
            if self._ended.is_set():
                return

    def _due(
        self, streams: Sequence[Played], start: float, begun: float, begin: float
    ) -> Iterator[tuple[Played, list[Edge | DataEvent], int]]:
        """Yield what is due of a day's streams, with the ticks that its times move by, until all of it was."""
        moved, at = round(start) - MIDNIGHT, dict.fromkeys((each.stream for each in streams), 0)
        while not self._ended.is_set():
            now = time.time()
            reached = min(begin + (now - begun) * 1000 * self._speed, now * 1000)
            for each in streams:
                first = last = at[each.stream]
                limit = min(len(each.records), first + _MOST_AT_ONCE)
                while last < limit and each.records[last].ts + moved <= reached:
                    last += 1
                at[each.stream] = last
                if last > first:
                    yield each, list(each.records[first:last]), moved
            if all(at[each.stream] == len(each.records) for each in streams):
                return
            self._ended.wait(_ROUND_SECONDS)

    def _send(self, played: Played, records: Sequence[Edge | DataEvent], moved: int, number: int) -> None:
        lines = b"\n".join(msgspec.json.encode(_record(each, moved, number)) for each in records)
        headers = {"content-type": JSON_LINES.media_type}
        answer = self._until_answered("POST", f"/api/v1/streams/{played.stream}/{played.kind}", content=lines, headers=headers)
        if answer is not None and answer.is_error:
            _LOG.warning(events.DEMO_REFUSED, stream=played.stream, error=answer.text[:200])

    def _until_answered(self, method: str, path: str, **options: Any) -> httpx2.Response | None:
        """Return the answer to a request, asked again while the service is busy; None if the demo ends meanwhile."""
        while not self._ended.is_set():
            answer = self._http.request(method, path, **options)
            if answer.status_code not in {httpx2.codes.TOO_MANY_REQUESTS, httpx2.codes.SERVICE_UNAVAILABLE}:
                return answer
            self._ended.wait(_ROUND_SECONDS)
        return None


def _record(record: Edge | DataEvent, moved: int, number: int) -> dict[str, object]:
    """Return a record as it is sent; ids of different days differ."""
    common = {**record.attributes, "ts": record.ts + moved, "id": f"{number}-{record.id}"}
    if isinstance(record, DataEvent):
        return {**common, "type": record.type}
    ends = {"src_label": record.source_label, "dst_label": record.target_label}
    return {
        **common,
        "src": record.source,
        "dst": record.target,
        "label": record.label,
        **{name: label for name, label in ends.items() if label is not None},
    }
