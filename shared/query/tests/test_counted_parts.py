"""What was counted on a running plan corrects the estimates of the cost model."""

from __future__ import annotations

from itertools import combinations

import pytest
from graphtide_core.plans import CountedPart
from graphtide_core.statistics import EdgeType, StatisticsSnapshot
from graphtide_query import parse_subgraphs
from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.explain import explain, to_json, to_text, with_evidence
from graphtide_query.families import FAMILIES, PlannerOptions
from graphtide_query.families.family import PlanningContext
from graphtide_query.families.isomorphism.search_order import fan_outs, plan_search
from graphtide_query.planner import plan
from graphtide_testing.planner_world import even

(PATH,) = parse_subgraphs("PATTERN p MATCH (a)-[x:k]->(b)-[y:k]->(c)-[z:l]->(d) ORDER x < y ON s WINDOW 1s")
KNOWN = even()
PARTS = [part for size in (1, 2, 3) for part in combinations(range(3), size) if part != (0, 2)]


def model(*evidence: CountedPart) -> CostModel:
    return CostModel(PATH, KNOWN, PATH.extent(PlanningContext().unit), evidence=evidence)


def count_as(edges: str, times: float) -> CountedPart:
    """Return that a part was counted so many times as large as estimated."""
    estimated = model().partial_matches(["xyz".index(name) for name in edges])
    return CountedPart(tuple(edges), estimated, times * (estimated + 1) - 1)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("times", [0.001, 1.0, 50.0])
def test_a_counted_part_has_its_factor(part: tuple[int, ...], times: float) -> None:
    evidence = count_as("".join("xyz"[edge] for edge in part), times)
    before, after = model(), model(evidence)
    if len(part) == 1 and times * before.share(PATH.edges[part[0]]) > 1:
        assert after.share(PATH.edges[part[0]]) == 1.0, "more than all edges there cannot be"
        return
    assert after.partial_matches(part) == pytest.approx(times * before.partial_matches(part))


def test_larger_parts_have_the_factors_of_the_largest_counted_parts_in_them() -> None:
    before = model()
    of_pair = model(count_as("xy", 50.0))
    assert of_pair.partial_matches((0, 1, 2)) == pytest.approx(50 * before.partial_matches((0, 1, 2)))
    assert of_pair.partial_matches((1, 2)) == pytest.approx(before.partial_matches((1, 2)))
    # What single edges explain, their pair does not add.
    both = model(count_as("xy", 50.0), count_as("x", 0.5), count_as("z", 0.1))
    assert both.partial_matches((0, 1)) == pytest.approx(50 * before.partial_matches((0, 1)))
    assert both.partial_matches((0, 1, 2)) == pytest.approx(5 * before.partial_matches((0, 1, 2)))
    assert both.alive(0) == pytest.approx(0.5 * before.alive(0))
    # The larger of two that overlap.
    whole = model(count_as("xy", 50.0), count_as("xyz", 3.0))
    assert whole.partial_matches((0, 1, 2)) == pytest.approx(3 * before.partial_matches((0, 1, 2)))


def test_searches_open_as_many_more_bindings() -> None:
    before, after = model(), model(count_as("xy", 50.0))
    order = (1, 0, 2)
    assert fan_outs(after, order)[1:] == pytest.approx([50 * each for each in fan_outs(before, order)[1:]])
    again = model(count_as("xy", 50.0))
    planned = plan_search(again)
    fresh = model(count_as("xy", 50.0))
    assert [fan_outs(fresh, each) for each in planned.orders] == [pytest.approx(each) for each in planned.fan_outs]


def test_parts_of_other_names_and_none_are_passed_over() -> None:
    before, after = model(), model(CountedPart(("x", "other"), 1.0, 10.0), CountedPart((), 1.0, 10.0))
    assert not after.has_evidence
    assert [after.partial_matches(part) for part in PARTS] == [before.partial_matches(part) for part in PARTS]


@pytest.mark.parametrize("engine", ["timing", "sj-tree", "re-search", "filtering"])
def test_a_family_compares_counts_with_the_estimates_of_the_statistics_alone(engine: str) -> None:
    family = FAMILIES["isomorphism"]
    context = PlanningContext(statistics=KNOWN, evidence=(count_as("xy", 50.0),))
    found = plan(PATH, engine, statistics=KNOWN)
    cardinalities = dict(getattr(found.physical, "cardinalities", ()))
    parts = family.counted(PATH, found.physical, dict.fromkeys(cardinalities, 7) | {"unknown": 9}, context)
    assert [each.counted for each in parts] == [7.0] * len(cardinalities)
    assert [each.estimated for each in parts] == pytest.approx(list(cardinalities.values()))
    assert all(list(each.edges) == sorted(each.edges) for each in parts)


def test_auto_leaves_an_engine_that_a_count_refutes() -> None:
    known = StatisticsSnapshot(
        KNOWN.version, KNOWN.window, KNOWN.first_ts, KNOWN.last_ts, KNOWN.edges, KNOWN.vertices,
        {EdgeType(None, label, None): 2_000 for label in "kl"} | {EdgeType(None, "o", None): 96_000},
        None, KNOWN.out_degrees, KNOWN.in_degrees,
    )  # fmt: skip
    family, bare = FAMILIES["isomorphism"], PlanningContext(statistics=known)
    costs = {}
    for name, context in {
        "before": bare,
        "after": PlanningContext(statistics=known, evidence=(CountedPart(("x", "y"), 1.0, 1e7),)),
    }.items():
        considered = family.assign(PATH, PlannerOptions("auto"), context).considered
        costs[name] = {each.physical.name: each.nanoseconds for each in considered}
    assert all(costs["after"][engine] > costs["before"][engine] for engine in ("timing", "re-search"))


def test_explain_says_what_was_counted() -> None:
    explanation = explain(plan(PATH, "timing"))
    assert with_evidence(explanation, ()) is explanation
    shown = with_evidence(explanation, [CountedPart(("x", "y"), 12.3, 3400), CountedPart(("z",), 0.0, 7)])
    line = "x, y estimated 12.3, counted 3,400; z estimated 0, counted 7"
    assert f"  counted: {line}" in to_text([shown])
    assert f'"counted": "{line}"' in to_json([shown])
