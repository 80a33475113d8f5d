"""What the text of a streaming graph query means: whole queries from whole texts, in both forms."""

from __future__ import annotations

from pathlib import Path

import graphtide_query
import pytest
from graphtide_core.any_pattern import subgraphs_alone
from graphtide_core.errors import InvalidPatternError, Location
from graphtide_core.graph_query import GraphQuery, Input, Output
from graphtide_core.ids import PatternName, StreamName, VertexId
from graphtide_core.path_expression import (
    Alternation,
    Concatenation,
    Maybe,
    PathExpression,
    Plus,
    Star,
    Symbol,
    write_expression,
)
from graphtide_core.predicate import Attribute, Compare, Comparison, Disjunction, Expression, Literal, Negation, StartsWith
from graphtide_core.regular_rule import Atom, Constant, Rule, Term, Variable
from graphtide_core.stream_window import StreamWindow, WindowKind
from graphtide_core.time import Duration

VALID = Path(__file__).parent / "fixtures" / "valid"
ON = "ON s WINDOW(24h)"
DAY = StreamWindow(StreamName("s"), Duration(24, "h"))


def read(text: str) -> GraphQuery:
    (query,) = graphtide_query.parse(text)
    assert isinstance(query, GraphQuery)
    return query


def valid(name: str) -> GraphQuery:
    return read((VALID / f"{name}.gtp").read_text(encoding="utf-8"))


def end(text: str) -> Term:
    return Constant(VertexId(text[1:])) if text.startswith("=") else Variable(text)


def atom(relation: PathExpression | str, source: str, target: str, name: str | None = None) -> Atom:
    expression: PathExpression = Symbol(relation) if isinstance(relation, str) else relation
    return Atom(expression, end(source), end(target), name)


def plus(predicate: str) -> Plus:
    return Plus(Symbol(predicate))


def expression(text: str) -> PathExpression:
    """Return what stands between the slashes of a path, over predicates that are called as labels."""
    return read(f"SELECT u, v MATCH (u)-/{text}/->(v) {ON}").rules[0].body[0].expression


def is_id(vertex: str, key: str) -> Expression:
    return Compare(Comparison.EQUAL, Attribute(vertex, "id"), Literal(key))


def test_figure_6_is_example_2() -> None:
    window = StreamWindow(StreamName("social_stream"), Duration(24, "h"), Duration(1, "h"))
    labels = ("follows", "likes", "posts")
    assert valid("graph_figure_6") == GraphQuery(
        PatternName("notify"),
        tuple(Input(label, window, label) for label in labels),
        (
            Rule("RL", ("u1", "u2"), (atom(plus("follows"), "u1", "u2"), atom("likes", "u1", "m1"), atom("posts", "u2", "m1"))),
            Rule("notify", ("u", "m"), (atom(plus("RL"), "u", "v", "p"), atom("posts", "v", "m"))),
        ),
        (Output("notify", "notify", ("u", "m")),),
    )


def test_figure_7_is_example_4() -> None:
    social = StreamWindow(StreamName("social_stream"), Duration(24, "h"))
    purchases = StreamWindow(StreamName("tx_stream"), Duration(30, "d"), Duration(1, "d"))
    windows = {"follows": social, "purchase": purchases, "likes": social, "posts": social}
    assert valid("graph_figure_7") == GraphQuery(
        PatternName("rec_stream"),
        tuple(Input(label, window, label) for label, window in windows.items()),
        (
            Rule("recommendation", ("u1", "p"), (atom("follows", "u1", "u2"), atom("purchase", "u2", "p"))),
            Rule(
                "recommendation",
                ("u1", "p"),
                (atom("likes", "u1", "m"), atom("posts", "u2", "m"), atom("purchase", "u2", "p")),
            ),
        ),
        (Output("recommendation", "recommendation", ("u1", "p")),),
        is_view=True,
    )


