"""Functions in patterns have the values that the oracle gives them, in every family, whatever they read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core import predicate as p
from graphtide_core.edge import Edge
from graphtide_core.event_expression import QueryEvent, Seq
from graphtide_core.event_pattern import EventPattern
from graphtide_core.functions import FUNCTIONS
from graphtide_core.ids import EdgeId, PatternName, StreamName, VertexId
from graphtide_core.pattern import Morphism, QueryEdge, QueryVertex, Report, SubgraphPattern
from graphtide_core.record_expression import FieldPath
from graphtide_core.returns import Field, Returns
from graphtide_core.time import Duration, EventTime
from graphtide_query import parse
from graphtide_query.language.expression_printer import write_conditions
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.oracles.predicates import edge_attribute, evaluate
from graphtide_testing.strategies.record_expressions import RECORD_EXPRESSIONS, flat_records
from hypothesis import HealthCheck, assume, given, settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.edge import Value
    from graphtide_core.record_expression import RecordExpression

quickly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

NIGHT = 1_706_659_200_000 + 23 * 3_600_000
"""2024-01-31T23:00:00Z."""


def over(variable: str, expression: RecordExpression) -> p.Expression:
    """Return an expression over a record as one over the attributes of a part of a pattern."""
    match expression:
        case FieldPath((str(name),)):
            return p.Attribute(variable, name)
        case FieldPath() | p.Literal():
            assert isinstance(expression, p.Literal)
            return expression
        case _:
            return p.map_operands(expression, lambda operand: over(variable, operand))


def edge(number: int, label: str, attributes: Mapping[str, Value], source: str = "10.0.0.7", target: str = "8.8.8.8") -> Edge:
    return Edge(EdgeId(f"e{number}"), EventTime(number), VertexId(source), VertexId(target), label, attributes=dict(attributes))


def subgraph(
    predicate: p.Expression, morphism: Morphism = Morphism.ISOMORPHISM, returns: Returns | None = None
) -> SubgraphPattern:
    return SubgraphPattern(
        name=PatternName("p"),
        vertices=(QueryVertex("v"), QueryVertex("w")),
        edges=(QueryEdge("a", "v", "w", "k"),),
        window=Duration(5),
        stream=StreamName("s"),
        predicates=p.conjuncts(predicate),
        morphism=morphism,
        report=Report.MAXIMAL if morphism is Morphism.DUAL_SIMULATION else Report.ALL,
        returns=returns,
    )


def value(expression: p.Expression, data: Edge) -> Value:
    return evaluate(expression, lambda read: edge_attribute(data, read.name))


@quickly
@given(RECORD_EXPRESSIONS, flat_records())
def test_a_field_has_the_value_of_the_oracle(expression: RecordExpression, record: dict[str, Value]) -> None:
    data, read = edge(0, "k", record), over("a", expression)
    feed = Feed(plan(subgraph(p.Literal(value=True), returns=Returns((Field("f", read),))), "timing"), deletions=False)
    (found,) = feed.matches(data)
    wanted = value(read, data)
    assert (repr(found.fields["f"]), type(found.fields["f"])) == (repr(wanted), type(wanted))


@pytest.mark.parametrize(
    ("engine", "morphism"),
    [
        ("timing", Morphism.ISOMORPHISM),
        ("re-search", Morphism.EDGE_ISOMORPHISM),
        ("ddst-coloring", Morphism.DUAL_SIMULATION),
    ],
)
@quickly
@given(RECORD_EXPRESSIONS, flat_records())
def test_a_condition_on_an_edge_holds_as_in_the_oracle(
    engine: str, morphism: Morphism, expression: RecordExpression, record: dict[str, Value]
) -> None:
    data, read = edge(0, "k", record), over("a", expression)
    for condition in (read, p.IsNull(read), p.Compare(p.Comparison.LESS, read, p.Attribute("a", "i"))):
        feed = Feed(plan(subgraph(condition, morphism), engine), deletions=False)
        assert len(feed.matches(data)) == (value(condition, data) is True)


@quickly
@given(RECORD_EXPRESSIONS, flat_records(), flat_records())
def test_a_condition_on_two_events_holds_as_in_the_oracle(
    expression: RecordExpression, one: dict[str, Value], other: dict[str, Value]
) -> None:
    first, second = edge(0, "k", one), edge(1, "l", other)
    sides = over("a", expression), over("b", expression)
    for comparison in (p.Comparison.EQUAL, p.Comparison.LESS_OR_EQUAL):
        condition = p.Compare(comparison, *sides)
        pattern = EventPattern(
            PatternName("p"),
            Seq((QueryEvent("a", "k"), QueryEvent("b", "l"))),
            Duration(9),
            StreamName("s"),
            predicates=(condition,),
            returns=Returns((Field("f", sides[0]),)),
        )
        found = Feed(plan(pattern, "aggregation"), deletions=False).matches(first, second)
        holds = evaluate(condition, lambda read: edge_attribute(first if read.variable == "a" else second, read.name))
        assert [repr(each.fields["f"]) for each in found] == [repr(value(sides[0], first))] * (holds is True)


@quickly
@given(RECORD_EXPRESSIONS, flat_records())
def test_a_condition_of_a_graph_query_holds_as_in_the_oracle(expression: RecordExpression, record: dict[str, Value]) -> None:
    data, read = edge(0, "k", record), over("e", expression)
    assume(p.variables(read))
    text = f"QUERY q CONSTRUCT (u)-[:r]->(v) MATCH (u)-[e:k]->(v) ON s WINDOW(9) WHERE {write_conditions((read,))}"
    assert found_by(text, "s-path", data) == (value(read, data) is True)


def found_by(text: str, engine: str, *edges: Edge) -> int:
    (pattern,) = parse(text)
    return len(Feed(plan(pattern, engine), deletions=False).matches(*edges))


def test_functions_read_ids_of_vertices_and_edges_times_and_labels() -> None:
    data = edge(NIGHT, "k", {})
    for condition in (
        "is_private_ip(v.id) AND NOT is_private_ip(w.id)",
        "cidr_contains('10.0.0.0/8', a.src)",
        "NOT cidr_contains('10.0.0.0/8', a.dst)",
        "upper(a.label) = 'K'",
        f"length(a.id) = {len(str(data.id))}",
        "date_part('hour', a.ts) = 23",
        "date_part('day', a.ts, 'Europe/Berlin') = 1",
        "coalesce(a.nothing, lower('NONE')) = 'none'",
    ):
        for engine in ("timing", "re-search"):
            assert found_by(f"PATTERN p MATCH (v)-[a]->(w) WHERE {condition} ON s WINDOW 9", engine, data) == 1, condition
            assert found_by(f"PATTERN p MATCH (v)-[a]->(w) WHERE NOT ({condition}) ON s WINDOW 9", engine, data) == 0


def test_ids_that_are_numbers_are_texts_to_functions() -> None:
    data = edge(1, "k", {}, "100", "2")
    assert found_by(
        "PATTERN p MATCH (v)-[a]->(w) WHERE length(v.id) = 3 AND concat(w.id, 'x') = '2x' ON s WINDOW 9", "timing", data
    )


def test_a_condition_joins_two_edges_by_what_functions_return() -> None:
    edges = [
        edge(1, "k", {"user": "Ann", "n": 10}, "1", "2"),
        edge(2, "k", {"user": "aNN", "n": 12}, "2", "3"),
        edge(3, "k", {"user": "Bob", "n": 90}, "2", "4"),
        edge(4, "k", {"n": 11}, "2", "5"),
    ]
    text = "PATTERN p MATCH (u)-[x:k]->(v)-[y:k]->(w) WHERE lower(x.user) = lower(y.user) AND abs(x.n - y.n) < 5 ON s WINDOW 99"
    for engine in ("timing", "re-search", "sj-tree", "filtering"):
        assert found_by(text, engine, *edges) == 1, engine
    text = "PATTERN p SEQ(x:k, y:k) WHERE lower(x.user) = lower(y.user) AND abs(x.n - y.n) < 5 ON s WITHIN 99"
    assert found_by(text, "aggregation", *edges) == 1


def test_functions_of_values_take_functions_of_lists() -> None:
    edges = [edge(number, "k", {"n": number + 0.4}) for number in range(1, 4)]
    text = "PATTERN p SEQ(x:k{3}) WHERE round(avg(x.n)) = 2 AND greatest(min(x.n), max(x.n)) > 3 ON s WITHIN 99"
    assert found_by(text, "aggregation", *edges) == 1
    text = "PATTERN p SEQ(x:k{3}) WHERE round(x.n) < 3 ON s WITHIN 99"
    assert found_by(text, "aggregation", *edges) == 0


def test_an_expression_may_be_as_deep_as_the_language_allows() -> None:
    deep = "trim(" * 190 + "a.user" + ")" * 190
    signs = "-" * 180 + "a.n"
    data = edge(1, "k", {"user": " x ", "n": 1})
    assert found_by(f"PATTERN p MATCH (v)-[a]->(w) WHERE {deep} = 'x' ON s WINDOW 9", "timing", data) == 1
    assert found_by(f"PATTERN p MATCH (v)-[a]->(w) WHERE abs({signs}) = 1 ON s WINDOW 9", "timing", data) == 1


def test_every_function_is_known_natively() -> None:
    data = edge(1, "k", {"t": "a"})
    arguments = {
        "substring": "a.t, 0",
        "split": "a.t, ',', 0",
        "replace": "a.t, 'b', 'c'",
        "regexp_extract": "a.t, 'a'",
        "date_part": "'year', a.ts",
        "cidr_contains": "'::/0', a.t",
    }
    for name in FUNCTIONS:
        text = f"PATTERN p MATCH (v)-[a]->(w) WHERE {name}({arguments.get(name, 'a.t')}) IS NULL OR TRUE ON s WINDOW 9"
        assert found_by(text, "timing", data) == 1, name
