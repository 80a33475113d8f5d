"""An event pattern: what the event-pattern family matches.

Reference: paper 002, section 2.1, with iteration, partitions and timeouts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from graphtide_core.annotations import NO_ANNOTATIONS
from graphtide_core.event_expression import (
    QueryEvent,
    absences,
    events,
    looks_before_its_span,
    looks_beyond_its_span,
    positive_events,
)
from graphtide_core.event_rules import refuse_unmatchable
from graphtide_core.pattern import Report
from graphtide_core.predicate import EVENT_FIELDS, RECORD_FIELDS, Attribute, attributes
from graphtide_core.returns import MatchLayout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.annotations import Annotations
    from graphtide_core.errors import Location
    from graphtide_core.event_expression import Group
    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.one_per import OnePer
    from graphtide_core.predicate import Expression
    from graphtide_core.returns import Field, Returns
    from graphtide_core.time import Duration, TimeUnit


class Selection(Enum):
    """The selection of the events of an iteration among its candidates."""

    ANY = "any"
    """Skip till any match: every subset of them of the right size."""

    NEXT = "next"
    """Skip till next match: from each start, those that follow, as many as may be when the match is complete."""


@dataclass(frozen=True, slots=True)
class EventPattern:
    """An event expression, predicates (all must be true), and the longest time from the first to the last event.

    Attributes:
        name: of the pattern.
        root: the event expression.
        within: longest time from the first to the last event of a match; closed.
        stream: whose events.
        predicates: all true. One that reads an event of a branch of `Any` holds where another branch was taken. One that reads
            an event of an `Absent` says which events must not be, and may read later events beside it. One that reads an
            iteration outside an aggregate is true if it is for each of its events.
        report: all matches, or for each event that completes some, their number and one of them.
        is_distinct: of the matches that are made of the same events, only the first is reported. Of several at once it is the
            one whose events, in the order of the text, are the earliest in the stream.
        one_per: of those, the first for each key in each interval of time.
        selection: what iterations take.
        partition: attributes that all events of a match share, those of an `Absent` too; who lacks one takes no part.
        emits_timeouts: whether a `Seq` that began and did not end is reported once no match can come of it.
        returns: fields of a match beside its ids.
        annotations: for people and alerts.
        version: of the pattern.
    """

    name: PatternName
    root: Group
    within: Duration
    stream: StreamName
    predicates: tuple[Expression, ...] = ()
    report: Report = Report.ALL
    selection: Selection = Selection.ANY
    partition: tuple[str, ...] = ()
    emits_timeouts: bool = False
    version: int = 1
    is_distinct: bool = False
    one_per: OnePer | None = None
    returns: Returns | None = None
    annotations: Annotations = NO_ANNOTATIONS
    family: ClassVar[str] = "events"
    match_layout: ClassVar[MatchLayout] = MatchLayout.OCCURRENCE
    is_view: ClassVar[bool] = False
    consumes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse what no engine could match.

        Raises:
            InvalidPatternError: no events, too many or nested too deeply; a name twice or unknown; no time. A NOT inside OR or
                without a wanted part beside it. A predicate over two NOTs or over two branches of an OR; an aggregate over what
                is not an iteration. Timeouts of what is not a plain sequence; what cannot be reported.
        """
        refuse_unmatchable(self)

    @property
    def reports_changes(self) -> bool:
        """Whether each record of a match says what changed."""
        return self.report is Report.CHANGES

    @property
    def streams(self) -> tuple[StreamName, ...]:
        """The one stream that it reads."""
        return (self.stream,)

    @property
    def events(self) -> tuple[QueryEvent, ...]:
        """All events that the pattern names, in the order of the text."""
        return tuple(events(self.root))

    @property
    def has_absences(self) -> bool:
        """Whether a match is emitted only after time has passed its bounds, because something must not come."""
        return next(absences(self.root), None) is not None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of events that it reads, sorted; what every record has, and the ends of an edge, are none."""
        return tuple(sorted(self._read - RECORD_FIELDS - {"type"}))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of a match beside ids; `RETURN *` is time, type and what the pattern reads, of each event to come."""
        if self.returns is None:
            return ()
        read = ("ts", "type", *sorted(self._read - EVENT_FIELDS))
        return self.returns.expanded(Attribute(event.name, name) for event in positive_events(self.root) for name in read)

    @property
    def _read(self) -> set[str]:
        """Attributes that it reads of events, by name."""
        keys = () if self.one_per is None else self.one_per.keys
        values = () if self.returns is None else (each.value for each in self.returns.fields)
        return {*self.partition, *(each.name for read in (*self.predicates, *keys, *values) for each in attributes(read))}

    @property
    def looks_back(self) -> Duration:
        """How far before the newest an event can be and still be of use.

        That is T, but 2 T where a SEQ inside another part begins or ends with a NOT. Such a NOT looks T beyond the events of
        its SEQ. They themselves lie as far as T from the last or the first of the match.
        """
        times = 2 if any(looks_beyond_its_span(part) for part in self.root.parts) else 1
        return replace(self.within, amount=times * self.within.amount)

    def durations(self) -> Iterator[tuple[str, Duration, Location | None]]:
        """Yield each duration with its keyword and, where it is known, its place."""
        yield "WITHIN", self.within, None
        if self.one_per is not None:
            yield "EVERY", self.one_per.every, None

    def extent(self, unit: TimeUnit) -> int:
        """Return how many ticks an event can be of use, as `lookback`."""
        return self.lookback(unit)

    def lookback(self, unit: TimeUnit) -> int:
        """Return how many ticks an event can be of use: with `now` the newest time, while ts > now - lookback."""
        return self.looks_back.ticks(unit) // 1 + 1

    def match_lookback(self, unit: TimeUnit) -> int:
        """Return how many ticks before a report an event can affect it: while ts > detected_at - match_lookback.

        Who reads a stream from there on reports from then on what it would if it had read all of it. A match, or one that is
        retracted, has its events within the lookback. Beyond them, by T each, lie those that a leading NOT asks for, and under
        `REPORT EXISTS` those of other matches that are counted with it.
        """
        ticks = self.within.ticks(unit) // 1
        return self.lookback(unit) + ticks * (looks_before_its_span(self.root) + (self.report is Report.EXISTS))
