"""Rows of the extension as matches: the pattern says which layout a row has, and a row of another one raises.

Complexity: O(edges + vertices) a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import FatalError
from graphtide_core.event_expression import positive_events
from graphtide_core.ids import EdgeId, MatchId, VertexId
from graphtide_core.match import (
    Completeness,
    ComponentMatch,
    DerivedEdge,
    IntervalMatch,
    MatchKind,
    OccurrenceMatch,
    SubgraphMatch,
)
from graphtide_core.returns import MatchLayout
from graphtide_core.time import EventTime

from graphtide_native.fields import named_values

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.match import Match, PathStep
    from graphtide_core.plans import AnyPlan, EventPlan, GraphPlan, NativePlan, Plan

    _Values = Sequence[Value | list[Value]]
    _Row = tuple[tuple[int, str, bool, int, int, int], Sequence[object], _Values]
    _Times = tuple[EventTime, EventTime, EventTime]


_KINDS: Final = {kind.value: kind for kind in MatchKind}


class _Reader(NamedTuple):
    """How rows of a layout are read: how many parts they have, and the function that makes a match of them."""

    parts: int
    read: Callable[..., Match]


def matches_of(plans: Sequence[AnyPlan], rows: Iterable[_Row]) -> Generator[Match, None, None]:
    """Yield the matches of rows; each row names its plan by its place.

    Raises:
        FatalError: a row does not have the layout of its pattern's matches.
    """
    readers: dict[int, tuple[_Reader, NativePlan]] = {}
    for (place, kind, shed, detected_at, first_ts, last_ts), parts, values in rows:
        found = readers.get(place)
        if found is None:
            # The extension writes what it was given: rows are of the native form of a plan.
            own = plans[place].native
            found = readers[place] = _READERS[own.pattern.match_layout], own
        (count, read), plan = found
        if len(parts) != count:
            raise _unknown_layout(plan.pattern.name, parts)
        times = (EventTime(detected_at), EventTime(first_ts), EventTime(last_ts))
        completeness = Completeness.SHED if shed else Completeness.EXACT
        yield read(plan, _KINDS[kind], times, completeness, (parts, values))


def _unknown_layout(name: str, parts: Sequence[object]) -> FatalError:
    found = f"a match of {name!r} has {len(parts)} parts, which no match of its kind has"
    message = f"{found}: the native extension is of another version than graphtide; install both anew"
    return FatalError(message)


def _assignment(
    plan: Plan,
    kind: MatchKind,
    times: _Times,
    completeness: Completeness,
    row: tuple[tuple[list[str], list[int], list[str]], _Values],
) -> SubgraphMatch:
    query = plan.pattern
    edges, made, vertices = row[0]
    return SubgraphMatch(
        query.name,
        query.version,
        kind,
        *times,
        edges={edge.name: EdgeId(found) for edge, found in zip(query.edges, edges, strict=True)},
        vertices={vertex.name: VertexId(found) for vertex, found in zip(query.vertices, vertices, strict=True)},
        completeness=completeness,
        made=frozenset(query.edges[place].name for place in made),
        fields=named_values(query.fields, row[1]) if row[1] else {},
    )


def _component(
    plan: Plan,
    kind: MatchKind,
    times: _Times,
    completeness: Completeness,
    row: tuple[
        tuple[list[list[tuple[str, bool]]], list[list[str]], str, list[int] | None, tuple[str, list[str]] | None], _Values
    ],
) -> ComponentMatch:
    query = plan.pattern
    edges, vertices, identity, totals, named = row[0]
    names = [*(edge.name for edge in query.edges), *(vertex.name for vertex in query.vertices)]
    oldest, former = named or (None, [])
    former_ids = tuple(map(EdgeId, former))
    return ComponentMatch(
        query.name,
        query.version,
        kind,
        *times,
        edges={edge.name: tuple(EdgeId(id) for id, _ in found) for edge, found in zip(query.edges, edges, strict=True)},
        vertices={vertex.name: tuple(map(VertexId, found)) for vertex, found in zip(query.vertices, vertices, strict=True)},
        match_id=MatchId(identity),
        completeness=completeness,
        counts=None if totals is None else dict(zip(names, totals, strict=True)),
        component=None if oldest is None else EdgeId(oldest),
        merged=former_ids if kind is MatchKind.EXTEND else (),
        split_from=former_ids[0] if former_ids and kind is not MatchKind.EXTEND else None,
        fields=named_values(query.fields, row[1]) if row[1] else {},
    )


def _occurrence(
    plan: EventPlan,
    kind: MatchKind,
    times: _Times,
    completeness: Completeness,
    row: tuple[tuple[str, list[int], list[tuple[str, bool]], int | None], _Values],
) -> OccurrenceMatch:
    query = plan.pattern
    identity, places, ids, count = row[0]
    named = positive_events(query.root)
    events: dict[str, EdgeId | tuple[EdgeId, ...]] = {}
    for place, (found, _) in zip(places, ids, strict=True):
        event = named[place]
        before = events.get(event.name, ())
        events[event.name] = EdgeId(found) if event.repeat is None else (*before, EdgeId(found))
    fields = named_values(query.fields, row[1]) if row[1] else {}
    return OccurrenceMatch(query.name, query.version, kind, *times, events, MatchId(identity), completeness, count, fields)


def _interval(
    plan: GraphPlan,
    kind: MatchKind,
    times: _Times,
    completeness: Completeness,
    row: tuple[
        tuple[str, int, list[str], int, int | None, int, list[tuple[str | None, tuple[int, str, str] | None]] | None], _Values
    ],
) -> IntervalMatch:
    identity, place, vertices, start, until, nth, steps = row[0]
    output, query = plan.query.outputs[place], plan.query
    return IntervalMatch(
        query.name,
        query.version,
        kind,
        *times,
        label=output.label,
        bindings={column: VertexId(vertex) for column, vertex in zip(output.columns, vertices, strict=True)},
        valid=(EventTime(start), None if until is None else EventTime(until)),
        match_id=MatchId(identity),
        completeness=completeness,
        path=None if steps is None else tuple(_step(plan, *step) for step in steps),
        nth=nth,
    )


def _step(plan: GraphPlan, id: str | None, derived: tuple[int, str, str] | None) -> PathStep:
    if derived is None:
        return EdgeId(id or "")
    operator, source, target = derived
    return DerivedEdge(plan.physical.operators[operator].label or "", VertexId(source), VertexId(target))


_READERS: Final = {
    MatchLayout.ASSIGNMENT: _Reader(3, _assignment),
    MatchLayout.COMPONENT: _Reader(5, _component),
    MatchLayout.OCCURRENCE: _Reader(4, _occurrence),
    MatchLayout.INTERVAL: _Reader(7, _interval),
}
"""Each layout, with the number of its parts, which shows an extension of another version."""
