"""How many matches one event may complete: by events that can be exchanged, and by the rates of those of iterations.

An iteration under `SKIP TILL ANY` takes every set of the events that there are.
Cost: O(n^2) for n events.
"""

from __future__ import annotations

from math import comb, factorial, prod
from typing import TYPE_CHECKING, Final

from graphtide_core.arrangement import Absent, Any, QueryEvent, Seq, absences, choices, positive_events
from graphtide_core.event_pattern import Selection
from graphtide_core.pattern import Report
from graphtide_core.predicate import variables

from graphtide_query.estimates.bursts import FEWEST, MOST_MATCHES, Burst, add_conditions, alike, rounded, sentence, spelled
from graphtide_query.symmetry import ColouredGraph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.arrangement import Part
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

_MOST_LISTED: Final = 64
"""Events up to which the lists of an iteration are counted."""


def burst_of_events(pattern: EventPattern, known: tuple[StatisticsSnapshot, TimeUnit] | None) -> Burst | None:
    """Return how many matches one event may complete; None where that is not more than `MOST_MATCHES`."""
    if known is None:
        return _of_events(pattern)
    return _of_lists(pattern, *known) or _of_events(pattern) or _of_rates(pattern, *known)


def _of_events(pattern: EventPattern) -> Burst | None:
    names = [event.name for event in positive_events(pattern.root)]
    if len(names) < FEWEST:
        return None
    graph = ColouredGraph()
    number: dict[str, int] = {}
    _add_part(graph, number, pattern.root)
    add_conditions(graph, number, pattern.predicates)
    exchanged = alike(graph, number, names)
    matches = _ways(pattern.root, exchanged.ways)
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
    if pattern.selection is Selection.NEXT or pattern.partition or pattern.report is Report.EXISTS or statistics.rate <= 0:
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
            text = (
                f"one record may complete {spelled(lists)} matches: {event.name!r} is every set of some {int(events):,} events "
                "in its time; write SKIP TILL NEXT or REPORT EXISTS, a shorter WITHIN, or PARTITION BY an attribute"
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
    if not is_plain or joined or pattern.partition or pattern.report is Report.EXISTS or statistics.rate <= 0:
        return None
    rates, ticks = Rates(statistics), int(pattern.within.ticks(unit))
    each = {event.name: rates.events(() if event.type is None else (event.type,), ticks) for event in events}
    through = fan_out.through(pattern.predicates)
    found = 0.0
    for last in _last(pattern.root):
        share, _ = _in_order(pattern.root, last)
        found = max(found, min(MOST, through * share * prod(count for name, count in each.items() if name != last)))
    if found <= MOST_MATCHES:
        return None
    count = rounded(found)
    text = (
        f"one record may complete some {spelled(count)} matches, as the stream's statistics let expect: so many events come in "
        "the time of the pattern; a shorter WITHIN, PARTITION BY an attribute or more conditions makes them fewer"
    )
    return Burst(count, 1, text)


def _last(part: Part) -> tuple[str, ...]:
    """Return the events of a part that may be its last."""
    match part:
        case QueryEvent(name):
            return (name,)
        case Absent():
            return ()
        case Seq(parts):
            return next((found for each in reversed(parts) if (found := _last(each))), ())
        case _:
            return tuple(name for each in part.parts for name in _last(each))


def _in_order(part: Part, last: str) -> tuple[float, int]:
    """Return the share of permutations of a part's events but `last` that agree with its arrangement, and how many they are."""
    if isinstance(part, QueryEvent):
        return 1.0, int(part.name != last)
    if isinstance(part, Absent):
        return 1.0, 0
    inner = [_in_order(each, last) for each in part.parts]
    size, share = sum(count for _, count in inner), prod(share for share, _ in inner)
    if isinstance(part, Seq):
        share *= prod(factorial(count) for _, count in inner) / factorial(size)
    return share, size


def _ways(part: Part, ways: Mapping[str, int]) -> int:
    """Return in how many ways the events of a part can be exchanged; of an OR those of one branch."""
    match part:
        case QueryEvent(name):
            return ways[name]
        case Absent():
            return 1
        case Any(parts):
            return max(_ways(each, ways) for each in parts)
        case _:
            return prod(_ways(each, ways) for each in part.parts)


def _add_part(graph: ColouredGraph, number: dict[str, int], part: Part) -> int:
    """Add a part of an arrangement, whose own parts are told apart by their places but in an AND and a NOT."""
    if isinstance(part, QueryEvent):
        number[part.name] = graph.add(f"event {part.type!r} {part.repeat!r}")
        return number[part.name]
    above = graph.add(type(part).__name__)
    inner = part.events if isinstance(part, Absent) else part.parts
    # An assignment of several branches of an OR is one match, so they are not exchanged.
    is_placed = type(part).__name__ in {"Seq", "Any"}
    for place, each in enumerate(inner):
        graph.link(f"part {place if is_placed else ''}", above, _add_part(graph, number, each))
    return above
