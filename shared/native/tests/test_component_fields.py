"""What a pattern under dual simulation returns is what the edges say that its records name."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from graphtide_core.match import ComponentMatch
from graphtide_core.predicate import Aggregation
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import columns
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_testing.dense_streams import dense_edges
from graphtide_testing.oracles.predicates import aggregate, edge_attribute
from graphtide_testing.records import to_json_lines
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.edge import Edge, Value
    from graphtide_core.returns import FieldValue

RETURN = """
RETURN x.n, y.dst AS ends, b.id AS between, count(x) AS many, count(b) AS apart, sum(y.n) AS total, max(y.m) AS most,
       last(x.src) AS newest, first(x.id) AS oldest, last(y.ts) - first(x.ts) AS took, y.src_label
"""


def find_wanted(match: ComponentMatch, edges: Mapping[str, Edge]) -> dict[str, FieldValue]:
    def values(name: str, attribute: str) -> list[Value]:
        return [edge_attribute(edges[id], attribute) for id in match.edges[name]]

    def computed(function: Aggregation, name: str, attribute: str) -> Value:
        # What enters or leaves may have no edge of a name.
        return aggregate(function, values(name, attribute)) if match.edges[name] else None

    last, first = computed(Aggregation.LAST, "y", "ts"), computed(Aggregation.FIRST, "x", "ts")
    return {
        "x.n": tuple(values("x", "n")),
        "ends": tuple(values("y", "dst")),
        "between": match.vertices["b"],
        "many": len(match.edges["x"]),
        "apart": len(match.vertices["b"]),
        "total": computed(Aggregation.SUM, "y", "n"),
        "most": computed(Aggregation.GREATEST, "y", "m"),
        "newest": computed(Aggregation.LAST, "x", "src"),
        "oldest": computed(Aggregation.FIRST, "x", "id"),
        "took": last - first if isinstance(last, int) and isinstance(first, int) else None,
        "y.src_label": tuple(values("y", "src_label")),
    }


@pytest.mark.parametrize("report", ["MAXIMAL", "INSTANCES", "CHANGES"])
@given(seed=st.integers(0, 2**32))
def test_the_fields_of_a_component_are_those_of_its_edges(report: str, seed: int) -> None:
    text = f"PATTERN p MATCH (a)-[x:k]->(b)-[y]->(c) UNDER DUAL SIMULATION REPORT {report} {RETURN} ON s WINDOW 9"
    (pattern,) = parse_subgraphs(text)
    edges, symbols, projected = dense_edges(Random(seed), 40, deletions=True), Symbols(), columns([pattern])
    matcher = Matcher([plan(pattern, "ddst-coloring")], symbols, projected, deletions=True)
    batch = JsonLinesDecoder(symbols, projected, {}).decode(to_json_lines(edges))
    by_id = {record["id"]: edges[place] for place, record in enumerate(batch.to_records()) if record["op"] == "insert"}
    for found in (match for part in (*matcher.push(batch), *matcher.finish()) for match in part):
        assert isinstance(found, ComponentMatch)
        named = {**find_wanted(found, by_id)}
        # An id that was made is known by the place of its record alone.
        named["oldest"] = next(iter(found.edges["x"]), None)
        assert found.fields == named
