"""What of streaming graph queries is valid at an instant: the state of knowledge once all records up to it were taken.

A result is what was told last of it: until when it is valid, as far as edges up to the instant say. Cost: a look-up a result
that is told; memory: the results that are valid at one instant, twice at most.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graphtide_core.match import Completeness, DerivedEdge, IntervalMatch, MatchKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ids import MatchId
    from graphtide_core.match import PathStep
    from graphtide_core.ports.match_sink import MatchSink
    from graphtide_core.time import EventTime
    from graphtide_native.matcher import MatchBatch

_FEW: Final = 4096
"""Results that are kept without a look whether they have ended."""


class ValidResults:
    """Takes what is told of results, and writes those that are valid at an instant once all was taken."""

    def __init__(self, at: EventTime, sink: MatchSink) -> None:
        """Prepare for an instant; `sink` is where the records of its results go."""
        self.at = at
        self._sink = sink
        self._known: dict[MatchId, IntervalMatch] = {}
        self._most = _FEW

    def take(self, matches: MatchBatch) -> None:
        """Take what is told; what is told after the instant counts for nothing."""
        for found in matches:
            if isinstance(found, IntervalMatch) and found.detected_at <= self.at:
                self._take(found)

    def _take(self, found: IntervalMatch) -> None:
        if found.kind is MatchKind.RETRACT:
            before = self._known.pop(found.match_id, None)
            until = found.valid[0]
            # What was told before may have ended, and is not known any more.
            if before is None or until <= found.detected_at:
                return
            found = replace(found, kind=MatchKind.EXTEND, valid=(before.valid[0], until), first_ts=before.first_ts, path=None)
        elif found.kind is MatchKind.EXTEND and (before := self._known.get(found.match_id)) is not None:
            found = replace(found, valid=(before.valid[0], found.valid[1]), first_ts=before.first_ts)
        self._known[found.match_id] = found
        if len(self._known) > self._most:
            self._known = {id: each for id, each in self._known.items() if _is_valid(each, found.detected_at)}
            self._most = max(_FEW, 2 * len(self._known))

    def results(self) -> Iterator[IntervalMatch]:
        """Yield the results that are valid at the instant, as matches, in the order in which they became valid."""
        valid = [each for each in self._known.values() if _is_valid(each, self.at)]
        for each in sorted(valid, key=lambda each: (each.first_ts, each.query, each.label, tuple(each.bindings.values()))):
            yield replace(each, kind=MatchKind.MATCH, detected_at=each.first_ts)

    def write(self) -> int:
        """Write the results, one record a line; return how many they are."""
        lines = [record_of(each) for each in self.results()]
        self._sink.write(b"".join(lines))
        return len(lines)

    def flush(self) -> None:
        """Hand on what was written."""
        self._sink.flush()


def _is_valid(result: IntervalMatch, at: EventTime) -> bool:
    until = result.valid[1]
    return until is None or until > at


def record_of(result: IntervalMatch) -> bytes:
    """Return the match record of a result, one JSON object with a line feed."""
    record: dict[str, object] = {
        "match_id": result.match_id,
        "query": result.query,
        "kind": result.kind.value,
        "detected_at": result.detected_at,
        "first_ts": result.first_ts,
        "last_ts": result.last_ts,
    }
    ends = tuple(result.bindings.values())
    is_edge = len(ends) == _EDGE
    record |= {"src": ends[0], "dst": ends[1]} if is_edge else {"bindings": dict(result.bindings)}
    record |= {"label": result.label, "valid": result.valid}
    if result.path is not None:
        record["path"] = [_step(step) for step in result.path]
    if result.completeness is not Completeness.EXACT:
        record["completeness"] = result.completeness.value
    return (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


_EDGE: Final = 2
"""Vertices of a result that is an edge."""


def _step(step: PathStep) -> object:
    return {"label": step.label, "src": step.source, "dst": step.target} if isinstance(step, DerivedEdge) else step
