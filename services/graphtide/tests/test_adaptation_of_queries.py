"""Plans of graph queries follow a stream that changes; results stay those of the oracle and of a run that keeps its plans."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from graphtide import MatchOptions, Session
from graphtide.adaptation import AdaptationPolicy
from graphtide.kept_records import JOINED, MOST_BYTES, KeptRecords
from graphtide.readers import ReaderOptions
from graphtide.readers.memory import from_edges
from graphtide_core.edge import Edge, Operation
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import IntervalMatch
from graphtide_core.statistics import DriftPolicy
from graphtide_core.time import EventTime
from graphtide_native.spec import Limits
from graphtide_query import parse
from graphtide_testing.graph_results import find_expected, sort_matches
from graphtide_testing.oracles.graph_queries import GraphQueryOracle

if TYPE_CHECKING:
    from graphtide_native.records import EdgeBatch

QUERIES = [
    "QUERY chain Answer(x, w) <- a(x, y), b(y, z), c(z, w). ON s WINDOW({window})",
    "QUERY slid Answer(x, w) <- a(x, y), b(y, z), c(z, w). ON s WINDOW({window}) SLIDE({slide})",
    "QUERY closure Answer(x, w) <- a+(x, y), b(y, z), c(z, w). ON s WINDOW({window})",
    "QUERY path n(x, w) <- a(x, y), b(y, z), c(z, w). Answer(x, y) <- n+(x, y). ON s WINDOW({window}) SLIDE({slide})",
]

FIRST = 100
"""Records that the first plans are made on."""


def swapping_stream(records: int, vertices: int = 10, seed: int = 3, *, deletions: bool = True) -> list[Edge]:
    """Labels a, b, c with frequencies 40 : 10 : 1, and 1 : 10 : 40 from the middle on; one record of ten deletes an edge."""
    rng = Random(seed)
    found: list[Edge] = []
    for number in range(records):
        weights = (40, 10, 1) if number < records // 2 else (1, 10, 40)
        if deletions and number > 9 and rng.random() < 0.1:
            gone = EdgeId(f"e{number - rng.randrange(1, 9)}")
            found.append(Edge(gone, EventTime(number), VertexId(""), VertexId(""), "", operation=Operation.DELETE))
            continue
        ends = (VertexId(f"v{rng.randrange(vertices)}"), VertexId(f"v{rng.randrange(vertices)}"))
        found.append(Edge(EdgeId(f"e{number}"), EventTime(number), *ends, rng.choices("abc", weights)[0]))
    return found


def eager(every: int, glance: int, sample: int) -> AdaptationPolicy:
    return AdaptationPolicy(every=every, glance=glance, sample=sample, drift=DriftPolicy(fewest_edges=glance // 2))


def found_by(session: Session, edges: list[Edge], size: int) -> list[IntervalMatch]:
    """Return the results, the first records pushed together: it is these that the first plans are made on."""
    starts = [0, *range(FIRST, len(edges), size), len(edges)]
    found = [match for start, end in pairwise(starts) for match in session.push(edges[start:end])]
    found += session.finish()
    return [match for match in found if isinstance(match, IntervalMatch)]


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize("together", [False, True])
def test_plans_follow_a_swap_of_label_frequencies_and_no_result_changes(size: int, together: bool) -> None:
    edges = swapping_stream(3_000)
    texts = [text.format(window=60, slide=10) for text in QUERIES]
    for text in [" ".join(texts)] if together else texts:
        session = Session(text, MatchOptions(adaptation=eager(400, 150, 300)))
        fixed = Session(text, MatchOptions(adapt=False))
        found, kept = found_by(session, edges, size), found_by(fixed, edges, 500)
        assert len(found) > 100
        assert [match.detected_at for match in found] == [match.detected_at for match in kept]
        assert sort_matches(found) == sort_matches(kept)
        assert {replan.pattern for replan in session.replans} == {pattern.name for pattern in session.patterns}
        assert all(1_400 < replan.records < 3_000 for replan in session.replans)


@pytest.mark.parametrize("text", QUERIES)
def test_results_are_those_of_the_oracle_after_every_record(text: str) -> None:
    (query,) = parse(text.format(window=12, slide=5))
    assert isinstance(query, GraphQuery)
    edges, oracle = swapping_stream(400, 6), GraphQueryOracle(query)
    session = Session(query, MatchOptions(adaptation=eager(60, 30, 50)))
    emitted = [each for edge in edges[:FIRST] for each in oracle.push(edge)]
    assert sort_matches(session.push(edges[:FIRST])) == find_expected(query, emitted)
    for edge in edges[FIRST:]:
        assert sort_matches(session.push([edge])) == find_expected(query, oracle.push(edge))
    assert session.replans


def test_where_the_records_take_more_than_the_limit_plans_stay_and_it_is_said() -> None:
    text, edges = QUERIES[0].format(window=400, slide=1), swapping_stream(3_000, 200)
    limits = Limits(state_bytes=400_000)
    session = Session(text, MatchOptions(adaptation=eager(400, 150, 300), limits=limits))
    fixed = Session(text, MatchOptions(adapt=False, limits=limits))
    for start in range(0, len(edges), 100):
        batch = edges[start : start + 100]
        assert sort_matches(session.push(batch)) == sort_matches(fixed.push(batch))
    with pytest.warns(match="graph queries keep their plans from now on"):
        assert session.finish() == fixed.finish()
    assert session.replans == []


def batches_of(edges: list[Edge], size: int) -> list[EdgeBatch]:
    options = ReaderOptions()
    return [
        batch for start in range(0, len(edges), size) for batch in from_edges(edges[start : start + size], options).batches()
    ]


@pytest.mark.parametrize("size", [1, 7, 500])
def test_records_are_kept_for_a_window_in_few_batches(size: int) -> None:
    edges = swapping_stream(3_000)
    kept = KeptRecords(100, MOST_BYTES, lambda: 0)
    most = 0
    for batch in batches_of(edges, size):
        kept.take(batch, int(batch.ts[-1]))
        most = max(most, kept.bytes)
        assert kept.bytes == sum(each.held_bytes for each in kept.past)
    now = int(edges[-1].ts)
    times = [ts for batch in kept.past for ts in batch.ts]
    assert times == sorted(times)
    assert sum(ts > now - 100 for ts in times) == sum(edge.ts > now - 100 for edge in edges)
    assert len(kept.past) <= JOINED.bit_length() + len(times) // (JOINED // 2)


def test_what_is_left_out_of_the_bound_is_given_up_for_good() -> None:
    first, *rest = batches_of(swapping_stream(1_000), 100)
    kept = KeptRecords(10**6, 3 * first.held_bytes, lambda: first.held_bytes)
    kept.take(first, 0)
    assert kept.is_whole
    for batch in rest:
        kept.take(batch, 0)
    assert (kept.is_whole, kept.past, kept.bytes) == (False, (), 0)