def test_the_rules_of_example_2() -> None:
    rules = """
        RL(u1, u2) <- l(u1, m1), f+(u1, u2) as FP, p(u2, m1).
        Notify(u, m) <- RL+(u, v) as RLP, p(v, m).
        Answer(u, m) <- Notify(u, m).
        ON social WINDOW(24h)"""
    query = read(rules)
    assert [each.name for each in query.inputs] == ["l", "f", "p"]
    assert query.rules == (
        Rule("RL", ("u1", "u2"), (atom("l", "u1", "m1"), atom(plus("f"), "u1", "u2", "FP"), atom("p", "u2", "m1"))),
        Rule("Notify", ("u", "m"), (atom(plus("RL"), "u", "v", "RLP"), atom("p", "v", "m"))),
        Rule("Answer", ("u", "m"), (atom("Notify", "u", "m"),)),
    )
    assert (query.name, query.outputs) == ("Answer", (Output("Answer", "Answer", ("u", "m")),))


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Answer(x, y) <- a*(x, y).", "a+(x, y)"),
        ("Answer(x, y) <- /:a :b*/(x, y).", "/:a :b*/(x, y)"),
        ("Answer(x, y) <- /:a :b* :c*/(x, y).", "/:a :b* :c*/(x, y)"),
        ("Answer(x, y) <- /(:a :b :c)+/(x, y).", "/(:a :b :c)+/(x, y)"),
        ("RR(m1, m2) <- a(x, y), b(m1, x), b(m2, y), c(m2, m1).", "a(x, y), b(m1, x), b(m2, y), c(m2, m1)"),
        ("RL(x, y) <- a+(x, y), b(x, m), c(m, y).", "a+(x, y), b(x, m), c(m, y)"),
        ("RL(x, y) <- a+(x, y), b(x, m), c(m, y). Ans(x, m) <- RL+(x, y), c(m, y).", "RL+(x, y), c(m, y)"),
    ],
)
def test_the_queries_of_table_1(query: str, answer: str) -> None:
    printed = graphtide_query.print_pattern(read(f"{query} ON s WINDOW(30d) SLIDE(1d)"))
    assert printed.splitlines()[-2].partition(" <- ")[2] == f"{answer}."


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (":a", Symbol("a")),
        ("^:a", Symbol("a", is_inverse=True)),
        (":a-", Symbol("a", is_inverse=True)),
        ("^:a-", Symbol("a")),
        ("<:a^*>", plus("a")),
        ("<:a*>", plus("a")),
        ("p<:a ^+>", plus("a")),
        (":a?", Symbol("a")),
        ("(:a*)*", plus("a")),
        (":a? | :b*", Alternation((Symbol("a"), plus("b")))),
        (":a | :a", Symbol("a")),
        (":a :b* | :c?", Alternation((Concatenation((Symbol("a"), Star(Symbol("b")))), Symbol("c")))),
        (":a (:b | :c)?", Concatenation((Symbol("a"), Maybe(Alternation((Symbol("b"), Symbol("c"))))))),
        ("(:a :b) :c", Concatenation((Symbol("a"), Symbol("b"), Symbol("c")))),
        (":a* :b*", Concatenation((Star(Symbol("a")), Star(Symbol("b"))))),
        ("^(:a :b-)+", Plus(Concatenation((Symbol("b"), Symbol("a", is_inverse=True))))),
    ],
)
def test_path_expressions(text: str, meaning: PathExpression) -> None:
    assert expression(text) == meaning


def test_arrows_say_where_edges_and_paths_lead() -> None:
    text = f"SELECT u, z MATCH (u)-[:a]->(v)<-[:b]-(w)-/:c+/->(x)<-/:d :e/-(y), (y)-->(z) {ON}"
    assert read(text).rules[0].body == (
        atom("a", "u", "v"),
        atom("b", "w", "v"),
        atom(plus("c"), "w", "x"),
        atom(Concatenation((Symbol("d"), Symbol("e"))), "y", "x"),
        atom("edges", "y", "z"),
    )


@pytest.mark.parametrize(
    ("window", "meaning"),
    [
        ("WINDOW(24h)", DAY),
        ("WINDOW(24 hours) INTERNAL", StreamWindow(DAY.stream, DAY.length, None, WindowKind.INTERNAL)),
        ("WINDOW(1 day) SLIDE(10 Minutes)", StreamWindow(DAY.stream, Duration(1, "d"), Duration(10, "m"))),
        ("WINDOW(30 days) SLIDE(1 week)", StreamWindow(DAY.stream, Duration(30, "d"), Duration(1, "w"))),
        ("WINDOW(500 milliseconds) SLIDE(2 us)", StreamWindow(DAY.stream, Duration(500, "ms"), Duration(2, "us"))),
        ("WINDOW(7)", StreamWindow(DAY.stream, Duration(7))),
        ("WINDOW(NOW)", StreamWindow(DAY.stream, Duration(1), None, WindowKind.NOW)),
    ],
)
def test_windows(window: str, meaning: StreamWindow) -> None:
    assert read(f"SELECT u, v MATCH (u)-[:a]->(v) ON s {window}").inputs[0].window == meaning
    query = read(f"a_(x, y) <- a(x, y). ON s {window}")
    assert query.inputs[0].window == meaning
    assert query.inputs[0].window.location == Location(1, 22, 4)


