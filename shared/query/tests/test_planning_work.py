"""No text of any family takes more work than planning may do, from the parser to EXPLAIN: it is planned, or refused."""

from __future__ import annotations

from functools import partial
from itertools import combinations, islice
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import CutShortError, InvalidPatternError, InvalidQueryError
from graphtide_core.graph_query import GraphQuery
from graphtide_core.plans import GraphPlan
from graphtide_core.time import TimeUnit
from graphtide_query import explain, parse
from graphtide_query.estimates.budget import PlanningBudget, PlanningBudgetError
from graphtide_query.families import PlannerOptions
from graphtide_query.families.algebra.derivation import cost_of, derive_with_alternatives
from graphtide_query.families.algebra.planning import choose_plan
from graphtide_query.planner import plan_all
from graphtide_testing.seeds import sample
from graphtide_testing.work import TooMuchWorkError, calls
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_CALLS = 25_000_000
"""Some seconds; honest patterns of a dozen parts take a twentieth of this."""

BEHIND = "ON s WINDOW(1h)"
PATH_LABELS = [f":a{number}" for number in range(60)]


def path(expression: str) -> str:
    return f"q(x, y) <- /{expression}/(x, y). {BEHIND}"


def chain_rules(first: str, step: str, rules: int) -> str:
    """Return rules `r0`, `r1`, … of which each reads the one before as `step` says."""
    later = " ".join(f"r{number}(x, y) <- {step.format(f'r{number - 1}')}." for number in range(1, rules))
    return f"r0(x, y) <- {first}. {later} {BEHIND}"


def edges(shape: Sequence[str], clauses: str = "") -> str:
    return f"PATTERN p MATCH {', '.join(shape)} {clauses} ON s WINDOW 1h"


def nest(levels: int, opening: str, innermost: str, closing: str) -> str:
    return opening * levels + innermost + closing * levels


SHAPES = {
    "star": [f"(h)-[e{number}:x]->(v{number})" for number in range(64)],
    "chain": [f"(v{number})-[e{number}:x]->(v{number + 1})" for number in range(64)],
    "clique": [f"(v{one})-[e{one}_{two}:x]->(v{two})" for one, two in islice(combinations(range(12), 2), 64)],
    "parallel": [f"(v)-[e{number}:x]->(w)" for number in range(64)],
}
ALTERNATIVES = ", ".join(f"OR({', '.join(f'x{place}_{number}: T{number}' for number in range(4))})" for place in range(4))

HOSTILE = {
    "optional parts": path(":a? " * 24 + ":b"),
    "optional parts of many labels": path(" ".join(f"{label}?" for label in PATH_LABELS) + " :b"),
    "nothing but optional parts": path(":a? " * 100),
    "closures of alternatives": path("(:a|:b)* " * 20 + ":c"),
    "closures in closures": path(nest(60, "(", ":a", " :b? :c)+")),
    "optional closures in each other": path(nest(45, "((", ":a", " :b?)* :c? | :d)*")),
    "automaton that determinism doubles": path("(:a|:b)* :a " + "(:a|:b) " * 100),
    "steps": path(":a " * 256),
    "steps of many labels": path(" ".join((PATH_LABELS * 5)[:256])),
    "alternatives that begin and end alike": path(" | ".join(f":b {label} :b" for label in PATH_LABELS)),
    "unfolded alternatives": path(" ".join(f"({label} | :b :c?)+" for label in PATH_LABELS)),
    "returned path": path(":a? " * 100 + ":b").replace("(x, y).", "(x, y) AS p.") + " RETURN p",
    "rules that double": chain_rules("a(x, y)", "{0}(x, z), {0}(z, y)", 12),
    "rules that double for ever": chain_rules("a(x, y)", "{0}(x, z), {0}(z, y)", 64),
    "rules that double in paths": chain_rules("a(x, y)", "/(:{0} :{0})+/(x, y)", 64),
    "rules with optional parts": chain_rules("a(x, y)", "/(:{0} :a?)+/(x, y)", 60),
    "rules behind each other": chain_rules("a(x, y)", "{0}(x, z), a(z, y)", 64),
    "rules of one head": " ".join(f"r(x, y) <- a{number}(x, z), b(z, y)." for number in range(60)) + BEHIND,
    "views of views": "".join(f"PATH p{n} = (a)-/{f'~p{n - 1} ~p{n - 1}' if n else ':x'}/->(b) " for n in range(40))
    + f"SELECT u, v MATCH (u)-/~p39/->(v) {BEHIND}",
    "joins": f"q(v0, v63) <- {', '.join(f'a(v{number}, v{number + 1})' for number in range(63))}. {BEHIND}",
    "joins of a star": f"q(h) <- {', '.join(f'a{number % 50}(h, v{number})' for number in range(63))}. {BEHIND}",
    "joins of paths": "q(v0, v9) <- "
    + ", ".join(f"/:a{one}? :b/(v{one}, v{two})" for one, two in islice(combinations(range(11), 2), 55))
    + f". {BEHIND}",
    "joins of a cycle": f"q(v0, v3) <- {', '.join(f'a{n}(v{n}, v{(n + 1) % 6})' for n in range(6))}. {BEHIND}",
    "conditions": "q(x, y) <- a(x, y), b(x, y) WHERE " + " AND ".join(f'x.id <> "{n}"' for n in range(400)) + f". {BEHIND}",
    "optional blocks": "SELECT u, v MATCH (u)-[:x]->(v) "
    + " ".join(f"OPTIONAL (u)-[:y{number}]->(w{number})" for number in range(40))
    + f" {BEHIND}",
    "branches": f"PATTERN p SEQ({ALTERNATIVES}) ON s WITHIN 1h",
    "too many branches": f"PATTERN p SEQ({ALTERNATIVES}, OR(y: Y, z: Z)) ON s WITHIN 1h",
    "events in a row": f"PATTERN p SEQ({', '.join(f'x{number}: T{number % 3}+' for number in range(64))}) ON s WITHIN 1h",
    "events in any order": f"PATTERN p AND({', '.join(f'x{number}: T{number}' for number in range(64))}) ON s WITHIN 1h",
    "events in each other": "PATTERN p "
    + "".join(f"{('SEQ', 'AND')[number % 2]}(a{number}: A, " for number in range(60))
    + "z: Z"
    + ")" * 60
    + " ON s WITHIN 1h",
    **{f"{name} of 64 edges": edges(shape) for name, shape in SHAPES.items()},
    **{f"{name} of 64 edges, simulated": edges(shape, "UNDER DUAL SIMULATION") for name, shape in SHAPES.items()},
    "star in order": edges(SHAPES["star"], "ORDER " + " < ".join(f"e{number}" for number in range(64))),
}


