"""Why an edge is in no match of dual simulation: what is said of it is true, by the oracle."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.funnel import Left, Reason
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import MatchKind
from graphtide_core.pattern import OF_SIMULATION, Report
from graphtide_core.time import EventTime
from graphtide_core.window import EdgeCount
from graphtide_native.spec import Limits
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.oracles.simulation import SimulationOracle, components, fits, has_distinct, match_graph
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import PatternShape, StreamShape, edge_streams, patterns, random_pattern, random_stream
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.funnel import Answer, Lack
    from graphtide_core.pattern import SubgraphPattern

ENGINES = FAMILIES["simulation"].names
STREAM = StreamShape(nameless=False, duplicates=False)


class Lives:
    """The oracle's run: which edges each edge ever shared a moment with, when it had its first match, and how it left."""

    def __init__(self, pattern: SubgraphPattern, records: Sequence[Edge]) -> None:
        """Run the whole stream."""
        oracle = SimulationOracle(pattern)
        self.edges: list[Edge] = []
        self.shared: list[set[int]] = []
        self.matched: dict[EdgeId, tuple[int, EdgeId]] = {}
        self.left: dict[EdgeId, Left] = {}
        self.now = max((record.ts for record in records), default=0)
        for record in records:
            now = oracle._instants.of_record(record)  # noqa: SLF001 - the oracle's state is private
            inside = (number for number in oracle._inside if oracle._instants.is_within(oracle._came[number], now))  # noqa: SLF001
            consumed, there = oracle._consumed, set(inside)  # noqa: SLF001
            if record.operation is Operation.INSERT:
                self.edges.append(record)
                self.shared.append(set())
            for emitted in oracle.push(record):
                if emitted.kind is not MatchKind.RETRACT:
                    names = {name for _, name in emitted.pairs}
                    oldest = next(edge.id for edge in self.edges if edge.id in names)
                    for name in names:
                        self.matched.setdefault(name, (emitted.detected_at, emitted.component or oldest))
            together = {number for number in oracle._inside if number > consumed}  # noqa: SLF001
            for number in together:
                self.shared[number] |= together
            for number in there - set(oracle._inside):  # noqa: SLF001
                self.left.setdefault(self.edges[number].id, Left.DELETED)
            if oracle._consumed > consumed:  # noqa: SLF001
                for number in range(consumed + 1, oracle._consumed + 1):  # noqa: SLF001
                    if number in oracle._inside:  # noqa: SLF001
                        self.left[self.edges[number].id] = Left.CONSUMED


def assert_true(pattern: SubgraphPattern, lives: Lives, answer: Answer) -> str:
    """Check one answer; return what kind it is of."""
    (number,) = (number for number, edge in enumerate(lives.edges) if edge.id == answer.id)
    edge = lives.edges[number]
    assert answer.ts == edge.ts
    assert answer.is_asked
    by_itself = {each.name for each in pattern.edges if fits(pattern, each, edge)}
    # A condition on an end of one query edge holds for the query vertex, and so refuses edges as others there.
    assert answer.refused.keys() >= {each.name for each in pattern.edges} - by_itself
    refused_more = by_itself & answer.refused.keys()
    by_itself -= refused_more
    matched = None if answer.matched_at is None else (answer.matched_at, answer.component)
    assert matched == lives.matched.get(edge.id)
    gone = lives.left.get(edge.id)
    if by_itself and gone is not None:
        assert answer.left is not None
        assert answer.left[0] is gone
    elif isinstance(pattern.window, EdgeCount):
        assert answer.left is None or answer.left[0] is Left.EXPIRED
    else:
        passed = edge.ts + pattern.duration.amount + 1
        assert answer.left == ((Left.EXPIRED, passed) if by_itself and passed <= lives.now else None)
    if answer.matched_at is not None:
        assert not answer.lacks
        return "matched"
    assert answer.lacks.keys() == by_itself
    if not by_itself:
        return "refused"
    assert answer.ends == (edge.source, edge.target)
    # All that ever shared a moment with it, in the order of the stream: the most that a match could have been made of.
    around = sorted(lives.shared[number])
    edges = [lives.edges[each] for each in around]
    graph = match_graph(pattern, edges)
    assert not {(name, around.index(number)) for name in refused_more} & graph
    for name, lack in answer.lacks.items():
        pair = (name, around.index(number))
        assert (pair in graph) is (lack.reason is Reason.WINDOW)
        assert_holds(pattern, edges, graph, pair, lack)
    return next(iter(answer.lacks.values())).reason.value