def test_a_path_takes_the_window_of_what_uses_it_unless_it_has_one() -> None:
    query = read("""
        PATH far = (x)-/~near :b/->(y)
        PATH near = (x)-[:a]->(y)
        PATH own = (x)-[:a]->(y) ON s WINDOW(1h)
        SELECT u, w MATCH (u)-/~far/->(v)-/~own+/->(w) ON s WINDOW(24h)""")
    hour = StreamWindow(DAY.stream, Duration(1, "h"))
    assert query.inputs == (Input("a", DAY, "a"), Input("b", DAY, "b"), Input("a_2", hour, "a"))
    assert [(rule.head, write_expression(rule.body[0].expression)) for rule in query.rules] == [
        ("near", ":a"),
        ("far", ":near :b"),
        ("own", ":a_2"),
        ("Answer", ":far"),
    ]


def test_a_path_leads_from_the_start_of_its_first_chain_to_its_end() -> None:
    query = read(f"PATH p = ()-[:a]->(x)<-[:b]-(v1), (x)-[:c]->(z) WHERE z.id = 'k' SELECT u, v MATCH (u)-/~p/->(v) {ON}")
    assert query.rules[0] == Rule("p", ("v2", "v1"), (atom("a", "v2", "x"), atom("b", "v1", "x"), atom("c", "x", "=k")))


def test_conditions_on_an_edge_are_those_of_its_input() -> None:
    query = read(
        f"SELECT u, v MATCH (u)-[e:pays {{currency: 'EUR'}}]->(v)-[f:pays]->(u) {ON} WHERE e.amount > 5 AND (5 < f.ts)"
    )
    euros: Expression = Compare(Comparison.EQUAL, Attribute("e", "currency"), Literal("EUR"))
    many: Expression = Compare(Comparison.GREATER, Attribute("e", "amount"), Literal(5))
    late: Expression = Compare(Comparison.LESS, Literal(5), Attribute("e", "ts"))
    assert query.inputs == (
        Input("pays", DAY, "pays", conditions=(euros, many)),
        Input("pays_2", DAY, "pays", conditions=(late,)),
    )


def test_equal_constants_of_different_kinds_are_different_conditions() -> None:
    query = read(f"SELECT u, v MATCH (u)-[:pays {{x: 1}}]->(v)-[:pays {{x: TRUE}}]->(u), (u)-[:pays {{x: 1}}]->(u) {ON}")
    assert [each.name for each in query.inputs] == ["pays", "pays_2"]
    assert [write_expression(each.expression) for each in query.rules[0].body] == [":pays", ":pays_2", ":pays"]


@pytest.mark.parametrize("condition", ["u = c", "(u) = (c)", "((u)) = c", "u.id = c.id", "(c = u)"])
def test_vertices_that_are_equal_are_one(condition: str) -> None:
    query = read(f"SELECT u, c MATCH (u)-[:a]->(v) {ON} MATCH (c)-[:b]->(w) {ON} WHERE {condition}")
    assert query.rules == (Rule("Answer", ("u", "u"), (atom("a", "u", "v"), atom("b", "u", "w"))),)
    assert query.outputs[0].columns == ("u", "c")


@pytest.mark.parametrize("stated", ["(w {id: 'k'})", "(w)"])
def test_a_vertex_with_an_id_is_a_constant_where_it_joins_nothing(stated: str) -> None:
    where = "" if "{" in stated else "WHERE 'k' = w.id"
    query = read(f"SELECT u, v MATCH (u)-[:a]->(v)-[:b]->{stated} {ON} {where}")
    assert query.rules == (Rule("Answer", ("u", "v"), (atom("a", "u", "v"), atom("b", "v", "=k"))),)
    query = read(f"SELECT u, v MATCH (u)-[:a]->{stated}-[:b]->(v) {ON} {where}")
    assert query.rules == (Rule("Answer", ("u", "v"), (atom("a", "u", "w"), atom("b", "w", "v")), (is_id("w", "k"),)),)
    query = read(f"SELECT u, w MATCH (u)-[:a]->{stated} {ON} {where}")
    assert query.rules == (Rule("Answer", ("u", "w"), (atom("a", "u", "w"),), (is_id("w", "k"),)),)


def test_conditions_on_ids_are_those_of_the_rule() -> None:
    query = read(f"SELECT u, v MATCH (u)-[:a]->(v) {ON} WHERE u.id STARTS WITH '10.' AND NOT (u.id = v.id OR FALSE)")
    same = Compare(Comparison.EQUAL, Attribute("u", "id"), Attribute("v", "id"))
    assert query.rules[0].conditions == (StartsWith(Attribute("u", "id"), "10."), Negation(Disjunction((same, Literal(False)))))