LIKE_OTHERS = (
    "optional parts of many labels",
    "nothing but optional parts",
    "closures of alternatives",
    "steps of many labels",
    "rules that double",
    "rules behind each other",
    "joins of a cycle",
    "branches",
    "star of 64 edges",
    "parallel of 64 edges",
    "parallel of 64 edges, simulated",
    "star of 64 edges, simulated",
)
"""Patterns that ask for the work of another one: every run tries some of them, and the long runs all."""


def plan(text: str) -> None:
    """Do all that planning does with a text: it is planned and explained, and what is sent of it is followed; or refused."""
    try:
        patterns = parse(text)
        plans = plan_all(patterns, PlannerOptions())
        for pattern in patterns:
            if isinstance(pattern, GraphQuery):
                sent = choose_plan(pattern, PlannerOptions())
                derive_with_alternatives(sent)
                cost_of(pattern, sent.physical, TimeUnit.MILLISECOND, None)
    except InvalidQueryError:
        return
    shown = list(map(explain.explain, plans))
    for write in (explain.to_text, explain.to_json, explain.to_dot):
        write(shown)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in LIKE_OTHERS])
def test_a_hostile_pattern_is_planned_in_bounded_work_or_refused(name: str) -> None:
    assert calls(lambda: plan(HOSTILE[name]), MOST_CALLS)


def test_hostile_patterns_like_those_are_planned_in_bounded_work_or_refused(subtests: pytest.Subtests) -> None:
    for name in sample(LIKE_OTHERS, 2):
        with subtests.test(name):
            assert calls(partial(plan, HOSTILE[name]), MOST_CALLS)