def assert_holds(
    pattern: SubgraphPattern, edges: Sequence[Edge], graph: frozenset[tuple[str, int]], pair: tuple[str, int], lack: Lack
) -> None:
    """Check what an edge is said to lack in the match graph."""
    name, place = pair
    query = {each.name: each for each in pattern.edges}
    if lack.reason is Reason.ORDER:
        (late,) = lack.edges
        ends = {edges[place].source, edges[place].target}
        near = {
            pair
            for part in components(edges, graph)
            if any({edges[of].source, edges[of].target} & ends for _, of in part)
            for pair in part
        }
        times = [edges[of].ts for each, of in near if each == late]
        assert late == name or not any(lack.after is None or ts > lack.after for ts in times)
        if late == name:
            assert lack.after is not None
            assert edges[place].ts <= lack.after
        return
    if lack.reason is Reason.WINDOW:
        return
    assert lack.vertex is not None
    of, vertex = lack.vertex
    assert (of, vertex) in {(query[name].source, edges[place].source), (query[name].target, edges[place].target)}
    at = [number for number, edge in enumerate(edges) if (edge.target if lack.enters else edge.source) == vertex]
    assert all((query[each].target if lack.enters else query[each].source) == of for each in lack.edges)
    by_themselves = [edges[n].id for n in at if any(fits(pattern, query[each], edges[n]) for each in lack.edges)]
    assert list(lack.there) == [each for each in by_themselves if each in lack.there]
    matching = {edges[n].id for n in at if any((each, n) in graph for each in lack.edges)}
    assert matching <= set(lack.there)
    choices = [{number for number in at if (each, number) in graph} for each in lack.edges]
    if lack.reason is Reason.ENDS:
        assert not any(choices)
    else:
        assert lack.reason is Reason.DISTINCT
        assert not has_distinct(choices)


def check(pattern: SubgraphPattern, records: Sequence[Edge], engine: str) -> list[str]:
    """Ask about every edge of a stream; return the kinds of the answers."""
    inserts = [record.id for record in records if record.operation is Operation.INSERT]
    asked = [name for name in dict.fromkeys(inserts) if inserts.count(name) == 1]
    lives = Lives(pattern, records)
    feed = Feed(plan(pattern, engine), traced=0, asked=asked)
    feed.push(*records)
    (funnel,) = feed.matcher.funnels()
    assert [answer.id for answer in funnel.answers] == asked
    assert funnel.unknown == ()
    return [assert_true(pattern, lives, answer) for answer in funnel.answers]


@pytest.mark.parametrize("engine", ENGINES)
@given(
    pattern=st.sampled_from(OF_SIMULATION).flatmap(lambda report: patterns(PatternShape(report=report, deduplication=False))),
    edges=edge_streams(STREAM),
)
def test_what_is_said_of_an_edge_is_true(engine: str, pattern: SubgraphPattern, edges: tuple[Edge, ...]) -> None:
    check(pattern, edges, engine)


@pytest.mark.parametrize("counted", [0, 12])
@pytest.mark.parametrize("report", OF_SIMULATION)
def test_what_is_said_of_the_edges_of_many_random_streams_is_true(report: Report, counted: int) -> None:
    kinds: list[str] = []
    for seed in seeds(40):
        rng = random.Random(seed)
        pattern = random_pattern(
            rng, PatternShape(min_edges=2, max_edges=4, max_counted=counted, report=report, deduplication=False)
        )
        kinds += check(pattern, random_stream(rng, STREAM), ENGINES[seed % len(ENGINES)])
    for kind in ("matched", "refused", "ends", "order", "window"):
        assert kinds.count(kind) > 3, kind