def test_a_label_of_a_vertex_holds_on_every_edge_there() -> None:
    query = read(f"SELECT u, v MATCH (u:person)-[:a]->(v), (v)-[:b]->(u) {ON}")
    assert query.inputs == (Input("a", DAY, "a", "person"), Input("b", DAY, "b", None, "person"))


@pytest.mark.parametrize(
    ("path", "meaning", "inputs"),
    [
        ("(u:P)-/:a/->(v)", ":a", {"a": ("P", None)}),
        ("(u)-/:a/->(v:P)", ":a", {"a": (None, "P")}),
        ("(u:P)-/^:a/->(v:Q)", "^:a", {"a": ("Q", "P")}),
        ("(u:P)-/:a+/->(v)", ":a :a_2*", {"a": ("P", None), "a_2": (None, None)}),
        ("(u)-/:a+/->(v:P)", ":a* :a_2", {"a": (None, None), "a_2": (None, "P")}),
        (
            "(u:P)-/:a+/->(v:Q)",
            ":a :a_2* :a_3 | :a_4",
            {"a": ("P", None), "a_2": (None, None), "a_3": (None, "Q"), "a_4": ("P", "Q")},
        ),
        ("(u:P)-/:a :b*/->(v)", ":a :b*", {"a": ("P", None), "b": (None, None)}),
        ("(u:P)-/:a? :b/->(v)", ":a :b | :b_2", {"a": ("P", None), "b": (None, None), "b_2": ("P", None)}),
    ],
)
def test_a_label_at_the_end_of_a_path_holds_on_its_last_edge(
    path: str, meaning: str, inputs: dict[str, tuple[str | None, str | None]]
) -> None:
    query = read(f"SELECT u, v MATCH {path} {ON}")
    assert write_expression(query.rules[0].body[0].expression) == meaning
    assert {each.name: (each.source_label, each.target_label) for each in query.inputs} == inputs


def test_an_option_is_a_branch_and_the_mandatory_part_is_one() -> None:
    query = read(f"""
        CONSTRUCT (u)-[:r]->(v)
        MATCH (u)-[:a]->(v)
        OPTIONAL (v)-[:b]->(w)
        OPTIONAL (u:person)-[:c]->(w)
        {ON}""")
    assert [rule.body for rule in query.rules] == [
        (atom("a", "u", "v"), atom("b", "v", "w")),
        (atom("a_2", "u", "v"), atom("c", "u", "w")),
        (atom("a", "u", "v"),),
    ]


def test_a_branch_without_what_is_used_is_left_out() -> None:
    text = "CONSTRUCT (u)-[:r]->({}) MATCH (u)-[:a]->(v) OPTIONAL (v)-[e:b]->(w) OPTIONAL (v)-[:c]->(x) {} {}"
    assert len(read(text.format("v", ON, "")).rules) == 3
    assert len(read(text.format("w", ON, "")).rules) == 1
    assert len(read(text.format("v", ON, "WHERE e.n > 1")).rules) == 1
    assert len(read(text.format("v", ON, "WHERE x.id <> 'k'")).rules) == 1
    assert len(read(text.format("v", ON, "WHERE x = u")).rules) == 1


def test_several_constructed_edges_are_several_outputs() -> None:
    query = read(f"CONSTRUCT (u)-[:r]->(v)<-[:a]-(u), (u)-[:loop]->(u) MATCH (u)-/p<:a+>/->(v) {ON} RETURN p")
    assert query.outputs == (
        Output("r", "r", ("u", "v"), "p"),
        Output("a_2", "a", ("u", "v"), "p"),
        Output("loop", "loop", ("u", "u_2"), "p"),
    )
    assert [rule.columns for rule in query.rules] == [("u", "v"), ("u", "v"), ("u", "u")]


def test_selected_vertices_are_an_answer_of_any_arity() -> None:
    query = read(f"QUERY three SELECT w, u AS one, v MATCH (u)-[:a]->(v)-[:a]->(w) {ON}")
    assert query.name == "three"
    assert query.outputs == (Output("Answer", "Answer", ("w", "one", "v")),)
    assert query.rules[0].columns == ("w", "u", "v")
    assert read(f"SELECT u MATCH (u)-[:a]->() {ON}").outputs[0].columns == ("u",)