def expressions() -> st.SearchStrategy[str]:
    """Path expressions that grow wide and deep, with much that may be left out."""
    label = st.sampled_from([":a", ":b", ":c", "^:a", ":d"])

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        times = st.sampled_from(["", "", "?", "*", "+"])
        row = st.lists(inner, min_size=1, max_size=8).flatmap(
            lambda parts: st.sampled_from([" ", " | "]).map(lambda by: by.join(parts))
        )
        return st.tuples(row, times, st.integers(1, 6)).map(lambda drawn: f"({drawn[0]}){drawn[1]} " * drawn[2])

    return st.recursive(label, grown, max_leaves=40)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Rules that read each other more and more often."""
    rules, known = [], ["a", "b"]
    for number in range(draw(st.integers(1, 20))):
        atoms = draw(st.integers(1, 6))
        body = []
        for place in range(atoms):
            name = draw(st.sampled_from(known[-3:]))
            way = (
                f"/(:{name} {draw(st.sampled_from([':a?', ':b*', f':{name}', f':{name}?']))})+/"
                if draw(st.booleans())
                else name
            )
            body.append(f"{way}({'x' if place == 0 else f'v{place}'}, {'y' if place == atoms - 1 else f'v{place + 1}'})")
        rules.append(f"r{number}(x, y) <- {', '.join(body)}.")
        known.append(f"r{number}")
    return " ".join(rules) + f" {BEHIND}"


@st.composite
def event_texts(draw: st.DrawFn) -> str:
    """Events in a row, in any order and in branches of each other."""
    names = (f"x{number}" for number in range(10_000))

    def part(levels: int) -> str:
        if levels == 0 or draw(st.booleans()):
            return f"{next(names)}: {draw(st.sampled_from('ABC'))}{draw(st.sampled_from(['', '+', '{2,5}']))}"
        inner = ", ".join(part(levels - 1) for _ in range(draw(st.integers(2, 5))))
        return f"{draw(st.sampled_from(['SEQ', 'AND', 'OR']))}({inner})"

    return f"PATTERN p SEQ({', '.join(part(4) for _ in range(draw(st.integers(1, 4))))}) ON s WITHIN 1h"


@st.composite
def edge_texts(draw: st.DrawFn) -> str:
    """Up to 64 edges between few vertices or many, under either semantics, in some order."""
    count = draw(st.integers(2, 64) | st.just(64))
    vertices = st.integers(0, draw(st.integers(1, count)))
    shape = [f"(v0)-[e0]->(v{draw(vertices)})"]
    shape += [f"(v{draw(vertices)})-[e{place}:{draw(st.sampled_from('klm'))}]->(v0)" for place in range(1, count)]
    chain = draw(st.lists(st.integers(0, count - 1), unique=True, max_size=count).map(sorted))
    order = f"ORDER {' < '.join(f'e{place}' for place in chain)}" if len(chain) > 1 else ""
    return edges(shape, order + draw(st.sampled_from(["", " UNDER DUAL SIMULATION"])))


@pytest.mark.parametrize(
    "texts",
    [expressions().map(path), programs(), event_texts(), edge_texts()],
    ids=["path expressions", "rules", "events", "edges"],
)
def test_any_pattern_is_planned_in_bounded_work_or_refused(texts: st.SearchStrategy[str]) -> None:
    @settings(deadline=None, max_examples=max(5, settings().max_examples // 10))
    @given(texts)
    def holds(text: str) -> None:
        assert calls(lambda: plan(text), MOST_CALLS)

    holds()


def test_what_may_be_left_out_is_left_out_by_the_automaton() -> None:
    """What a plan has grows with the parts, not with the ways to leave some of them out."""
    sizes = []
    for parts in (12, 24):
        (plan,) = plan_all(parse(path(" ".join(f"{label}?" for label in PATH_LABELS[:parts]) + " :b")), PlannerOptions())
        assert isinstance(plan, GraphPlan)
        sizes.append(len(plan.physical.operators))
    assert sizes[1] <= 2 * sizes[0]


def test_rules_that_would_be_endless_are_refused_at_their_place() -> None:
    with pytest.raises(InvalidPatternError, match="if each was written out; 4,096 may be") as caught:
        parse(HOSTILE["rules that double for ever"])
    assert caught.value.location is not None
    assert "closure" in caught.value.hint


@pytest.mark.parametrize("name", ["optional parts", "rules that double", "star of 64 edges", "chain of 64 edges, simulated"])
def test_what_exceeds_the_budget_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(PlanningBudgetError, match=r"within its budget of 500 units of work; split it into patterns with fewer"):
        plan_all(parse(HOSTILE[name]), PlannerOptions(), budget=PlanningBudget(most=500))


@pytest.mark.parametrize("name", ["optional parts", "star of 64 edges", "chain of 64 edges, simulated"])
def test_planning_ends_where_nobody_waits_for_the_plan(name: str) -> None:
    looks: list[bool] = []

    def is_cancelled() -> bool:
        looks.append(len(looks) > 1)
        return looks[-1]

    with pytest.raises(CutShortError):
        plan_all(parse(HOSTILE[name]), PlannerOptions(), budget=PlanningBudget(is_cancelled=is_cancelled))
    assert looks == [False, False, True]


def test_work_that_is_endless_is_ended() -> None:
    with pytest.raises(TooMuchWorkError, match="more than 1,000"):
        calls(lambda: [abs(number) for number in iter(int, 1)], 1_000)
