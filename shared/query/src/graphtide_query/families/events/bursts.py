"""Estimate how many matches one event may complete, by interchangeable events and the rates of events in iterations.

An iteration under `SKIP TILL ANY` takes every set of the events that there are.
Cost: O(n^2) for n events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, factorial, prod
from typing import TYPE_CHECKING, Final

from graphtide_core.event_expression import Visitor, absences, choices, positive_events
from graphtide_core.event_pattern import Selection
from graphtide_core.pattern import Report
from graphtide_core.predicate import variables

from graphtide_query.estimates.bursts import (
    FEWEST,
    MOST_MATCHES,
    Burst,
    add_conditions,
    alike,
    round_count,
    sentence,
    write_number,
)
from graphtide_query.families.events.counting import reason_to_list
from graphtide_query.symmetry import ColouredGraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.event_expression import And, Group, Not, Or, Part, QueryEvent, Seq
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

_MOST_LISTED: Final = 64
"""Events up to which the lists of an iteration are counted."""


def burst_of_events(pattern: EventPattern, known: tuple[StatisticsSnapshot, TimeUnit] | None) -> Burst | None:
    """Return how many matches one event may complete; None where that is not more than `MOST_MATCHES`, or they are counted."""
    if pattern.report is not Report.EXISTS:
        return _of_listed(pattern, known)
    listed = reason_to_list(pattern)
    if listed is None:
        return None
    found = _of_listed(pattern, known) or _of_ten(pattern)
    reason, instead = listed
    text = f"REPORT EXISTS finds them one by one, because {reason}; to have them counted, {instead}"
    return None if found is None else replace(found, text=f"{found.text}; {text}")


def _of_listed(pattern: EventPattern, known: tuple[StatisticsSnapshot, TimeUnit] | None) -> Burst | None:
    if known is None:
        return _of_events(pattern)
    return _of_lists(pattern, *known) or _of_events(pattern) or _of_rates(pattern, *known)


def _of_ten(pattern: EventPattern) -> Burst | None:
    """Return how many lists an iteration without a bound makes of ten events; None where there is none."""
    if pattern.selection is Selection.NEXT:
        return None
    name = next((each.name for each in positive_events(pattern.root) if each.repeat and each.repeat.most is None), None)
    text = f"ten events of {name!r} alone complete 1,023 matches, since {name!r} is every set of them"
    return None if name is None else Burst(1_023, 1, text)


def _of_events(pattern: EventPattern) -> Burst | None:
    names = [event.name for event in positive_events(pattern.root)]
    if len(names) < FEWEST:
        return None
    graph = ColouredGraph()
    number: dict[str, int] = {}
    _Coloured(graph, number).visit(pattern.root)
    add_conditions(graph, number, pattern.predicates)
    exchanged = alike(graph, number, names)
    matches = _Ways(exchanged.ways).visit(pattern.root)
    if matches <= MOST_MATCHES:
        return None
    is_all = not pattern.is_distinct and pattern.one_per is None and pattern.report is Report.ALL
    is_plain = not any(event.repeat for event in pattern.events) and next(choices(pattern.root), None) is None
    is_certain = is_all and is_plain and next(absences(pattern.root), None) is None
    instead = "put them in a SEQ, or write one iteration with SKIP TILL NEXT instead"
    text = sentence(exchanged.names, matches, "events", instead, None if not is_all else "REPORT DISTINCT")
    return Burst(matches, matches if is_certain else 1, text)


def _of_lists(pattern: EventPattern, statistics: StatisticsSnapshot, unit: TimeUnit) -> Burst | None:
    """Return the same of the iteration with the most lists, by how often its events come; where conditions read it, None."""
    if pattern.selection is Selection.NEXT or pattern.partition or statistics.rate <= 0:
        return None
    from graphtide_query.families.events.rates import Rates  # noqa: PLC0415 - who knows no statistics does without

    rates, ticks = Rates(statistics), int(pattern.within.ticks(unit))
    read = {name for each in pattern.predicates for name in variables(each)}
    found: list[Burst] = []
    for event in positive_events(pattern.root):
        if event.repeat is None or event.name in read:
            continue
        events = rates.events(() if event.type is None else (event.type,), ticks)
        there = min(_MOST_LISTED, int(events))
        lists = sum(comb(there, size) for size in range(event.repeat.least, min(there, event.repeat.most or there) + 1))
        if lists > MOST_MATCHES:
            or_exists = "" if pattern.report is Report.EXISTS else " or REPORT EXISTS"
            text = (
                f"one record may complete {write_number(lists)} matches: {event.name!r} is every set of some {int(events):,} "
                f"events in its time; write SKIP TILL NEXT{or_exists}, a shorter WITHIN, or PARTITION BY an attribute"
            )
            found.append(Burst(lists, 1, text))
    return max(found, key=lambda each: each.matches, default=None)


def _of_rates(pattern: EventPattern, statistics: StatisticsSnapshot, unit: TimeUnit) -> Burst | None:
    """Return how many matches the last event of a pattern is expected to complete, by how often the others come in its time.

    Nothing where that is not known: of events that must be equal, of lists, and where one of several parts is enough.
    """
    from graphtide_query import fan_out  # noqa: PLC0415 - who knows no statistics does without
    from graphtide_query.estimates.cost_model import MOST  # noqa: PLC0415
    from graphtide_query.families.events.rates import Rates  # noqa: PLC0415

    events, joined = positive_events(pattern.root), fan_out.is_joined(pattern.predicates)
    is_plain = not any(event.repeat for event in events) and next(choices(pattern.root), None) is None
    if not is_plain or joined or pattern.partition or statistics.rate <= 0:
        return None
    rates, ticks = Rates(statistics), int(pattern.within.ticks(unit))
    each = {event.name: rates.events(() if event.type is None else (event.type,), ticks) for event in events}
    through = fan_out.through(pattern.predicates)
    found = 0.0
    for last in _Last().visit(pattern.root):
        share, _ = _InOrder(last).visit(pattern.root)
        found = max(found, min(MOST, through * share * prod(count for name, count in each.items() if name != last)))
    if found <= MOST_MATCHES:
        return None
    count = round_count(found)
    text = (
        f"one record may complete some {write_number(count)} matches, as the stream's statistics let expect: so many events "
        "come in the time of the pattern; a shorter WITHIN, PARTITION BY an attribute or more conditions makes them fewer"
    )
    return Burst(count, 1, text)


class _Last(Visitor[tuple[str, ...]]):
    """The events of a part that may be its last."""

    def event(self, event: QueryEvent, /) -> tuple[str, ...]:
        return (event.name,)

    def absent(self, _absent: Not, /) -> tuple[str, ...]:
        return ()

    def sequence(self, group: Seq, /) -> tuple[str, ...]:
        return next((found for each in reversed(group.parts) if (found := self.visit(each))), ())

    def conjunction(self, group: And, /) -> tuple[str, ...]:
        return self._any_of(group)

    def choice(self, group: Or, /) -> tuple[str, ...]:
        return self._any_of(group)

    def _any_of(self, group: And | Or) -> tuple[str, ...]:
        return tuple(name for each in group.parts for name in self.visit(each))


@dataclass(frozen=True, slots=True)
class _InOrder(Visitor[tuple[float, int]]):
    """The share of permutations of a part's events but `last` that agree with its order, and how many events they are."""

    last: str

    def event(self, event: QueryEvent, /) -> tuple[float, int]:
        return 1.0, int(event.name != self.last)

    def absent(self, _absent: Not, /) -> tuple[float, int]:
        return 1.0, 0

    def sequence(self, group: Seq, /) -> tuple[float, int]:
        share, counts = self._parts(group)
        return share * prod(map(factorial, counts)) / factorial(sum(counts)), sum(counts)

    def conjunction(self, group: And, /) -> tuple[float, int]:
        share, counts = self._parts(group)
        return share, sum(counts)

    def choice(self, group: Or, /) -> tuple[float, int]:
        share, counts = self._parts(group)
        return share, sum(counts)

    def _parts(self, group: Group) -> tuple[float, list[int]]:
        inner = [self.visit(each) for each in group.parts]
        return prod(share for share, _ in inner), [count for _, count in inner]


