"""The results of streaming graph queries that are valid at an instant, from all reports up to it.

A result is its last report: until when it is valid, by the edges up to the instant. Invariant: a reader may take only the
reports from some time on, at least a longest window before the instant. It has the same results, except since when they are
valid (ADR 28). Cost: a look-up for each record; memory: the results that are valid at one instant, twice at most.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graphtide_core.match import MatchKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ids import MatchId
    from graphtide_core.match import IntervalMatch
    from graphtide_core.time import EventTime

_FEW: Final = 4096
"""Results that are kept without a look whether they have ended."""


class ValidResults:
    """Takes reports on results, in order, and gives those that are valid at an instant."""

    def __init__(self, at: EventTime) -> None:
        """Prepare for an instant."""
        self.at = at
        self._known: dict[MatchId, IntervalMatch] = {}
        self._most = _FEW

    def take(self, found: IntervalMatch) -> None:
        """Take the next report; reports after the instant are ignored."""
        if found.detected_at > self.at:
            return
        before = self._known.pop(found.match_id, None)
        since = found if before is None or found.kind is MatchKind.MATCH else before
        if found.kind is MatchKind.RETRACT:
            # It is valid up to where what is withdrawn begins, by derivations without a known path.
            until = found.valid[0]
            if until <= found.detected_at:
                return
            kind = MatchKind.EXTEND if before is None else before.kind
            found = replace(found, kind=kind, valid=(_begin(since), until), first_ts=since.first_ts, path=None)
        elif before is not None:
            found = replace(found, kind=since.kind, valid=(_begin(since), found.valid[1]), first_ts=since.first_ts)
        self._known[found.match_id] = found
        if len(self._known) > self._most:
            self._known = {id: each for id, each in self._known.items() if _is_valid(each, found.detected_at)}
            self._most = max(_FEW, 2 * len(self._known))

    def results(self) -> Iterator[IntervalMatch]:
        """Yield the results that are valid at the instant, in the order in which they became valid, as far as that is known.

        Each is of kind `match`; of kind `extend` where it became valid before anything that was taken: `valid` then begins
        when it was first reported.
        """
        valid = [each for each in self._known.values() if _is_valid(each, self.at)]
        for each in sorted(valid, key=lambda each: (each.first_ts, each.query, each.label, tuple(each.bindings.values()))):
            yield replace(each, detected_at=each.first_ts, nth=0)


def _begin(emitted: IntervalMatch) -> EventTime:
    """Return since when a result is valid by its report; what a retraction withdraws begins later."""
    return emitted.detected_at if emitted.kind is MatchKind.RETRACT else emitted.valid[0]


def _is_valid(result: IntervalMatch, at: EventTime) -> bool:
    until = result.valid[1]
    return until is None or until > at
