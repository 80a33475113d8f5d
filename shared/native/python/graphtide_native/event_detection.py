"""Detection of event patterns by an aggregation plan, over batches of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.time import TimeUnit

from graphtide_native import _native
from graphtide_native.event_spec import encode
from graphtide_native.fields import named_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.ids import PatternName
    from graphtide_core.plans.events import AggregationPlan, Branch
    from graphtide_core.returns import Field, FieldValue

    from graphtide_native.records import EdgeBatch, Symbols


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence of a pattern.

    Attributes:
        pattern: its name.
        kind: `match`, `retract` or `timeout`.
        detected_at: the time of the event that completed it, of the bound that was passed, or of the deletion.
        count: how many matches one event completes; these are the events of one. 1 if all are emitted.
        events: ids by name, in a list of one where nothing is repeated; of a timeout those that came.
        fields: what the pattern returns, by name; of an attribute of an iteration a list.
    """

    pattern: PatternName
    kind: str
    detected_at: int
    count: int
    events: dict[str, tuple[str, ...]]
    fields: dict[str, FieldValue]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds on the state of detection, and on the steps of work for one record; None is no bound."""

    partial_matches: int | None = None
    state_bytes: int | None = None
    work: int | None = None


class EventDetector:
    """Detects the patterns of a plan in events that come in the order of (ts, arrival).

    Attributes:
        is_limited: whether instances were given up at a bound, or the work of a record was cut: then matches may lack.
    """

    def __init__(
        self,
        plan: AggregationPlan,
        patterns: Sequence[EventPattern],
        symbols: Symbols,
        attributes: Sequence[str],
        *,
        unit: TimeUnit = TimeUnit.MILLISECOND,
        deletions: bool = True,
        may_change: bool = False,
        bounds: Bounds | None = None,
    ) -> None:
        """Make the plan ready.

        Args:
            plan: of the patterns.
            patterns: in the order of the plan's branches.
            symbols: the table of types that batches are made with.
            attributes: those of the batches, in order; they include `columns` of the patterns.
            unit: what a tick of the stream's time is.
            deletions: whether events may be deleted.
            may_change: whether the plan may be replaced: then all events of the lookback are kept, not only those it needs.
            bounds: what may be stored and spent.

        Raises:
            ValueError: the plan cannot be run.
        """
        own = bounds or Bounds()
        self._attributes, self._unit = tuple(attributes), unit
        self._names = _names(plan, patterns)
        self.is_limited = False
        self._native = _native.EventDetector(
            encode(plan, patterns, unit, attributes),
            symbols,
            len(attributes),
            deletions,
            may_change,
            (own.work, own.partial_matches, own.state_bytes),
        )

    def push(self, batch: EdgeBatch) -> list[Occurrence]:
        """Take a batch and return what it brings about, in that order."""
        return self._emitted(self.push_raw(batch))

    def push_raw(self, batch: EdgeBatch) -> _native.Occurrences:
        """As `push`, without an object for each occurrence."""
        found, is_limited, cut = self._native.push(batch)
        self.is_limited |= is_limited or cut > 0
        return found

    def advance(self, now: int) -> list[Occurrence]:
        """Let time be `now`, and return what that settles; a time that has passed changes nothing."""
        return self._emitted(self._native.advance(now))

    def finish(self) -> list[Occurrence]:
        """Let all bounds pass, as at the end of a file, and return what that settles."""
        return self._emitted(self._native.finish())

    def replan(self, plan: AggregationPlan, patterns: Sequence[EventPattern]) -> bool:
        """Go over to another plan; a pattern whose name was there before continues, of the others matches count from now on.

        Returns:
            False if the plan reached a bound while it took the past again: then the one before continues.

        Raises:
            ValueError: the plan cannot be run; then the one before continues.
        """
        before = {name: number for number, (name, *_) in enumerate(self._names)}
        carried = [before.get(pattern.name) for pattern in patterns]
        has_plan = self._native.replan(encode(plan, patterns, self._unit, self._attributes), carried)
        if has_plan:
            self._names = _names(plan, patterns)
        return has_plan

    def usage(self) -> tuple[int, int, int]:
        """Return how many instances live, lived at most, and the bytes of state."""
        return self._native.usage()

    def instances(self) -> list[tuple[int, int]]:
        """Return for each vertex of the plan how many instances are stored, and were at most."""
        return self._native.instances()

    def _emitted(self, found: _native.Occurrences) -> list[Occurrence]:
        emitted = []
        for number, place, kind, detected_at, count, slots, values in found.rows():
            name, branches, fields = self._names[number]
            events = {
                _name(branches[place], slot, own[0][0]): tuple(id_ for _, id_ in own) for slot, own in enumerate(slots) if own
            }
            emitted.append(Occurrence(name, kind, detected_at, count, events, named_values(fields, values)))
        return emitted


def _name(branch: Branch, slot: int, kind: str) -> str:
    """Return what an event of a type is called in a slot."""
    return next((own.name for own in branch.by_type if (own.slot, own.type) == (slot, kind)), branch.events[slot])


def _names(
    plan: AggregationPlan, patterns: Sequence[EventPattern]
) -> list[tuple[PatternName, tuple[Branch, ...], tuple[Field, ...]]]:
    both = zip(patterns, plan.branches, strict=True)
    return [(pattern.name, branches, pattern.fields) for pattern, branches in both]
