"""A duration that is shorter than a tick of its stream is refused, in any clause and family, before anything divides by it."""

from __future__ import annotations

import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.statistics import EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import EventTime, TimeUnit
from graphtide_query import parse
from graphtide_query.families import PlannerOptions
from graphtide_query.families.algebra.planning import choose_plan
from graphtide_query.families.events.grouping import group_pattern
from graphtide_query.planner import plan_all

COUNTED = StatisticsSnapshot(
    window=TimeRange(EventTime(0), EventTime(1_000)),
    first_ts=EventTime(0),
    last_ts=EventTime(1_000),
    edges=4_000,
    vertices=300,
    types={EdgeType(None, label, None): 2_000 for label in ("A", "B")},
)

CLAUSES = {
    "WINDOW of edges": "PATTERN p MATCH (a)-[x:A]->(b)-[y:B]->(c) ON s WINDOW {}",
    "WINDOW of components": "PATTERN p MATCH (a)-[x:A]->(b)-[y:B]->(c) ORDER x < y UNDER DUAL SIMULATION ON s WINDOW {}",
    "EVERY of edges": "PATTERN p MATCH (a)-[x:A]->(b) REPORT ONE PER a.id EVERY {} ON s WINDOW 10s",
    "WITHIN": "PATTERN p SEQ(x: A, y: B+) WHERE x.n = y.n REPORT EXISTS ON s WITHIN {}",
    "EVERY of events": "PATTERN p SEQ(x: A, y: B) REPORT ONE PER x.n EVERY {} ON s WITHIN 10s",
    "WINDOW of a query": "QUERY p SELECT u, v MATCH (u)-/:A+/->(v) ON s WINDOW({})",
    "WINDOW of rules": "QUERY p r(x, y) <- A+(x, y), B(y, x). ON s WINDOW({})",
    "SLIDE": "QUERY p r(x, y) <- A+(x, y). ON s WINDOW(10s) SLIDE({})",
    "WINDOW of an input": "QUERY p INPUT i = ()-[:A]->() ON s WINDOW({}) r(x, y) <- i(x, y), B(x, y). ON s WINDOW(10s)",
}


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize(("short", "unit"), [("500ms", TimeUnit.SECOND), ("999us", TimeUnit.MILLISECOND)])
@pytest.mark.parametrize("known", [None, COUNTED], ids=["nothing known", "counted"])
def test_what_is_shorter_than_a_tick_is_refused(
    clause: str, short: str, unit: TimeUnit, known: StatisticsSnapshot | None
) -> None:
    (pattern,) = parse(CLAUSES[clause].format(short))
    with pytest.raises(InvalidPatternError) as caught:
        plan_all([pattern], PlannerOptions(), unit=unit, statistics=known)
    word = clause.split(maxsplit=1)[0]
    assert caught.value.reason == f"{word} {short} of 'p' is shorter than a tick of the stream, 1{unit.value}"
    assert f"write {word} 1{unit.value} or longer" in caught.value.hint
    if isinstance(pattern, EventPattern):
        with pytest.raises(InvalidPatternError, match="shorter than a tick"):
            group_pattern(pattern, PlannerOptions(), unit=unit, statistics=known)
    if isinstance(pattern, GraphQuery):
        with pytest.raises(InvalidPatternError, match="shorter than a tick"):
            choose_plan(pattern, PlannerOptions(), unit=unit, statistics=known)


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("length", ["1s", "1500ms", "1"])
@pytest.mark.parametrize("builder", ["rw", "spass", "casem+dce"])
def test_a_tick_and_a_part_of_one_is_planned_however_it_divides(clause: str, length: str, builder: str) -> None:
    (pattern,) = parse(CLAUSES[clause].format(length))
    planner_options = PlannerOptions.of("aggregation", builder) if isinstance(pattern, EventPattern) else PlannerOptions()
    assert len(plan_all([pattern, pattern], planner_options, unit=TimeUnit.SECOND, statistics=COUNTED)) == 2


def test_every_duration_of_a_pattern_is_looked_at() -> None:
    """What is written with a unit in these texts is found, so that a new clause cannot be forgotten unseen."""
    for text in CLAUSES.values():
        (pattern,) = parse(text.format("7s"))
        assert "7s" in {str(length) for _, length, _ in pattern.durations()}, text