@dataclass(frozen=True, slots=True)
class _Ways(Visitor[int]):
    """In how many ways the events of a part can be exchanged; of an OR those of one branch. `ways` are those of each event."""

    ways: Mapping[str, int]

    def event(self, event: QueryEvent, /) -> int:
        return self.ways[event.name]

    def absent(self, _absent: Not, /) -> int:
        return 1

    def sequence(self, group: Seq, /) -> int:
        return prod(map(self.visit, group.parts))

    def conjunction(self, group: And, /) -> int:
        return prod(map(self.visit, group.parts))

    def choice(self, group: Or, /) -> int:
        return max(map(self.visit, group.parts))


@dataclass(frozen=True, slots=True)
class _Coloured(Visitor[int]):
    """Vertices of a graph for a part and all below it, distinguished by their places except in an AND and a NOT.

    An assignment of several branches of an OR is one match, so branches are not exchanged.
    """

    graph: ColouredGraph
    number: dict[str, int]

    def event(self, event: QueryEvent, /) -> int:
        self.number[event.name] = self.graph.add(f"event {event.type!r} {event.repeat!r}")
        return self.number[event.name]

    def absent(self, absent: Not, /) -> int:
        return self._above("NOT", absent.events, is_placed=False)

    def sequence(self, group: Seq, /) -> int:
        return self._above("SEQ", group.parts, is_placed=True)

    def conjunction(self, group: And, /) -> int:
        return self._above("AND", group.parts, is_placed=False)

    def choice(self, group: Or, /) -> int:
        return self._above("OR", group.parts, is_placed=True)

    def _above(self, colour: str, parts: Iterable[Part], *, is_placed: bool) -> int:
        above = self.graph.add(colour)
        for place, each in enumerate(parts):
            self.graph.link(f"part {place if is_placed else ''}", above, self.visit(each))
        return above
