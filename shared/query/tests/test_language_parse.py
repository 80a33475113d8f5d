"""What a text means: whole patterns from whole texts."""

from __future__ import annotations

from pathlib import Path

import graphtide_query
import pytest
from graphtide_core.errors import Location
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import Morphism, QueryEdge, QueryVertex, Report, SubgraphPattern
from graphtide_core.predicate import Attribute, Compare, Comparison, Expression, In, Literal, Negate, Negation
from graphtide_core.time import Duration
from graphtide_core.window import EdgeCount

VALID = Path(__file__).parent / "fixtures" / "valid"


def parse_one(text: str) -> SubgraphPattern:
    (pattern,) = graphtide_query.parse_subgraphs(text)
    return pattern


def graph_of(match: str) -> tuple[list[str], list[str]]:
    """Return the vertices as `name:label=key` and the edges as `name:label source>target`."""
    pattern = parse_one(f"PATTERN p MATCH {match} ON s WINDOW 1")
    vertices = [f"{v.name}:{v.label or ''}={v.key or ''}" for v in pattern.vertices]
    return vertices, [f"{e.name}:{e.label or ''} {e.source}>{e.target}" for e in pattern.edges]


def condition(text: str) -> tuple[Expression, ...]:
    return parse_one(f"PATTERN p MATCH (v)-[a]->(w) WHERE {text} ON s WINDOW 1").predicates


def test_the_example_of_the_architecture() -> None:
    assert parse_one((VALID / "exfiltration.gtp").read_text(encoding="utf-8")) == SubgraphPattern(
        name="exfiltration",  # type: ignore[arg-type]  # the words of the text, without their wrappers
        vertices=(QueryVertex("v", "ip"), QueryVertex("w", "ip"), QueryVertex("s", "ip")),
        edges=(
            QueryEdge("a", "v", "w", "http"),
            QueryEdge("b", "w", "v", "http"),
            QueryEdge("c", "v", "s", "tcp"),
            QueryEdge("d", "s", "v", "tcp"),
            QueryEdge("e", "v", "s", "tcp"),
        ),
        window=Duration(10, "m"),
        stream="flows",  # type: ignore[arg-type]  # as above
        order=TimingOrder.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]),
        predicates=(Compare(Comparison.GREATER, Attribute("e", "bytes"), Literal(1_000_000)),),
    )


@pytest.mark.parametrize("path", sorted(VALID.glob("*.gtp")), ids=lambda path: path.stem)
def test_valid_files_are_read_and_printed(path: Path) -> None:
    patterns = graphtide_query.parse(path.read_text(encoding="utf-8"))
    printed = "\n".join(map(graphtide_query.print_pattern, patterns))
    assert printed == path.with_suffix(".txt").read_text(encoding="utf-8")
    assert graphtide_query.parse(printed) == patterns


@pytest.mark.parametrize(
    ("written", "printed"), [("500 EDGES", "500 EDGES"), ("1 edge", "1 EDGE"), ("1 EDGES", "1 EDGE"), ("2edges", "2 EDGES")]
)
def test_a_window_may_count_edges(written: str, printed: str) -> None:
    pattern = parse_one(f"PATTERN p MATCH (v)-[a]->(w) ON s WINDOW {written} UNDER EDGE ISOMORPHISM")
    assert pattern.window == EdgeCount(int(printed.rpartition(" ")[0]))
    assert graphtide_query.print_pattern(pattern).endswith(f" WINDOW {printed}\n")


def test_names_are_plain_strings() -> None:
    pattern = parse_one("PATTERN p MATCH (v:x)-[a:y {k: 'z'}]->(w) ON s WINDOW 1m")
    names = [pattern.name, pattern.stream, pattern.edges[0].name, pattern.edges[0].label, pattern.vertices[0].label]
    assert {type(name) for name in [*names, pattern.duration.unit]} == {str}


