"""The oracle of event patterns: brute force over the events seen, once for every record.

Whenever an event arrives, every assignment of live events to the places of every branch is tried that has it in some place. So
each is tried once, when its last event arrives. A match without NOT is emitted then. One with NOT waits until time is past the
end of all intervals that its NOTs cover. It is emitted if none of them was broken. Events are remembered for ever: a NOT may
look at one that was deleted, since that undoes a NOT only before its interval is over.
Cost: a record takes O(live ^ places), and O(2 ^ live) for an iteration. Reference: docs/reference/semantics.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation
from graphtide_core.event_expression import Seq, positive_events
from graphtide_core.pattern import Report
from graphtide_core.predicate import Attribute
from graphtide_core.time import TimeUnit

from graphtide_testing.oracles.event_conditions import Conditions, SeenEvent, branches, read
from graphtide_testing.oracles.one_per_key import OncePerKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.event import Event
    from graphtide_core.event_expression import Part, QueryEvent
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.returns import FieldValue

    from graphtide_testing.oracles.event_conditions import Assignment, Interval


@dataclass(frozen=True, slots=True)
class Emitted:
    """One report.

    Attributes:
        kind: `match`, `retract` or `timeout`.
        detected_at: when time brought it about.
        events: ids by name, in the order of the text, in lists that have one id where nothing is repeated. None under `REPORT
            EXISTS`, where the engine chooses the match that it shows.
        count: under `REPORT EXISTS` how many matches `completed_by` completed, else 1.
        completed_by: id of the event that completed it; of a timeout, of the event it began with.
        fields: what RETURN asks for, in its order; those of an iteration are tuples; none of what is counted.
    """

    kind: str
    detected_at: int
    events: tuple[tuple[str, tuple[str, ...]], ...]
    count: int
    completed_by: str
    fields: tuple[tuple[str, FieldValue], ...] = ()


@dataclass(slots=True, eq=False)
class _Candidate:
    """An assignment that is complete but for what must not come."""

    branch: int
    chosen: Assignment
    intervals: list[Interval]

    @property
    def taken(self) -> frozenset[SeenEvent]:
        """Its events."""
        return frozenset(chain.from_iterable(self.chosen.values()))

    @property
    def first(self) -> SeenEvent:
        """The first event of a sequence: the earliest in its first place."""
        return next(iter(self.chosen.values()))[0]

    @property
    def last(self) -> SeenEvent:
        """Its last event in the order of the stream: the one that completed it."""
        return max(self.taken, key=_number)

    @property
    def bound(self) -> int | None:
        """When the last of its intervals is over; None where there is none."""
        return max((interval.end for interval in self.intervals), default=None)

    @property
    def rank(self) -> tuple[tuple[tuple[int, ...], ...], int]:
        """Its place among those of one moment: by its events in the order of the text, the earliest first; then by branch."""
        return tuple(tuple(map(_number, taken)) for taken in self.chosen.values()), self.branch


@dataclass(slots=True, eq=False)
class _Group:
    """All that one event completed, for REPORT EXISTS: emitted once the greatest bound has passed, with those that are matches.

    `counted` is None until then, and 0 where nothing is emitted or the emitted count is void. A match that lost an event before
    is not counted, however long it was past its own bound. From then on `candidates` are those that are.
    """

    completed_by: SeenEvent
    candidates: list[_Candidate]
    bound: int | None
    counted: int | None = None
    is_unreported: bool = False


class EventOracle:
    """Reports the matches of one pattern while records are pushed in the order of (ts, arrival)."""

    def __init__(self, pattern: EventPattern, unit: TimeUnit = TimeUnit.MILLISECOND) -> None:
        """Start with nothing seen; `unit` is what one tick of the stream counts."""
        self._pattern = pattern
        self._conditions = Conditions(pattern, unit)
        self._lookback = pattern.lookback(unit)
        self._branches = list(branches(pattern.root))
        self._now: int | None = None
        self._seen: list[SeenEvent] = []
        self._waiting: list[_Candidate] = []
        self._matches: list[_Candidate] = []
        self._complete: list[_Candidate] = []
        self._groups: list[_Group] = []
        self._begun: list[SeenEvent] = []
        self._unit = unit
        self._suppressed: list[_Candidate] = []
        self.begin()

    def begin(self) -> None:
        """Count matches from the next record on: those completed before do not affect what ONE PER suppresses."""
        self._once_per_key = OncePerKey(self._pattern.one_per, self._unit)
        self._first = len(self._seen)

    def push(self, record: Event) -> tuple[Emitted, ...]:
        """Take one record and return all that it brings about: what the time before it settles, then what it does itself.

        Raises:
            ValueError: the record is older than the time at hand.
        """
        emitted = [*self.advance(record.ts)]
        if record.operation is Operation.DELETE:
            return (*emitted, *self._delete(record))
        if any(seen.event.shares_id(record) for seen in self._alive()):
            return tuple(emitted)
        return (*emitted, *self._insert(SeenEvent(record, len(self._seen))))

    def advance(self, now: int) -> tuple[Emitted, ...]:
        """Set the time to `now`: later records are not older. Return what that settles: matches with lesser bounds.

        Raises:
            ValueError: time went back.
        """
        if self._now is not None and now < self._now:
            message = f"time cannot go back: {now} after {self._now}"
            raise ValueError(message)
        self._now = now
        return self._settle(now)

    def finish(self) -> tuple[Emitted, ...]:
        """Let all bounds pass, as at the end of a file, and return what that settles."""
        return self._settle(None)

    def run(self, records: Iterable[Event]) -> tuple[Emitted, ...]:
        """Push every record, finish, and return all that was emitted.

        Raises:
            ValueError: the records are not in order.
        """
        emitted = [each for record in records for each in self.push(record)]
        return (*emitted, *self.finish())

    # ---- what a record does

    def _insert(self, arrived: SeenEvent) -> tuple[Emitted, ...]:
        self._seen.append(arrived)
        if self._pattern.emits_timeouts:
            self._begun.append(arrived)
        found = [
            _Candidate(number, chosen, self._conditions.intervals(branch, chosen))
            for number, branch in enumerate(self._branches)
            for chosen in self._assignments(branch, self._alive())
            if arrived in chain.from_iterable(chosen.values())
        ]
        self._waiting += found
        if found and self._pattern.report is Report.EXISTS:
            bounds = [each.bound for each in found if each.bound is not None]
            self._groups.append(_Group(arrived, found, max(bounds, default=None)))
        return self._settle(arrived.ts)

    def _delete(self, deletion: Event) -> tuple[Emitted, ...]:
        gone = [seen for seen in self._alive() if seen.event.shares_id(deletion)]
        for seen in gone:
            seen.gone = deletion.ts
        alive = set(self._alive())
        withdrawn = [each for each in self._matches if each.taken & set(gone) and each.taken - set(gone) <= alive]
        self._waiting = [each for each in self._waiting if not each.taken & set(gone)]
        self._matches = [each for each in self._matches if each not in withdrawn]
        if self._pattern.report is Report.EXISTS:
            return self._retract_groups(withdrawn, deletion.ts, set(gone))
        emitted = [each for each in withdrawn if each not in self._suppressed]
        return tuple(self._emitted(each, "retract", deletion.ts) for each in sorted(emitted, key=_rank))

    def _alive(self) -> list[SeenEvent]:
        """Return the events that were not deleted and are within reach."""
        now = self._now
        return [seen for seen in self._seen if seen.gone is None and now is not None and seen.ts > now - self._lookback]

    # ---- what is complete

    def _assignments(self, branch: Part, known: Sequence[SeenEvent]) -> Iterator[Assignment]:
        """Yield every assignment of events to all places of a branch that satisfies all but its NOTs."""
        for chosen in self._extensions(branch, positive_events(branch), known, {}):
            if self._conditions.is_taken_whole(branch, chosen, known):
                yield chosen

    def _extensions(
        self, branch: Part, places: Sequence[QueryEvent], known: Sequence[SeenEvent], chosen: Assignment
    ) -> Iterator[Assignment]:
        """Yield what `chosen` becomes with events in `places`, too."""
        if not places:
            yield chosen
            return
        place, *others = places
        for filled in _fillings(place, [seen for seen in known if self._conditions.fits_alone(place, seen.event)]):
            extended = {**chosen, place.name: filled}
            if self._conditions.fits_together(branch, extended):
                yield from self._extensions(branch, others, known, extended)

    # ---- what time settles

    def _settle(self, now: int | None) -> tuple[Emitted, ...]:
        """Decide on all whose bounds are less than `now`, or on all; None is the end of time."""
        decided = [each for each in self._waiting if each.bound is None or now is None or each.bound < now]
        self._waiting = [each for each in self._waiting if each not in decided]
        emitted: list[Emitted] = []
        # Bounds pass one after the other, however far time moves at once; what has none is decided with the record at hand.
        for bound in sorted({_moment(each) for each in decided}):
            complete = [each for each in decided if _moment(each) == bound and self._is_unbroken(each)]
            self._complete += complete
            found = self._new(complete)
            self._matches += found
            if self._pattern.report is Report.ALL:
                self._suppressed += [each for each in sorted(found, key=_last_and_rank) if not self._emits(each, bound)]
                emitted += [self._emitted(each, "match", bound) for each in found if each not in self._suppressed]
        return (*emitted, *self._settle_groups(now), *self._settle_begun(now))

    def _is_unbroken(self, candidate: _Candidate) -> bool:
        return not any(
            self._conditions.blocks(interval, candidate.chosen, other)
            for interval in candidate.intervals
            for other in self._seen
        )

    def _new(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """Return those of one moment that are matches of their own.

        The same events through two branches are one match: the one emitted before; of two at once, that of the first
        branch. Under DISTINCT the same events are one match through one branch, too.
        """
        new: list[_Candidate] = []
        for candidate in sorted(candidates, key=_branch_and_rank):
            alike = [each for each in (*self._matches, *new) if each.taken == candidate.taken]
            if not any(self._pattern.is_distinct or each.branch != candidate.branch for each in alike):
                new.append(candidate)
        return sorted(new, key=_rank)

    def _settle_groups(self, now: int | None) -> list[Emitted]:
        """Emit, for each event whose greatest bound has passed, how many matches it completed."""
        emitted: list[Emitted] = []
        waiting = [each for each in self._groups if each.counted is None]
        over = [each for each in waiting if each.bound is None or now is None or each.bound < now]
        for group in sorted(over, key=_settle):
            matches = [each for each in group.candidates if each in self._matches and not any(map(_is_gone, each.taken))]
            group.candidates, group.counted = matches, len(matches)
            if matches:
                # They have one key: it is of what all matches share.
                group.is_unreported = not self._emits(matches[0], _settle(group)[0])
                emitted += [] if group.is_unreported else [_count(group, "match", _settle(group)[0])]
        return emitted

    def _emits(self, candidate: _Candidate, at: int) -> bool:
        """Take a match that was found; say whether it is emitted, if it counts."""
        if _number(candidate.last) < self._first:
            return True
        keys = () if self._pattern.one_per is None else self._pattern.one_per.keys
        return self._once_per_key.emits(at, [self._conditions.value(key, candidate.chosen) for key in keys])

    def _retract_groups(self, withdrawn: list[_Candidate], at: int, gone: set[SeenEvent]) -> tuple[Emitted, ...]:
        """Emit which counts are void: those of deleted events, and those without a match left."""
        emitted: list[Emitted] = []
        for group in self._groups:
            lost = [each for each in group.candidates if each in withdrawn]
            is_left = any(each in self._matches for each in group.candidates)
            if group.counted and lost and (group.completed_by in gone or not is_left):
                emitted += [] if group.is_unreported else [_count(group, "retract", at)]
                group.counted = 0
        return tuple(emitted)

    def _settle_begun(self, now: int | None) -> list[Emitted]:
        """Emit a timeout for each event that could have begun a match and did not, once T has passed since."""
        over = [each for each in self._begun if now is None or each.ts + self._conditions.within < now]
        self._begun = [each for each in self._begun if each not in over]
        emitted: list[Emitted] = []
        for first in over:
            # Whether or not it was emitted that way, if others have the same events; one that was retracted since counts, too.
            began = any(each.first is first for each in self._complete)
            longest = None if began or first.gone is not None else self._longest_prefix(first)
            if longest is not None:
                bound = first.ts + self._conditions.within
                emitted.append(
                    Emitted("timeout", bound, _sort_names(longest), 1, str(first.event.id), tuple(self._fields(longest)))
                )
        return emitted

    def _longest_prefix(self, first: SeenEvent) -> _Candidate | None:
        """Return the parts of the sequence, as many as may be, that events from `first` on fill; the earliest of these."""
        assert isinstance(self._pattern.root, Seq)
        parts = self._pattern.root.parts
        later = [each for each in self._seen if each.gone is None and each.ts >= first.ts]
        for end in range(len(parts), 0, -1):
            if not positive_events(parts[end - 1]):
                continue
            found = [
                candidate
                for number, branch in enumerate(branches(Seq(parts[:end])))
                for chosen in self._assignments(branch, later)
                if (candidate := _Candidate(number, chosen, self._conditions.intervals(branch, chosen))).first is first
                and self._is_unbroken(candidate)
            ]
            if found:
                return min(found, key=_rank)
        return None

    # ---- how it is emitted

    def _emitted(self, candidate: _Candidate, kind: str, at: int) -> Emitted:
        return Emitted(kind, at, _sort_names(candidate), 1, str(candidate.last.event.id), tuple(self._fields(candidate)))

    def _fields(self, candidate: _Candidate) -> Iterator[tuple[str, FieldValue]]:
        repeated = {place.name for place in positive_events(self._pattern.root) if place.repeat is not None}
        for each in self._pattern.fields:
            if isinstance(each.value, Attribute) and each.value.variable in repeated & candidate.chosen.keys():
                taken = candidate.chosen[each.value.variable]
                yield each.name, tuple(read(seen.event, each.value.name) for seen in taken)
            else:
                yield each.name, self._conditions.value(each.value, candidate.chosen)


def _fillings(place: QueryEvent, free: Sequence[SeenEvent]) -> Iterator[tuple[SeenEvent, ...]]:
    """Yield what can stand in a place: each event, or each set of them of a size that the iteration may have."""
    if place.repeat is None:
        yield from ((seen,) for seen in free)
        return
    most = len(free) if place.repeat.most is None else min(place.repeat.most, len(free))
    for size in range(place.repeat.least, most + 1):
        yield from combinations(free, size)


def _moment(candidate: _Candidate) -> int:
    """Return when a candidate is decided: with its last event, or when its intervals are over."""
    return _later(candidate.last.ts, candidate.bound)


def _last_and_rank(candidate: _Candidate) -> tuple[int, object]:
    return _number(candidate.last), candidate.rank


def _settle(group: _Group) -> tuple[int, int]:
    return _later(group.completed_by.ts, group.bound), _number(group.completed_by)


def _later(ts: int, bound: int | None) -> int:
    return ts if bound is None else max(ts, bound)


def _sort_names(candidate: _Candidate) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, tuple(str(seen.event.id) for seen in taken)) for name, taken in candidate.chosen.items())


def _count(group: _Group, kind: str, at: int) -> Emitted:
    return Emitted(kind, at, (), group.counted or 0, str(group.completed_by.event.id))


def _number(seen: SeenEvent) -> int:
    return seen.number


def _is_gone(seen: SeenEvent) -> bool:
    return seen.gone is not None


def _rank(candidate: _Candidate) -> tuple[tuple[tuple[int, ...], ...], int]:
    return candidate.rank


def _branch_and_rank(candidate: _Candidate) -> tuple[int, tuple[tuple[int, ...], ...]]:
    rank, branch = candidate.rank
    return branch, rank
