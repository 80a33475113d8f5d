"""The partial matches of patterns, as hosts share them, and those that come close as events.

Nothing else depends on them: where the store is lost or slow, these views are missing and all other answers are not.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import structlog
from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_telemetry import events
from graphtide_wire.bodies.partial_matches import DataEdge, PartialMatchesPage, PartialMatchView, PartView, StepCount
from graphtide_wire.partial_matches import decode_partial_matches

from graphtide_admin_api.domain.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.partial_matches import PartialMatch
    from graphtide_core.ports.partial_matches import PartialMatchStore
    from graphtide_wire.partial_matches import PartialMatchesRecord

_LOG = structlog.get_logger()

_LOOK_SECONDS: Final = 1.0
"""Between two looks of a stream of events."""


@dataclass(frozen=True, slots=True)
class PartialMatchFilter:
    """Selects partial matches.

    Attributes:
        vertex: a data vertex that they bind; None wants any.
        min_edges: query edges that they bind at least.
        most: of them, nearest first.
    """

    vertex: str | None = None
    min_edges: int = 1
    most: int = 100

    def admits(self, partial: PartialMatch) -> bool:
        """Return whether it selects a partial match."""
        return len(partial.edges) >= self.min_edges and (self.vertex is None or partial.has_vertex(self.vertex))


class PartialMatches:
    """Reads the views that hosts share; safe for threads."""

    def __init__(self, store: PartialMatchStore | None) -> None:
        """Read from a store; None knows no views."""
        self._store = store

    def of(self, name: str, wanted: PartialMatchFilter) -> PartialMatchesPage:
        """Return the wanted partial matches of a pattern, and what each part counted.

        Raises:
            ProblemError: no store is set up.
            TransientError: the store does not answer.
        """
        records = self._records(name)
        found = [(record.part, partial) for record in records for partial in record.view.nearest if wanted.admits(partial)]
        found.sort(key=lambda each: _rank(each[1]), reverse=True)
        return PartialMatchesPage(
            parts=tuple(_part(record) for record in records),
            partial_matches=tuple(_show(part, partial) for part, partial in found[: wanted.most]),
        )

    def close(self) -> None:
        """Give back the connection."""
        if self._store is not None:
            self._store.close()

    def _records(self, name: str) -> list[PartialMatchesRecord]:
        """Return the views of a pattern by part; those of its newest version, as a moved pattern has an old one for a while."""
        if self._store is None:
            detail = "the admin API knows no partial matches: set GRAPHTIDE_ADMIN_API_REDIS to the Redis of the matchers"
            raise ProblemError(404, "no-partial-matches", detail)
        views = self._store.views(name)
        records = [record for part, view in sorted(views.items()) for record in _read(name, part, view)]
        newest = max((record.version for record in records), default=0)
        return [record for record in records if record.version == newest]


def _read(name: str, part: str, view: bytes) -> Iterator[PartialMatchesRecord]:
    """Yield the record, unless it is damaged, or of another form or pattern."""
    try:
        record = decode_partial_matches(view)
    except PoisonRecordError as error:
        _LOG.warning(events.PARTIAL_MATCHES_UNREADABLE, pattern=name, error=error.reason)
        return
    if record is not None and (record.pattern, record.part) == (name, part):
        yield record


def _rank(partial: PartialMatch) -> tuple[int, int, int]:
    times = [edge.ts for edge in partial.edges.values()]
    return len(times), min(times, default=0), max(times, default=0)


def _part(record: PartialMatchesRecord) -> PartView:
    view = record.view
    return PartView(
        part=record.part,
        version=record.version,
        at=record.at,
        time=view.time,
        position=record.position,
        stored=view.stored,
        truncated=view.truncated,
        steps=tuple(StepCount(name=step.name, edges=step.edges, alive=step.alive) for step in view.steps),
    )


def _show(part: str, partial: PartialMatch) -> PartialMatchView:
    return PartialMatchView(
        part=part,
        edges={name: DataEdge(id=edge.id, ts=edge.ts) for name, edge in partial.edges.items()},
        vertices=partial.vertices,
        awaited=partial.awaited,
        until=partial.until,
    )


@dataclass(frozen=True, slots=True)
class Close:
    """A partial match that has come close; its place counts the events of the stream."""

    place: int
    body: bytes


class Approaching:
    """Gives the partial matches that come close, each once while it stays; for one thread at once.

    What is there at the beginning comes first. A partial match that grows is another one.
    """

    def __init__(self, partial_matches: PartialMatches, name: str, wanted: PartialMatchFilter) -> None:
        """Look at a pattern."""
        self._partial_matches = partial_matches
        self._name = name
        self._wanted = wanted
        self._seen: set[bytes] = set()
        self._count = 0
        self._next = float("-inf")

    def take(self) -> list[Close]:
        """Return those that are new; looks once a second. While the store does not answer there are none."""
        now = time.monotonic()
        if now < self._next:
            return []
        self._next = now + _LOOK_SECONDS
        try:
            page = self._partial_matches.of(self._name, self._wanted)
        except TransientError:
            return []
        bodies = {_identity(partial): msgspec.json.encode(partial) for partial in page.partial_matches}
        new = [body for identity, body in bodies.items() if identity not in self._seen]
        self._seen = set(bodies)
        found = []
        for body in new:
            self._count += 1
            found.append(Close(self._count, body))
        return found


def _identity(partial: PartialMatchView) -> bytes:
    return msgspec.json.encode([partial.part, partial.edges])
