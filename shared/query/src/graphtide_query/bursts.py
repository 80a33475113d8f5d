"""How many matches one record may complete, and what to write where that is too many.

Parts of a pattern that can be exchanged for each other, such as the leaves of a star, make as many matches of the same records
as there are ways to permute them, and the last record completes all of them at once. An iteration under `SKIP TILL ANY` takes
every set of the events that there are. Under dual simulation an edge completes one component, so there is nothing to count.
So much the form of a pattern says. Where statistics of the stream are known, edges and joins fan out by the degrees that were
counted (`fan_out`), and events by their rates: that is an estimate, and certain of nothing.

Cost: by form none for patterns of fewer than `_FEWEST` parts, else that of `symmetry.orbits`, which is bounded; by statistics
O(n^2) for n parts. Nothing is enumerated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial, prod
from typing import TYPE_CHECKING, Final

from graphtide_core.arrangement import Absent, Any, QueryEvent, Seq, absences, choices, positive_events
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.graph_query import GraphQuery
from graphtide_core.pattern import Report
from graphtide_core.predicate import Attribute, Compare, Comparison, attributes, conjuncts, renamed, variables
from graphtide_core.regular_rule import Variable

from graphtide_query.symmetry import ColouredGraph, against, orbits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.arrangement import Part
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.predicate import Expression
    from graphtide_core.regular_rule import Rule, Term
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

    from graphtide_query.fan_out import Expected

MOST_MATCHES: Final = 1_000
"""Matches by one record of which nothing is said."""

STEPS_A_MATCH: Final = 32
"""Steps of work that a match counts as."""

SAVED_RECORDS: Final = 4_096
"""Records whose work a pattern can have saved, and no more, when a record comes."""

_FEWEST: Final = 7
"""Parts that make more than `MOST_MATCHES` by being exchanged: 6! are 720."""

_MOST_LISTED: Final = 64
"""Events up to which the lists of an iteration are counted."""

_MOST_NAMED: Final = 4

_FEWER_EDGES: Final = "a shorter window, an order (ORDER) or more conditions"


@dataclass(frozen=True, slots=True)
class Burst:
    """Matches that one record may complete.

    Attributes:
        matches: how many, at least where the parts of the pattern are filled by different records; or how many are expected.
        certain: how many the first match brings, whatever the stream: it is one of them.
        text: how many, why, and what to write instead.
    """

    matches: int
    certain: int
    text: str

    def exceeds(self, work: int) -> bool:
        """Whether the first match takes more than what a pattern with so many steps of work a record can have saved."""
        return self.certain * STEPS_A_MATCH > work * (SAVED_RECORDS + 1)


def burst_of(pattern: AnyPattern, statistics: StatisticsSnapshot | None = None, unit: TimeUnit | None = None) -> Burst | None:
    """Return how many matches one record of a pattern may complete; None where that is not more than `MOST_MATCHES`.

    Args:
        pattern: of any family.
        statistics: of its stream; without them, or without a unit, the form alone counts.
        unit: what times of the stream count.
    """
    known = None if statistics is None or unit is None or not statistics.edges else (statistics, unit)
    return _by_form(pattern, known) or (None if known is None else _by_degrees(pattern, *known))


def _by_form(pattern: AnyPattern, known: tuple[StatisticsSnapshot, TimeUnit] | None) -> Burst | None:
    if isinstance(pattern, GraphQuery):
        heads = {output.head: output.path for output in pattern.outputs}
        return _greatest(_of_rule(rule, heads[rule.head]) for rule in pattern.rules if rule.head in heads)
    if isinstance(pattern, EventPattern):
        listed = None if known is None else _of_lists(pattern, *known)
        return listed or _of_events(pattern)
    return _of_edges(pattern) if pattern.morphism.is_mapping else None


def _by_degrees(pattern: AnyPattern, statistics: StatisticsSnapshot, unit: TimeUnit) -> Burst | None:
    """Return what is expected where parts cannot be exchanged: by the degrees of the stream, of events by their rates."""
    from graphtide_query import fan_out  # noqa: PLC0415 - who knows no statistics does without

    if isinstance(pattern, GraphQuery):
        heads = {output.head for output in pattern.outputs}
        rules = (fan_out.of_rule(pattern, rule, statistics, unit) for rule in pattern.rules if rule.head in heads)
        return _greatest(_expected(found, pattern) for found in rules)
    if isinstance(pattern, EventPattern):
        return _of_rates(pattern, statistics, unit)
    return _expected(fan_out.of_pattern(pattern, statistics, unit), pattern) if pattern.morphism.is_mapping else None


def _greatest(found: Iterable[Burst | None]) -> Burst | None:
    return max((each for each in found if each is not None), key=lambda each: each.matches, default=None)


def _expected(expected: Expected | None, pattern: AnyPattern) -> Burst | None:
    """Return what is expected at the busiest vertex of a stream as a burst, if it is one."""
    if expected is None or expected.matches <= MOST_MATCHES:
        return None
    count = _rounded(expected.matches)
    instead = "a shorter window or more conditions" if isinstance(pattern, GraphQuery) else _FEWER_EDGES
    text = (
        f"one record may complete some {_number(count)} matches, as the stream's statistics let expect: its busiest vertex, as "
        f"{expected.vertex!r}, has {expected.degree:,} edges within the window; {instead} makes them fewer"
    )
    return Burst(count, 1, text)


def _of_edges(pattern: SubgraphPattern) -> Burst | None:
    if len(pattern.edges) < _FEWEST:
        return None
    names = [edge.name for edge in pattern.edges]
    graph, number = _graph(pattern)
    alike = _alike(graph, number, names)
    if alike.matches <= MOST_MATCHES:
        return None
    certain = alike.matches
    if pattern.order.before:
        for before, after in pattern.order.before:
            graph.link("before", number[before], number[after])
        certain = _alike(graph, number, names).matches
    # Edges that are ordered can be exchanged as far as the order allows for those of one set.
    matches = max(certain, alike.matches // against(pattern.order.before))
    if matches <= MOST_MATCHES:
        return None
    is_all = not pattern.is_distinct and pattern.one_per is None
    first, second = alike.names[:2]
    instead = "order them all" if pattern.order.before else f"order them (ORDER {first} < {second} < …)"
    instead += ", so that each set is found once"
    text = _sentence(alike.names, matches, "edges", instead, None if not is_all else "REPORT DISTINCT")
    return Burst(matches, certain if is_all else 1, text)


def _graph(pattern: SubgraphPattern) -> tuple[ColouredGraph, dict[str, int]]:
    """Return a pattern as a graph, its order aside, and the numbers of its vertices and edges."""
    graph = ColouredGraph()
    number = {each.name: graph.add(f"vertex {each.label!r} {each.key!r}") for each in pattern.vertices}
    for edge in pattern.edges:
        number[edge.name] = graph.add(f"edge {edge.label!r}")
        graph.link("from", number[edge.name], number[edge.source])
        graph.link("to", number[edge.name], number[edge.target])
    _add_conditions(graph, number, pattern.predicates)
    return graph, number


def _of_events(pattern: EventPattern) -> Burst | None:
    names = [event.name for event in positive_events(pattern.root)]
    if len(names) < _FEWEST:
        return None
    graph = ColouredGraph()
    number: dict[str, int] = {}
    _add_part(graph, number, pattern.root)
    _add_conditions(graph, number, pattern.predicates)
    alike = _alike(graph, number, names)
    matches = _ways(pattern.root, alike.ways)
    if matches <= MOST_MATCHES:
        return None
    is_all = not pattern.is_distinct and pattern.one_per is None and pattern.report is Report.ALL
    is_plain = not any(event.repeat for event in pattern.events) and next(choices(pattern.root), None) is None
    is_certain = is_all and is_plain and next(absences(pattern.root), None) is None
    instead = "put them in a SEQ, or write one iteration with SKIP TILL NEXT instead"
    text = _sentence(alike.names, matches, "events", instead, None if not is_all else "REPORT DISTINCT")
    return Burst(matches, matches if is_certain else 1, text)


def _of_rule(rule: Rule, path: str | None) -> Burst | None:
    """Return the same of a rule: vertices may coincide, so it takes as many different ones as there are columns alike."""
    if len(set(rule.columns)) < _FEWEST:
        return None
    graph = ColouredGraph()
    number: dict[str, int] = {}

    def end(term: Term) -> int:
        if not isinstance(term, Variable):
            return graph.add(f"vertex {term.key!r}")
        if term.name not in number:
            number[term.name] = graph.add("variable")
        return number[term.name]

    for atom in dict.fromkeys(rule.body):
        part = graph.add(f"path {atom.expression!r} {atom.name is not None and atom.name == path}")
        graph.link("from", part, end(atom.source))
        graph.link("to", part, end(atom.target))
    _add_conditions(graph, number, rule.conditions)
    alike = _alike(graph, number, list(dict.fromkeys(rule.columns)))
    if alike.matches <= MOST_MATCHES:
        return None
    first, second = alike.names[:2]
    instead = f"return fewer of them, or tell them apart by a condition ({first}.id < {second}.id)"
    return Burst(alike.matches, 1, _sentence(alike.names, alike.matches, "columns", instead, None))


def _of_lists(pattern: EventPattern, statistics: StatisticsSnapshot, unit: TimeUnit) -> Burst | None:
    """Return the same of the iteration with the most lists, by how often its events come; where conditions read it, None."""
    if pattern.selection is Selection.NEXT or pattern.partition or pattern.report is Report.EXISTS or statistics.rate <= 0:
        return None
    from graphtide_query.families.events.rates import Rates  # noqa: PLC0415 - who has no event patterns does without

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
                f"one record may complete {_number(lists)} matches: {event.name!r} is every set of some {int(events):,} events "
                "in its time; write SKIP TILL NEXT or REPORT EXISTS, a shorter WITHIN, or PARTITION BY an attribute"
            )
            found.append(Burst(lists, 1, text))
    return max(found, key=lambda each: each.matches, default=None)


def _of_rates(pattern: EventPattern, statistics: StatisticsSnapshot, unit: TimeUnit) -> Burst | None:
    """Return how many matches the last event of a pattern is expected to complete, by how often the others come in its time.

    Nothing where that is not known: of events that must be equal, of lists, and where one of several parts is enough.
    """
    from graphtide_query import fan_out  # noqa: PLC0415 - as above
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
    count = _rounded(found)
    text = (
        f"one record may complete some {_number(count)} matches, as the stream's statistics let expect: so many events come in "
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


@dataclass(frozen=True, slots=True)
class _Alike:
    """Parts that can be exchanged: those of the largest group, the ways of each part, and of all together."""

    names: tuple[str, ...]
    ways: Mapping[str, int]
    matches: int


def _alike(graph: ColouredGraph, number: Mapping[str, int], names: Sequence[str]) -> _Alike:
    found = dict(zip(names, orbits(graph, [number[name] for name in names]), strict=True))
    some = tuple(name for name, ways in found.items() if ways > 1)
    # The last of a group has nothing left to be exchanged with.
    last = () if not some or some[-1] == names[-1] else (names[names.index(some[-1]) + 1],)
    return _Alike((*some, *last), found, prod(found.values()))


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


def _add_conditions(graph: ColouredGraph, number: Mapping[str, int], predicates: Iterable[Expression]) -> None:
    """Add each condition once, linked to what it reads; attributes that are all equal are one part."""
    equal: list[set[tuple[str, str]]] = []
    others: dict[tuple[str, tuple[str, ...]], None] = {}
    for each in (part for predicate in predicates for part in conjuncts(predicate)):
        match each:
            case Compare(Comparison.EQUAL, Attribute(one, name), Attribute(other, second)):
                pair = {(one, name), (other, second)}
                equal = [
                    *(group for group in equal if not group & pair),
                    pair.union(*(group for group in equal if group & pair)),
                ]
            case _:
                read = tuple(dict.fromkeys(read.variable for read in attributes(each)))
                places = {name: str(place) for place, name in enumerate(read)}
                others[repr(renamed(each, places)), read] = None
    for group in equal:
        part = graph.add("equal")
        for variable, name in group:
            graph.link(f"attribute {name}", part, number[variable])
    for text, read in others:
        part = graph.add(f"condition {text}")
        for place, name in enumerate(read):
            graph.link(f"reads {place}", part, number[name])


def _sentence(names: Sequence[str], matches: int, what: str, instead: str, once: str | None) -> str:
    named = ", ".join(names[:_MOST_NAMED])
    more = ", …" if len(names) > _MOST_NAMED else ""
    text = (
        f"one record may complete {_number(matches)} matches: the {what} {named}{more} can be exchanged, and each way to do so "
        f"is a match; {instead}"
    )
    return text if once is None else f"{text}; {once} reports one of them, but finds all"


def _rounded(count: float) -> int:
    """Return a number with two digits, as an estimate has no more."""
    return int(float(f"{count:.1e}"))


def _number(count: int) -> str:
    return f"{count:,}" if count < 10**15 else f"{count:.0e}".replace("e+", " x 10^")
