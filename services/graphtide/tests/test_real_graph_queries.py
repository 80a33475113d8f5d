"""Q5 to Q7 of Table 1 of paper 001 on LDBC: as the oracle says, and as networkx does. Skipped without the data."""

from __future__ import annotations

import gzip
from csv import DictReader
from functools import cache
from itertools import islice

import graphtide
import networkx as nx
import pytest
from graphtide_core.edge import Edge
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import IntervalMatch
from graphtide_core.time import EventTime
from graphtide_query import parse
from graphtide_testing.data import DATA
from graphtide_testing.graph_results import find_expected, sort_matches
from graphtide_testing.oracles.graph_queries import GraphQueryOracle

FILE = DATA / "ldbc_snb_tiny.csv.gz"

pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the data is not at hand")

DAY = 86_400_000
WINDOW, SLIDE = 30 * DAY, DAY

QUERIES = {
    "Q5": "RR(m1, m2) <- knows(x, y), hasCreator(m1, x), hasCreator(m2, y), replyOf(m2, m1).",
    "Q6": "RL(x, y) <- knows+(x, y), likes(x, m), hasCreator(m, y).",
    "Q7": "RL(x, y) <- knows+(x, y), likes(x, m), hasCreator(m, y). Answer(x, m) <- RL+(x, y), hasCreator(m, y).",
}

ENGINES = ("s-path", "delta-tree")


def text(name: str) -> str:
    return f"QUERY {name} {QUERIES[name]} ON s WINDOW(30d) SLIDE(1d)"


@cache
def edges() -> tuple[Edge, ...]:
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        return tuple(
            Edge(EdgeId(str(place)), EventTime(int(row["ts"])), VertexId(row["src"]), VertexId(row["dst"]), row["label"])
            for place, row in enumerate(DictReader(lines))
        )


def run_query(name: str, engine: str, records: tuple[Edge, ...]) -> list[IntervalMatch]:
    found = list(graphtide.match(text(name), list(records), graphtide.MatchOptions(engine=engine)))
    assert all(isinstance(each, IntervalMatch) for each in found)
    return [each for each in found if isinstance(each, IntervalMatch)]


@cache
def answer(name: str, at: int) -> set[tuple[str, str]]:
    """Answer a query on the snapshot of an instant by paths of networkx and sets of pairs."""
    valid = [edge for edge in edges() if edge.ts <= at < edge.ts // SLIDE * SLIDE + WINDOW]
    labels = ("knows", "likes", "hasCreator", "replyOf")
    pairs = {label: {(edge.source, edge.target) for edge in valid if edge.label == label} for label in labels}
    creator = pairs["hasCreator"]
    by = dict(creator)
    assert len(by) == len(creator), "a message has one creator"
    if name == "Q5":
        replies = ((message, reply) for reply, message in pairs["replyOf"] if message in by and reply in by)
        return {(message, reply) for message, reply in replies if (by[message], by[reply]) in pairs["knows"]}
    reachable = nx.transitive_closure(nx.DiGraph(list(pairs["knows"])), reflexive=False)
    liked = {(person, by[message]) for person, message in pairs["likes"] if message in by}
    likes: set[tuple[str, str]] = {pair for pair in liked if reachable.has_edge(*pair)}
    if name == "Q6":
        return likes
    further = nx.transitive_closure(nx.DiGraph(list(likes)), reflexive=False)
    return {(person, message) for message, author in creator if author in further for person in further.predecessors(author)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", QUERIES)
def test_some_early_records_are_answered_as_the_oracle_does(name: str, engine: str) -> None:
    (query,) = parse(text(name))
    assert isinstance(query, GraphQuery)
    records = edges()[150:300]
    found = run_query(name, engine, records)
    oracle, start = GraphQueryOracle(query), 0
    for edge in records:
        said = oracle.push(edge)
        assert sort_matches(found[start : start + len(said)]) == find_expected(query, said)
        start += len(said)
    assert start == len(found) > 1, "there must be results"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", QUERIES)
def test_at_some_instants_the_results_are_those_of_networkx(name: str, engine: str) -> None:
    found, sizes = run_query(name, engine, edges()), []
    for place in islice(range(len(edges()) - 1, 0, -len(edges()) // 4), 4):
        at = int(edges()[place].ts)
        known = [each for each in found if each.detected_at <= at and each.valid[1] is not None and each.valid[1] > at]
        rows = {(each.source, each.target) for each in known}
        assert rows == answer(name, at)
        sizes.append(len(rows))
    assert max(sizes) > 20, "there must be results"
