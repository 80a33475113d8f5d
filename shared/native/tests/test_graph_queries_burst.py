"""One record that completes very many results of a graph query: its memory is bounded, and an interrupt is heard within it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.edge import Edge
from graphtide_core.errors import CutShortError, LimitExceededError
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import Completeness
from graphtide_core.plans import GraphPlan, PathEngine
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.match_batch import MatchBatch
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import Limits
from graphtide_query import parse
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.translation import canonical
from graphtide_testing.records import to_json_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_native.records import EdgeBatch

SIDE: Final = 400
"""Vertices on each side of the edge that completes all."""

QUERIES: Final = {
    "path": "Answer(x, y) <- a+(x, y).",
    "path reported": "Answer(x, y) <- a+(x, y) AS p.",
    "join": "Answer(x, z) <- a(x, u), b(u, v), c(v, z).",
    "join of a path": "near(x, y) <- /(:a | :b | :c)+/(x, y). Answer(y, x) <- near(x, y), a(x, u).",
    "union": "near(x, z) <- a(x, u), b(u, v), c(v, z). near(x, y) <- d(x, y). Answer(x, y) <- near(x, y).",
    "path of paths": "near(x, z) <- a(x, u), b(u, v), c(v, z). Answer(x, y) <- near+(x, y).",
}
"""Each with about `SIDE` times `SIDE` results that one edge completes."""


def plan(name: str, engine: PathEngine) -> GraphPlan:
    emitted = " RETURN p" if name == "path reported" else ""
    (query,) = parse(f"QUERY q {QUERIES[name]} ON s WINDOW(100000){emitted}")
    assert isinstance(query, GraphQuery)
    return GraphPlan(query, compile_plan(query, canonical(query), engine))


def edge(number: int, source: str, target: str, label: str) -> Edge:
    return Edge(EdgeId(f"e{number}"), EventTime(number), VertexId(source), VertexId(target), label)


def fan(name: str) -> tuple[list[Edge], Edge, Edge]:
    """Return edges into one vertex and out of another, the one between them, and one elsewhere."""
    into, between, out = ("a", "a", "a") if name.startswith("path") and name != "path of paths" else ("a", "b", "c")
    edges = [edge(n, f"x{n}", "u", into) for n in range(SIDE)]
    edges += [edge(SIDE + n, "v", f"z{n}", out) for n in range(SIDE)]
    return edges, edge(2 * SIDE, "u", "v", between), edge(2 * SIDE + 1, "k", "l", into)


class Pass:
    def __init__(self, plan: GraphPlan, limits: Limits | None = None, slice_seconds: float = 0.02) -> None:
        symbols = Symbols()
        self.matcher = Matcher(
            [plan], symbols, unit=TimeUnit.MILLISECOND, deletions=True, limits=limits, slice_seconds=slice_seconds
        )
        self._decoder = JsonLinesDecoder(symbols, (), {})

    def batch(self, edges: Iterable[Edge]) -> EdgeBatch:
        return self._decoder.decode(to_json_lines(tuple(edges)))

    def results(self, edges: Iterable[Edge]) -> int:
        """Match edges, and return how many results they have."""
        return sum(map(len, self.matcher.push(self.batch(edges))))


@pytest.mark.parametrize("engine", PathEngine)
@pytest.mark.parametrize("name", QUERIES)
def test_bytes_of_state_are_bounded_within_a_record(name: str, engine: PathEngine) -> None:
    """What a record adds counts as it comes: there is no room for all of its results, and the state stays near the bound."""
    before, last, other = fan(name)
    free = Pass(plan(name, engine))
    free.results(before)
    held = free.matcher.patterns()[0].state_bytes
    everything = free.results([last])
    assert everything >= SIDE * SIDE
    grown = free.matcher.patterns()[0].state_bytes - held
    bound = held + grown // 8
    bounded = Pass(plan(name, engine), Limits(state_bytes=bound, policy="shed"))
    assert not any(
        each.completeness is Completeness.SHED for part in bounded.matcher.push(bounded.batch(before)) for each in part
    )
    found = bounded.results([last])
    (report,) = bounded.matcher.patterns()
    assert found < everything // 2
    assert report.limited == 1 or report.limit.endswith("bytes of state")
    assert "bytes of state" in report.limit
    # Tables grow in steps of their size.
    assert report.state_bytes <= 2 * bound
    assert bounded.results([other]) <= 1
    failing = Pass(plan(name, engine), Limits(state_bytes=bound))
    with pytest.raises(LimitExceededError, match="bytes of state"):
        failing.results([*before, last, other])


@pytest.mark.parametrize("engine", PathEngine)
@pytest.mark.parametrize("name", QUERIES)
def test_results_within_the_limits_are_reported_whole(name: str, engine: PathEngine) -> None:
    """What is noted while a record is taken counts, but no list of its results is made."""
    before, last, _ = fan(name)
    free = Pass(plan(name, engine))
    everything = free.results([*before, last])
    bound = 3 * free.matcher.patterns()[0].state_bytes
    bounded = Pass(plan(name, engine), Limits(state_bytes=bound))
    assert bounded.results([*before, last]) == everything
    assert bounded.matcher.patterns()[0].limited == 0


@pytest.mark.parametrize("engine", PathEngine)
@pytest.mark.parametrize("name", QUERIES)
def test_a_record_is_ended_within_its_work(name: str, engine: PathEngine) -> None:
    """Each slice is as short as possible, so work ends at the next pause: what follows is a small share of the whole."""
    before, last, _ = fan(name)
    whole = Pass(plan(name, engine))
    whole.results(before)
    found = whole.results([last])
    for after in (0, 3, 10):
        own = Pass(plan(name, engine), slice_seconds=0.0)
        own.results(before)
        looks = iter(range(10**9))
        last_batch, emitted = own.batch([last]), list[MatchBatch]()
        with pytest.raises(CutShortError) as ended:
            emitted.extend(own.matcher.push(last_batch, most=1_000, is_cancelled=lambda: next(looks) >= after))  # noqa: B023 - used here
        assert ended.value.work < (after + 8) * 1_024 + 2_000
        assert sum(map(len, emitted)) < found
