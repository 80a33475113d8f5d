"""Matches of a source that is read as it goes come when their last edges do, and are those of the whole stream."""

from __future__ import annotations

import sqlite3
import threading
from random import Random
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide import LimitExceededError, Limits, MatchOptions, Session, StreamWarning
from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs
from graphtide_testing.found import keys
from graphtide_testing.oracles.subgraph import SubgraphOracle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide import Match

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON payments WINDOW 1h"
CHAIN = "PATTERN p MATCH (v)-[x:a]->(w)-[y:b]->(s)-[z:c]->(t) ON s WINDOW 60"


def edge(ts: int) -> dict[str, object]:
    return {"ts": ts, "src": f"v{ts}", "dst": f"v{ts + 1}", "label": "pays"}


def test_a_match_is_there_before_the_source_is_asked_for_the_next_edge() -> None:
    found: list[Match] = []

    def source() -> Iterator[dict[str, object]]:
        for ts in range(500):
            assert len(found) == max(0, ts - 1), "the source would wait here"
            yield edge(ts)

    for match in graphtide.match(PATTERN, source()):
        found.append(match)
    assert len(found) == 499


def test_an_iterable_that_is_not_an_iterator_is_taken_as_it_comes_too() -> None:
    found: list[Match] = []

    class Source:
        def __iter__(self) -> Iterator[dict[str, object]]:
            for ts in range(5):
                assert len(found) == max(0, ts - 1)
                yield edge(ts)

    for match in graphtide.match(PATTERN, Source()):
        found.append(match)
    assert len(found) == 4


def test_matches_before_an_error_of_the_source_are_given() -> None:
    def broken() -> Iterator[dict[str, object]]:
        yield from (edge(ts) for ts in range(3))
        message = "the source broke"
        raise ConnectionError(message)

    matches = graphtide.match(PATTERN, broken())
    assert [next(matches).last_ts, next(matches).last_ts] == [1, 2]
    with pytest.raises(ConnectionError, match="the source broke"):
        next(matches)
    with pytest.raises(ConnectionError, match="the source broke"):
        Session(PATTERN).push(broken())


def test_a_source_runs_on_the_thread_of_its_caller_and_stays_the_callers() -> None:
    # A database that other threads may not use.
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE edges (ts, src, dst, label)")
    database.executemany("INSERT INTO edges VALUES (:ts, :src, :dst, :label)", [edge(ts) for ts in range(10)])
    names = ("ts", "src", "dst", "label")
    source = (dict(zip(names, row, strict=True)) for row in database.execute("SELECT * FROM edges ORDER BY ts"))
    threads = threading.active_count()

    matches = graphtide.match(PATTERN, source)
    assert next(matches).last_ts == 1
    assert threading.active_count() == threads
    matches.close()
    assert next(source) == edge(2)
    database.close()


@st.composite
def streams(draw: st.DrawFn) -> list[Edge]:
    rng = Random(draw(st.integers(0, 10**6)))
    edges: list[Edge] = []
    for number in range(draw(st.integers(0, 120))):
        deletes = bool(edges) and rng.random() < 0.1
        id_ = rng.choice(edges).id if deletes else EdgeId(f"e{number}")
        vertices = VertexId(f"v{rng.randrange(5)}"), VertexId(f"v{rng.randrange(5)}")
        label = rng.choices("abc", (1, 4, 20) if number < 20 else (20, 4, 1))[0]
        operation = Operation.DELETE if deletes else Operation.INSERT
        edges.append(Edge(id_, EventTime(number), *vertices, label, operation=operation))
    return edges


@pytest.mark.parametrize("engine", ["auto", "timing", "sj-tree", "re-search", "filtering"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=streams())
def test_plans_that_are_made_again_change_no_match(monkeypatch: pytest.MonkeyPatch, engine: str, edges: list[Edge]) -> None:
    monkeypatch.setattr("graphtide.pipeline.LOOKED_AT", (3, 10, 25, 60))
    (pattern,) = parse_subgraphs(CHAIN)
    matches = graphtide.match(pattern, (edge for edge in edges), MatchOptions(engine=engine))
    assert keys(list(matches)) == sorted(SubgraphOracle(pattern).run(edges))


def rising(records: int) -> list[Edge]:
    """Edges whose first records differ from the rest: c is frequent at first, and a afterwards."""
    rng = Random(5)

    def label(number: int) -> str:
        return "c" if number < 20 else rng.choices("abc", (40, 10, 1))[0]

    ends = [(VertexId(f"v{rng.randrange(50)}"), VertexId(f"v{rng.randrange(50)}")) for _ in range(records)]
    return [Edge(EdgeId(f"e{n}"), EventTime(n), *both, label(n)) for n, both in enumerate(ends)]


@pytest.mark.parametrize("engine", ["timing", "sj-tree"])
def test_a_live_stream_ends_with_the_plans_of_its_first_thousands(engine: str) -> None:
    edges = rising(4_096)
    plans = []
    for source in (edges, iter(edges)):
        session = Session(CHAIN, MatchOptions(engine=engine))
        list(session.run(source))
        plans.append(session._pipeline.plans)  # noqa: SLF001 - what is under test shows in cost alone
    assert plans[0] == plans[1]


def test_a_limit_is_reached_where_it_was_without_new_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = rising(2_000)
    options = MatchOptions(engine="timing", limits=Limits(5, policy="shed"))
    with pytest.warns(StreamWarning, match="its limit of 5 partial matches"):
        found = keys(list(graphtide.match(CHAIN, iter(edges), options)))
    monkeypatch.setattr("graphtide.pipeline.LOOKED_AT", ())
    with pytest.warns(StreamWarning, match="its limit of 5 partial matches"):
        assert found == keys(list(graphtide.match(CHAIN, iter(edges), options)))
    with pytest.raises(LimitExceededError):
        list(graphtide.match(CHAIN, iter(edges), MatchOptions(engine="timing", limits=Limits(5))))