@pytest.mark.parametrize("engine", ENGINES)
def test_too_few_different_edges_are_said_in_random_streams_of_parallel_edges(engine: str) -> None:
    (pattern,) = parse_subgraphs(
        "PATTERN p MATCH (a)-[x *3]->(b), (b)-[y]->(c) ORDER x < y UNDER DUAL SIMULATION ON s WINDOW 9"
    )
    shape = replace(STREAM, vertices=3)
    kinds = [kind for seed in range(30) for kind in check(pattern, random_stream(random.Random(seed), shape), engine)]
    assert kinds.count("distinct") > 20


def edge(ts: int, source: str, label: str, target: str) -> Edge:
    """An edge whose id says when it comes: `e7`."""
    return Edge(EdgeId(f"e{ts}"), EventTime(ts), VertexId(source), VertexId(target), label)


PATH = "PATTERN p MATCH (a)-[x:k]->(b)-[y:l]->(c)-[z:m]->(d) ORDER x < y < z UNDER DUAL SIMULATION ON s WINDOW 10"


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_edges_that_nobody_asked_about_are_reported_if_they_came_near(engine: str) -> None:
    (pattern,) = parse_subgraphs(PATH)
    records = [
        edge(1, "a", "k", "b"),
        edge(2, "b", "l", "c"),
        edge(3, "o", "k", "p"),
        edge(4, "p", "l", "q"),
        edge(5, "q", "m", "r"),  # a match
        edge(20, "p", "l", "q"),
        edge(21, "o", "k", "p"),
        edge(22, "q", "m", "r"),  # its way is there, but in no order
    ]
    feed = Feed(plan(pattern, engine), traced=3)
    feed.push(*records)
    (funnel,) = feed.matcher.funnels()
    answer, other = funnel.answers
    assert (answer.id, answer.is_asked, answer.refused) == ("e22", False, {})
    assert other.id == "e21", "both its ends had all their edges, but others must come after it"
    (lack,) = answer.lacks.values()
    assert (lack.reason, lack.edges, lack.after) == (Reason.ORDER, ("y",), 21)


def test_of_more_edges_than_are_shown_those_are_kept_that_came_furthest() -> None:
    (pattern,) = parse_subgraphs(PATH)
    # The middle of a way has all at both ends, and is not a last edge.
    early = [each for at in (0, 3) for each in (edge(at, f"a{at}", "k", f"b{at}"), edge(at + 2, f"c{at}", "m", f"d{at}"))]
    middle = [edge(6, "b0", "l", "c0"), edge(7, "b3", "l", "c3")]
    late = edge(8, "c0", "m", "e")
    feed = Feed(plan(pattern, "ddst-coloring"), traced=1)
    feed.push(*early, *middle)
    (funnel,) = feed.matcher.funnels()
    assert [answer.id for answer in funnel.answers] == ["e6"]
    feed.push(late)
    (funnel,) = feed.matcher.funnels()
    assert funnel.answers == (), "it was let go when it got a match"


@pytest.mark.parametrize("engine", ENGINES)
def test_an_id_that_no_record_has_and_an_edge_beyond_a_limit(engine: str) -> None:
    (pattern,) = parse_subgraphs(PATH)
    feed = Feed(plan(pattern, engine), traced=0, asked=["e2", "e9"], limits=Limits(partial_matches=1, policy="pause"))
    feed.push(edge(1, "a", "k", "b"), edge(2, "b", "l", "c"))
    (funnel,) = feed.matcher.funnels()
    (answer,) = funnel.answers
    assert (answer.id, answer.ends, answer.refused) == ("e2", None, {"x": Reason.LABEL, "z": Reason.LABEL})
    assert funnel.unknown == ("e9",)


def test_a_pattern_under_isomorphism_has_no_answers() -> None:
    (pattern,) = parse_subgraphs("PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 10")
    feed = Feed(plan(pattern, "timing"), traced=0, asked=["e1"])
    feed.push(edge(1, "a", "k", "b"))
    (funnel,) = feed.matcher.funnels()
    assert (funnel.answers, funnel.unknown) == ((), ())
