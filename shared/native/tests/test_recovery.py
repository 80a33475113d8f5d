"""A matcher that takes what another selected continues as that other would have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_native.matcher import Matcher
from graphtide_native.records import ArrowDecoder, JsonLinesDecoder, Symbols
from graphtide_native.spec import columns
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.found import keys
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies import StreamShape, edge_streams, patterns
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_native.records import EdgeBatch
    from graphtide_testing.found import Found


class Life:
    """A matcher from start to crash."""

    def __init__(self, asked: Sequence[SubgraphPattern], engine: str) -> None:
        self.symbols = Symbols()
        self.names = columns(asked)
        plans = [plan(pattern, engine) for pattern in asked]
        self.matcher = Matcher(plans, self.symbols, self.names, deletions=True, adaptive=True)

    def decoded(self, edges: Sequence[Edge]) -> EdgeBatch:
        return JsonLinesDecoder(self.symbols, self.names, {}).decode(to_json_lines(edges))

    def push(self, batch: EdgeBatch) -> list[Found]:
        return keys(found for matches in self.matcher.push(batch) for found in matches)

    def kept(self, edges: Sequence[Edge]) -> bytes:
        """Take edges, and return what is to be kept of them."""
        batch = self.decoded(edges)
        self.push(batch)
        return self.matcher.selected(batch).to_arrow()

    def restored(self, kept: bytes) -> Life:
        self.push(ArrowDecoder(self.symbols, self.names, {}).decode(kept))
        return self


@given(
    st.lists(patterns(), min_size=1, max_size=2),
    edge_streams(StreamShape(duplicates=False)),
    st.sampled_from(FAMILIES["isomorphism"].names),
    st.sampled_from(FAMILIES["isomorphism"].names),
    st.data(),
)
def test_a_new_matcher_goes_on_where_the_old_one_was_stopped(
    asked: list[SubgraphPattern], stream: tuple[Edge, ...], before: str, after: str, data: st.DataObject
) -> None:
    stop = data.draw(st.integers(0, len(stream)))
    old = Life(asked, before)
    new = Life(asked, after).restored(old.kept(stream[:stop]))

    for edge in stream[stop:]:
        assert new.push(new.decoded([edge])) == old.push(old.decoded([edge]))


def test_a_match_that_was_not_emitted_is_not_retracted() -> None:
    asked = parse_subgraphs(
        "PATTERN one MATCH (a)-[x:k]->(b) ON s WINDOW 100  PATTERN two MATCH (a)-[x:k]->(b) ON s WINDOW 100"
    )
    life = Life(asked, "timing")
    life.push(life.decoded([edge(1)]))
    life.matcher.begin(0)
    life.push(life.decoded([edge(2)]))
    found = life.push(life.decoded([edge(3, deletes="e1")])) + life.push(life.decoded([edge(4, deletes="e2")]))
    assert sorted(dict(each.edges)["x"] for each in found) == ["e1", "e2", "e2"]


def test_what_was_incomplete_stays_so() -> None:
    asked = parse_subgraphs("PATTERN one MATCH (a)-[x:k]->(b) ON s WINDOW 100")
    life = Life(asked, "timing")
    life.matcher.mark_shed(0)
    (matches,) = life.matcher.push(life.decoded([edge(1)]))
    assert b'"completeness":"SHED"' in matches.to_json_lines()


def edge(ts: int, *, deletes: str | None = None) -> Edge:
    operation = Operation.INSERT if deletes is None else Operation.DELETE
    return Edge(EdgeId(deletes or f"e{ts}"), EventTime(ts), VertexId("a"), VertexId("b"), "k", operation=operation)
