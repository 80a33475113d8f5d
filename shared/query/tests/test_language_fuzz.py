"""Whatever the text, parsing gives patterns or `InvalidPatternError`, which can be rendered; what was read can be planned."""

from __future__ import annotations

from pathlib import Path

import graphtide_query
from graphtide_core.errors import InvalidPatternError
from graphtide_core.pattern import SubgraphPattern
from graphtide_query.canonical import canonical_edges
from graphtide_query.estimates.budget import PlanningBudget
from graphtide_query.explain import explain, to_text
from graphtide_query.families import AUTO
from graphtide_query.planner import plan
from graphtide_testing.hostile_texts import ANY_TEXTS, PROFILE, change_texts, check_refusal, fuzzed, join_tokens, some_tokens
from hypothesis import given, settings
from hypothesis import strategies as st

VALID = [path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "fixtures" / "valid").glob("*.gtp"))]
WORDS = (
    "PATTERN MATCH WHERE ORDER UNDER EDGE ISOMORPHISM ON WINDOW OR AND NOT IN STARTS WITH IS NULL TRUE FALSE DUAL SEQ "
    "WITHIN PARTITION BY SKIP TILL NEXT ANY RETURN AS REPORT DISTINCT EXISTS ONE PER EVERY TIMEOUT count first {2,5} "
    "DESCRIPTION SEVERITY high TAGS MESSAGE '{a.id}' '{{' "
    "QUERY GRAPH VIEW PATH CONSTRUCT SELECT OPTIONAL SLIDE NOW INTERNAL INPUT OUTPUT "
    "-/ /-> <-/ /- :- ~ ^ ^* ? a(x,y) r(x,y) :a ~r "
    "( ) [ ] { } , : . < <= > >= = <> != + - * / % -> <- --> <-- -[ ]-> <-[ ]- ; | & ! ` `` 'x' \"y\" ' \" \\ // # /* */ "
    "p a b v w id 0 7 1.5 1e9 1e999 10m 99999999999999999999 \\u0041 é \x00 \ufeff \ud800 \u2028 \n"
)
TOKENS = WORDS.split(" ")

LITTLE = PlanningBudget(search=1_000, most=2_000_000)
"""Work in which whatever these tests write is planned: a tenth of what a pattern may have."""


def refusal(text: str) -> InvalidPatternError | None:
    """Parse; return the error, or None after a round trip of what was read, and a plan for it."""
    try:
        patterns = graphtide_query.parse(text)
    except InvalidPatternError as error:
        return error
    for pattern in patterns:
        assert graphtide_query.parse(graphtide_query.print_pattern(pattern)) == (pattern,)
        if isinstance(pattern, SubgraphPattern):
            assert to_text([explain(plan(pattern, AUTO, budget=LITTLE))])
            assert canonical_edges(pattern)
    return None


def parse_anyhow(text: str) -> None:
    check_refusal(text, refusal(text))


@settings(fuzzed, max_examples=3 * fuzzed.max_examples)
@given(ANY_TEXTS | join_tokens(TOKENS) | change_texts(VALID, TOKENS))
def test_texts_like_patterns(text: str) -> None:
    parse_anyhow(text)


@fuzzed
@given(some_tokens(TOKENS))
def test_random_expressions(expression: str) -> None:
    parse_anyhow(f"PATTERN p MATCH (v)-[a]->(w) ON s WINDOW 1 WHERE a.x = {expression}")


@fuzzed
@given(some_tokens(TOKENS))
def test_random_parts_of_events(parts: str) -> None:
    parse_anyhow(f"PATTERN p SEQ(a:A+, b: {parts} ) ON s WITHIN 1")


@fuzzed
@given(some_tokens(TOKENS))
def test_random_path_expressions(path: str) -> None:
    parse_anyhow(f"SELECT v, w MATCH (v:V)-/ {path} /->(w:W) ON s WINDOW(1)")


@fuzzed
@given(some_tokens(TOKENS), some_tokens(TOKENS, 10))
def test_random_rules(body: str, clauses: str) -> None:
    parse_anyhow(f"r(x, y) <- a(x, y), {body} . ON s WINDOW(1) {clauses}")


@fuzzed
@given(some_tokens(TOKENS), some_tokens(TOKENS, 10))
def test_random_clauses_of_graph_queries(edges: str, clauses: str) -> None:
    parse_anyhow(f"CONSTRUCT (v)-[:r]->(w) MATCH (v)-[a:a]->(w) {edges} ON s WINDOW(1) {clauses}")


@st.composite
def write_text(draw: st.DrawFn) -> str:
    """A text that is mostly valid: a few vertices, up to 64 edges between them, conditions and chains of the order."""
    count = draw(st.integers(2, 64) | st.just(64))
    vertices = st.integers(0, draw(st.integers(0, count)))
    ends = draw(st.lists(st.tuples(vertices, vertices), min_size=count, max_size=count))
    labels = st.sampled_from(["", ":k", ":l", ":m"])
    edges = [f"(v{one})-[e{place}{draw(labels)}]->(v{two})" for place, (one, two) in enumerate(ends)]
    joined = [f"(v{place})-->(v{place + 1})" for place in range(draw(st.integers(0, 3)))]
    numbers = st.integers(0, count - 1)
    chains = draw(st.lists(st.lists(numbers, min_size=2, max_size=count, unique=True).map(sorted), max_size=3))
    order = ", ".join(" < ".join(f"e{place}" for place in chain) for chain in chains)
    compared = draw(st.lists(st.tuples(numbers, numbers, st.sampled_from(["=", "<", "<>"])), max_size=5))
    where = " AND ".join(f"e{one}.x {sign} e{two}.x" for one, two, sign in compared)
    text = f"PATTERN p MATCH {', '.join([*edges, *joined])} ON s WINDOW {draw(st.integers(1, 10**6))}"
    return text + (f" WHERE {where}" if where else "") + (f" ORDER {order}" if order else "")


@settings(fuzzed, max_examples=PROFILE.max_examples // 4)
@given(write_text())
def test_large_patterns(text: str) -> None:
    parse_anyhow(text)


def test_every_prefix_of_a_valid_text() -> None:
    for text in VALID:
        for end in range(len(text)):
            parse_anyhow(text[:end])