def test_chains_run_both_ways() -> None:
    vertices, edges = graph_of('(v:ip)-[a:http]->(w:ip)<-[b]-(x {id: "10.0.0.7"})-->(y)<--(v)')
    assert vertices == ["v:ip=", "w:ip=", "x:=10.0.0.7", "y:="]
    assert edges == ["a:http v>w", "b: x>w", "e1: x>y", "e2: v>y"]


def test_spaces_may_stand_inside_arrows() -> None:
    assert graph_of("( v ) - [ a ] -> ( w ) < - [b]-(x)<- -(y)- ->(v)".replace("< -", "<-")) == graph_of(
        "(v)-[a]->(w)<-[b]-(x)<--(y)-->(v)"
    )


def test_unnamed_parts_skip_the_names_the_user_gave() -> None:
    vertices, edges = graph_of("()-->(v2)-[e2]->()-[:t]->(e1)-[]->()")
    assert vertices == ["v1:=", "v2:=", "v3:=", "e1:=", "v4:="]
    assert edges == ["e3: v1>v2", "e2: v2>v3", "e4:t v3>e1", "e5: e1>v4"]


def test_conditions_may_speak_of_generated_names() -> None:
    pattern = parse_one("PATTERN p MATCH (v)-->(w)-->(x) WHERE e1.n = e2.n ORDER e1 < e2 ON s WINDOW 1")
    assert pattern.order.precedes("e1", "e2")


def test_labels_and_ids_may_stand_at_any_mention() -> None:
    vertices, _ = graph_of("(v)-->(w:ip), (v:ip {id: -7})-->(w), (w:ip)-->(v {id: '-7'})")
    assert vertices == ["v:ip=-7", "w:ip="]


def test_a_vertex_may_be_mentioned_alone() -> None:
    vertices, edges = graph_of("(w:ip), (v)-->(w)")
    assert (vertices, edges) == (["w:ip=", "v:="], ["e1: v>w"])


def test_braces_of_an_edge_are_equalities_before_where() -> None:
    braces = parse_one("PATTERN p MATCH (v)-[a {x: 22, y: -1.5, `z z`: TRUE}]->(w) WHERE a.t <> '' ON s WINDOW 1")
    spelled = condition("a.x = 22 AND a.y = -1.5 AND a.`z z` = TRUE AND a.t <> ''")
    assert braces.predicates == spelled


def test_empty_braces_say_nothing() -> None:
    assert graph_of("(v {})-[a {}]->(w)") == graph_of("(v)-[a]->(w)")


def test_attributes_know_their_place() -> None:
    (predicate,) = condition("\n  a.x = 1")
    assert isinstance(predicate, Compare)
    assert isinstance(predicate.left, Attribute)
    assert predicate.left.location == Location(2, 3)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a.x = 1 OR a.y = 2 AND NOT a.z = 3", "(a.x = 1) OR ((a.y = 2) AND (NOT (a.z = 3)))"),
        ("a.x + 2 * a.y - 3 < 4 % 5 / 6", "((a.x + (2 * a.y)) - 3) < ((4 % 5) / 6)"),
        ("NOT a.x IN (1, 2)", "a.x NOT IN [1, 2]"),
        ("NOT a.x IS NULL", "a.x IS NOT NULL"),
        ("a.x != 'it\\'s'", 'a.x <> "it\'s"'),
        ("a.x = '\\u00e9\\uD83D\\uDE00\\t\\r\\n\\\\\\\"'", "a.x = 'é😀\\t\\r\\n\\\\\"'"),
        ("a.x<-5", "a.x < -5"),
        ("a.x--5 = 0", "a.x - -5 = 0"),
        ("--5 < a.x", "5 < a.x"),
        ("A.x = 1 // of A\n AND # and\n a.`y` /* not\n z */ = 2".replace("A.x", "a.x"), "a.x = 1 and a.y = 2"),
    ],
)
def test_two_spellings_of_one_condition(text: str, same: str) -> None:
    assert condition(text) == condition(same)


