"""At both ends of 64 bits every engine reports what its oracle reports, after every record: no time wraps, none is lost."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.event import Event
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import IntervalMatch, MatchKind
from graphtide_core.pattern import OF_SIMULATION, Report
from graphtide_core.plans import GraphPlan, PathEngine
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.event_detection import EventDetector
from graphtide_native.records import Duplicates, JsonLinesDecoder, Symbols
from graphtide_query import parse
from graphtide_query.families import FAMILIES
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.translation import canonical
from graphtide_query.families.events.builders import aggregate
from graphtide_query.planner import plan
from graphtide_testing.components import by_text
from graphtide_testing.components import make_expected as expected_component
from graphtide_testing.components import read_report as reported_component
from graphtide_testing.feeding import Feed
from graphtide_testing.graph_results import as_one_path, check_path, find_expected, sort_matches
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.oracles.simulation import SimulationOracle
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.records import events_to_json_lines
from graphtide_testing.strategies import PatternShape, StreamShape, edge_streams, patterns
from graphtide_testing.strategies.event_patterns import EventPatternShape, event_patterns
from graphtide_testing.strategies.event_streams import EVENT_ATTRIBUTES, EventStreamShape, event_streams
from graphtide_testing.strategies.graph_queries import GraphQueryShape, graph_queries
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.pattern import SubgraphPattern

Record = TypeVar("Record", Edge, Event)

LEAST: Final = -(1 << 63)
GREATEST: Final = (1 << 63) - 1
PLACES: Final = st.tuples(st.booleans(), st.integers(0, 9))
"""At which end of time a stream is, and how many ticks there are beyond it."""

EDGES: Final = StreamShape(labels=("a", "b", "c"), vertices=4)
KINDS: Final = (WindowKind.EXTERNAL, WindowKind.EXTERNAL, WindowKind.INTERNAL, WindowKind.NOW)
EVENTS: Final = EventPatternShape(once=False, max_events=3, stream=EventStreamShape(max_records=12))


def at_an_end(records: tuple[Record, ...], place: tuple[bool, int]) -> tuple[Record, ...]:
    """Return a stream shifted to an end of time: its first record near the least time, or its last near the greatest."""
    if not records:
        return records
    is_late, left = place
    by = GREATEST - left - records[-1].ts if is_late else LEAST + left - records[0].ts
    return tuple(replace(each, ts=EventTime(each.ts + by)) for each in records)


def check_graph_query(query: GraphQuery, engine: PathEngine, edges: tuple[Edge, ...]) -> int:
    logical, emitted = canonical(query), 0
    one = as_one_path(query, engine)
    known = {str(edge.id): edge for edge in edges if edge.source}
    for each in (GraphPlan(query, compile_plan(query, logical, engine)), *(() if one is None else (one,))):
        oracle, feed = GraphQueryOracle(query), Feed(each)
        for edge in edges:
            wanted, found = oracle.push(edge), feed.matches(edge)
            assert sort_matches(found) == find_expected(query, wanted)
            emitted += len(found)
            if query.outputs[0].path is not None and len(known) == len(edges):
                for match in found:
                    if isinstance(match, IntervalMatch) and match.kind is not MatchKind.RETRACT:
                        check_path(query, match, oracle, known)
    return emitted


@pytest.mark.parametrize("engine", PathEngine)
@given(query=graph_queries(GraphQueryShape(kinds=KINDS)), edges=edge_streams(EDGES), place=PLACES)
def test_graph_queries(engine: PathEngine, query: GraphQuery, edges: tuple[Edge, ...], place: tuple[bool, int]) -> None:
    check_graph_query(query, engine, at_an_end(edges, place))


def edge(ts: int, id: str, source: str, target: str, operation: Operation = Operation.INSERT) -> Edge:
    return Edge(EdgeId(id), EventTime(ts), VertexId(source), VertexId(target), "a", operation=operation)


@pytest.mark.parametrize("engine", PathEngine)
@pytest.mark.parametrize(
    "text", ["Answer(x, y) <- a(x, y).", "Answer(x, y) <- a+(x, y) AS p.", "Answer(x, z) <- a(x, y), a(y, z)."]
)
@pytest.mark.parametrize("window", ["WINDOW(1)", "WINDOW(2)", "WINDOW(3)", "WINDOW(6) SLIDE(2)", "WINDOW(6) SLIDE(5)"])
def test_what_ends_in_the_last_ticks_comes_again_there(engine: PathEngine, text: str, window: str) -> None:
    """An end just before the greatest time is over at it; one at it or past it is never over."""
    (query,) = parse(f"QUERY q {text} ON s {window}")
    assert isinstance(query, GraphQuery)
    emitted = 0
    for first in range(GREATEST - 8, GREATEST + 1):
        for second in range(first, GREATEST + 1):
            twice = [(first, "1"), (second, "2")]
            edges = [edge(ts, f"{id}{n}", f"v{n}", f"v{n + 1}") for ts, id in twice for n in range(2)]
            gone = [edge(second, each.id, "v0", "v1", Operation.DELETE) for each in edges]
            emitted += check_graph_query(query, engine, (*edges, *gone))
    assert emitted


@pytest.mark.parametrize("engine", PathEngine)
def test_what_ends_just_after_the_least_time_is_withdrawn_there(engine: PathEngine) -> None:
    (query,) = parse("QUERY q b(x, y) <- a(x, y). Answer(x, z) <- b(x, y), /:b+/(y, z). ON s WINDOW(1)")
    assert isinstance(query, GraphQuery)
    edges = [edge(LEAST, f"{n}", f"v{n}", f"v{n + 1}") for n in range(3)]
    again = [edge(LEAST + 1, f"{n}", f"v{n}", f"v{n + 1}") for n in range(3)]
    gone = [edge(LEAST, f"{n}", "v0", "v1", Operation.DELETE) for n in range(3)]
    assert check_graph_query(query, engine, (*edges, *gone, *again)) > 4


@pytest.mark.parametrize("engine", FAMILIES["isomorphism"].names)
@given(pattern=patterns(PatternShape()), edges=edge_streams(), place=PLACES)
def test_subgraph_patterns(engine: str, pattern: SubgraphPattern, edges: tuple[Edge, ...], place: tuple[bool, int]) -> None:
    oracle, feed = SubgraphOracle(pattern), Feed(plan(pattern, engine))
    for each in at_an_end(edges, place):
        assert feed.push(each) == sorted(oracle.push(each))


@pytest.mark.parametrize("left", [0, 1, 2, 9])
@pytest.mark.parametrize("engine", FAMILIES["simulation"].names)
def test_what_expires_after_the_greatest_time_is_retracted_at_the_end(engine: str, left: int) -> None:
    # Found by a seed of its own: an edge whose window ends after the greatest time was never retracted.
    (pattern,) = parse("PATTERN p MATCH (a)-[x]->(b) UNDER DUAL SIMULATION REPORT CHANGES ON s WINDOW 1")
    feed = Feed(plan(pattern, engine))
    assert [each.kind for each in feed.push(edge(GREATEST - left, "e", "v", "w"))] == ["match"]
    ended = [(each.kind, each.detected_at) for each in feed.finish()]
    assert ended == [("retract", min(GREATEST, GREATEST - left + 1))]


@pytest.mark.parametrize("engine", FAMILIES["simulation"].names)
@given(
    pattern=st.sampled_from(OF_SIMULATION).flatmap(lambda report: patterns(PatternShape(report=report))),
    edges=edge_streams(),
    place=PLACES,
)
def test_dual_simulation(engine: str, pattern: SubgraphPattern, edges: tuple[Edge, ...], place: tuple[bool, int]) -> None:
    oracle, feed = SimulationOracle(pattern), Feed(plan(pattern, engine))
    for each in at_an_end(edges, place):
        emitted = [expected_component(component) for component in oracle.push(each)]
        assert by_text([reported_component(component) for component in feed.push(each)]) == by_text(emitted)
    last = [replace(each, detected_at=EventTime(min(each.detected_at, GREATEST))) for each in oracle.finish()]
    found = [reported_component(component) for component in feed.finish()]
    assert by_text(found) == by_text([expected_component(component) for component in last])


@given(pattern=event_patterns(EVENTS), records=event_streams(EVENTS.stream), place=PLACES)
def test_event_patterns(pattern: EventPattern, records: tuple[Event, ...], place: tuple[bool, int]) -> None:
    symbols, attributes = Symbols(), (*EVENT_ATTRIBUTES, "absent")
    detector = EventDetector(aggregate([pattern], "none"), [pattern], symbols, attributes)
    decoder, oracle = JsonLinesDecoder(symbols, attributes, {}), EventOracle(pattern)
    duplicates = Duplicates(pattern.lookback(TimeUnit.MILLISECOND))
    for record in at_an_end(records, place):
        batch = duplicates.filter(decoder.decode(events_to_json_lines([record])))
        wanted = oracle.push(record) if len(batch) else ()
        assert occurrences(detector.push(batch), pattern) == occurrences(wanted, pattern)
    assert occurrences(detector.finish(), pattern) == occurrences(oracle.finish(), pattern)


def occurrences(found: Iterable[object], pattern: EventPattern) -> Counter[tuple[object, ...]]:
    """Return what is reported; of a time past all that is reported at the greatest."""
    emitted: list[tuple[object, ...]] = []
    for each in found:
        own = each.events  # type: ignore[attr-defined]  # an occurrence, or what an oracle says of one
        events = tuple(sorted(own.items() if isinstance(own, dict) else own))
        shown = () if pattern.report is Report.EXISTS and each.kind != "timeout" else events  # type: ignore[attr-defined]  # as above
        emitted.append((each.kind, min(each.detected_at, GREATEST), each.count, *shown))  # type: ignore[attr-defined]  # as above
    return Counter(emitted)


TIMES: Final = r"\b(ts|now|at|end|until|oldest|newest|first|last|bound|detected_at|since|watermark)(\(\))?"
BARE: Final = re.compile(rf"{TIMES}\.(saturating|checked)_(add|sub)\(|\.ts(\(\))? [+-] |\b(ts|now|until|detected_at) [+-] ")
FAMILIES_OF_CRATES: Final = ("engine", "isomorphism", "simulation", "events", "algebra", "match")


def test_engines_leave_arithmetic_on_times_to_one_module() -> None:
    """`graphtide_graph::clock` says what happens at the ends of 64 bits; a bare operator would say it again, or wrap."""
    crates = Path(__file__).parents[1] / "crates"
    files = (path for family in FAMILIES_OF_CRATES for path in (crates / f"graphtide-{family}/src").rglob("*.rs"))
    # These two count steps and records.
    sources = [path for path in sorted(files) if path.name not in {"meter.rs", "work_budgets.rs"}]
    assert len(sources) > 100
    found = [
        f"{path.relative_to(crates)}: {line.strip()}"
        for path in sources
        for line in path.read_text().partition("#[cfg(test)]")[0].splitlines()
        if BARE.search(line) and not line.lstrip().startswith("//")
    ]
    assert found == []