def test_rules_are_put_in_the_order_of_reading() -> None:
    query = read(f"Answer(x, y) <- b(x, y), c(x, y). c(x, y) <- d+(x, y). b(x, y) <- c(x, y). b(x, y) <- e(x, y). {ON}")
    assert [rule.head for rule in query.rules] == ["c", "b", "b", "Answer"]
    kept = read(f"b(x, y) <- e(x, y). c(x, y) <- e(x, y). b(x, y) <- f(x, y). Answer(x, y) <- b(x, y), c(x, y). {ON}")
    assert [rule.head for rule in kept.rules] == ["b", "c", "b", "Answer"]


def test_the_answer_is_called_so_or_is_the_last_rule() -> None:
    assert read(f"Answer(x) <- b(x, y). b(x, y) <- a(x, y). {ON}").outputs == (Output("Answer", "Answer", ("x",)),)
    assert read(f"c(x, y) <- a(x, y). b(x, z) <- c(x, z). {ON}").outputs == (Output("b", "b", ("x", "z")),)
    assert read(f"QUERY q b(x, x) <- a(x, x). {ON}").outputs == (Output("b", "b", ("x", "x_2")),)


def test_ends_of_atoms_are_variables_constants_or_nothing() -> None:
    body = read(f'r(x, v1) <- a(x, "ann"), a(x, -7), a(_, x), a(x, `_`), a(x, v1), a(_, x). {ON}').rules[0].body
    assert [(each.source, each.target) for each in body] == [
        (Variable("x"), Constant(VertexId("ann"))),
        (Variable("x"), Constant(VertexId("-7"))),
        (Variable("v2"), Variable("x")),
        (Variable("x"), Variable("_")),
        (Variable("x"), Variable("v1")),
        (Variable("v3"), Variable("x")),
    ]


def test_an_input_states_its_edges() -> None:
    query = read("""
        INPUT paid = (:shop)<-[p:pays {n: 1}]-(:person) ON bank WINDOW(1h) WHERE p.amount > 5 AND p.src <> p.dst
        INPUT any_edge = ()-->() ON other WINDOW(NOW)
        r(x, y) <- paid(x, y), any_edge(x, z), likes(x, y).
        ON s WINDOW(24h)""")
    one: Expression = Compare(Comparison.EQUAL, Attribute("e", "n"), Literal(1))
    many: Expression = Compare(Comparison.GREATER, Attribute("e", "amount"), Literal(5))
    apart: Expression = Compare(Comparison.NOT_EQUAL, Attribute("e", "src"), Attribute("e", "dst"))
    bank = StreamWindow(StreamName("bank"), Duration(1, "h"))
    assert query.inputs == (
        Input("paid", bank, "pays", "person", "shop", (one, many, apart)),
        Input("any_edge", StreamWindow(StreamName("other"), Duration(1), None, WindowKind.NOW), None),
        Input("likes", DAY, "likes"),
    )


def test_views_may_read_views() -> None:
    views = graphtide_query.parse("""
        GRAPH VIEW one AS (
            CONSTRUCT (u)-[:r]->(v) MATCH (u)-[:a]->(v) ON two WINDOW(1h) MATCH (u)-[:b]->(v) ON three WINDOW(1h) )
        GRAPH VIEW two AS ( r(x, y) <- a(x, y). ON three WINDOW(1h) )
        GRAPH VIEW three AS ( r(x, y) <- a(x, y). ON four WINDOW(1h) )
        QUERY four SELECT u, v MATCH (u)-[:r]->(v) ON one WINDOW(1h)""")
    assert [isinstance(each, GraphQuery) and each.is_view for each in views] == [True, True, True, False]


def test_what_answers_no_query_refuses_it_at_its_place() -> None:
    text = f"PATTERN p MATCH (a)-[e]->(b) ON s WINDOW 1\nQUERY q r(x, y) <- a(x, y).\n{ON}"
    with pytest.raises(InvalidPatternError, match="'q' is a streaming graph query") as caught:
        graphtide_query.parse_subgraphs(text)
    assert (caught.value.line, caught.value.source_line) == (3, ON)
    patterns = graphtide_query.parse(text)
    assert subgraphs_alone(patterns[:1]) == patterns[:1]
    with pytest.raises(InvalidPatternError, match="nothing answers it here"):
        subgraphs_alone(patterns)


def test_keywords_are_names_where_they_can_be() -> None:
    query = read(f"QUERY path CONSTRUCT (select)-[:view]->(match) MATCH (select)-/input<:path+>/->(match) {ON} RETURN input")
    assert (query.name, query.outputs) == ("path", (Output("view", "view", ("select", "match"), "input"),))
    query = read(f"`query`(now, window) <- optional+(now, window) AS path, match(now, slide). {ON}")
    assert (query.rules[0].head, [each.name for each in query.inputs]) == ("query", ["optional", "match"])