def test_signs_belong_to_the_numbers_they_touch() -> None:
    assert condition("-5 IN [-5, - 1.5]") == (In(Literal(-5), (-5, -1.5)),)
    assert condition("-(5)") == (Negate(Literal(5)),)
    assert condition("-TRUE") == (Negate(Literal(value=True)),)
    assert condition("a.x = -9223372036854775808") == (Compare(Comparison.EQUAL, Attribute("a", "x"), Literal(-(2**63))),)


def test_constant_conditions_are_kept() -> None:
    assert condition("TRUE AND (FALSE AND NOT NULL)") == (Literal(value=True), Literal(value=False), Negation(Literal(None)))


@pytest.mark.parametrize(
    ("clause", "morphism"),
    [
        ("", Morphism.ISOMORPHISM),
        ("UNDER ISOMORPHISM", Morphism.ISOMORPHISM),
        ("under edge isomorphism", Morphism.EDGE_ISOMORPHISM),
        ("UNDER DUAL SIMULATION", Morphism.DUAL_SIMULATION),
    ],
)
def test_morphisms(clause: str, morphism: Morphism) -> None:
    assert parse_one(f"PATTERN p MATCH (v)-->(w) {clause} ON s WINDOW 1").morphism is morphism


@pytest.mark.parametrize(
    ("clauses", "report"),
    [
        ("ON s WINDOW 1", Report.ALL),
        ("REPORT ALL UNDER ISOMORPHISM ON s WINDOW 1", Report.ALL),
        ("UNDER DUAL SIMULATION ON s WINDOW 1", Report.MAXIMAL),
        ("UNDER DUAL SIMULATION REPORT maximal ON s WINDOW 1", Report.MAXIMAL),
        ("REPORT INSTANCES ON s WINDOW 1 UNDER DUAL SIMULATION", Report.INSTANCES),
        ("ON report WINDOW 1 UNDER DUAL SIMULATION REPORT CHANGES", Report.CHANGES),
    ],
)
def test_what_is_reported(clauses: str, report: Report) -> None:
    assert parse_one(f"PATTERN p MATCH (v)-->(w) {clauses}").report is report


def test_one_edge_may_stand_for_several() -> None:
    written = parse_one(
        "PATTERN p MATCH (v)-[e:call *3 {x: 1}]->(w)<-[*2]-(u)-[f]->(v) WHERE e.y > f.y AND u.id = '7' ORDER e < f, e_2 < e_3"
        " ON s WINDOW 1"
    )
    plain = parse_one(
        "PATTERN p MATCH (v)-[e_1:call {x: 1}]->(w), (v)-[e_2:call {x: 1}]->(w), (v)-[e_3:call {x: 1}]->(w), (u)-[e1]->(w),"
        " (u)-[e2]->(w), (u)-[f]->(v) WHERE e_1.y > f.y AND e_2.y > f.y AND e_3.y > f.y AND u.id = '7'"
        " ORDER e_1 < f, e_2 < e_3 < f ON s WINDOW 1"
    )
    assert written == plain


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("10m", Duration(10, "m")),
        ("10 m", Duration(10, "m")),
        ("500ms", Duration(500, "ms")),
        ("7", Duration(7)),
        ("2`w`", Duration(2, "w")),
    ],
)
def test_windows(text: str, window: Duration) -> None:
    assert parse_one(f"PATTERN p MATCH (v)-->(w) ON s WINDOW {text}").window == window
    assert parse_one(f"PATTERN p MATCH (v)-->(w) WINDOW {text} ON s").window == window


def test_a_byte_order_mark_is_space() -> None:
    assert parse_one("\ufeffPATTERN p MATCH (v)-->(w)\r\nON s WINDOW 1\r\n").name == "p"


def test_several_patterns_come_in_their_order() -> None:
    text = "".join(f"PATTERN {name} MATCH (v)-->(w) ON s WINDOW 1 " for name in "cab")
    assert [pattern.name for pattern in graphtide_query.parse(text)] == ["c", "a", "b"]


def test_exports() -> None:
    assert graphtide_query.__all__ == sorted(graphtide_query.__all__)
    assert all(hasattr(graphtide_query, name) for name in graphtide_query.__all__)
