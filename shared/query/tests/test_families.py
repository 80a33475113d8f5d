"""Every engine of every family plans, estimates and explains its own plans, and reads its planner options."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

import graphtide_query
import pytest
from graphtide_core.errors import InvalidQueryError
from graphtide_core.graph_query import EDGE, GraphQuery
from graphtide_core.ids import PatternName
from graphtide_core.pattern import SubgraphPattern
from graphtide_core.plans import PhysicalPlan
from graphtide_core.time import TimeUnit
from graphtide_query.estimates.colocation import ColocatedLoad, EngineLoad
from graphtide_query.estimates.cost import Cost, Part
from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.explain import Seen, explain, explain_all, to_html, to_json, to_text
from graphtide_query.families import AUTO, ENGINES, FAMILIES, PlannerOptions, engine_of, family_of
from graphtide_query.families.family import PlanningContext, ReplanPolicy
from graphtide_query.families.isomorphism.family import ISOMORPHISM
from graphtide_query.families.simulation.family import SIMULATION
from graphtide_query.language.expression_printer import write_conditions
from graphtide_query.layout import Layout, PatternGraph
from graphtide_query.planner import plan, plan_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.any_pattern import AnyPattern

TEXT = "MATCH (x)-[a:pays]->(y)-[b:pays]->(z) ORDER a < b ON s WINDOW 10m"
(CHAIN,) = graphtide_query.parse_subgraphs(f"PATTERN chain {TEXT}")
(SIMULATED,) = graphtide_query.parse_subgraphs(f"PATTERN simulated {TEXT} UNDER DUAL SIMULATION")
SUBGRAPHS = {"isomorphism": CHAIN, "simulation": SIMULATED}
PATTERNS: Final[dict[str, AnyPattern]] = {
    **SUBGRAPHS,
    "events": graphtide_query.parse("PATTERN logins SEQ(a:fail, b:ok) ON s WITHIN 10m")[0],
    "algebra": graphtide_query.parse("QUERY near near(x, y) <- pays(x, z), pays(z, y). ON s WINDOW(10m)")[0],
}


def test_a_family_has_its_name_and_the_patterns_of_it() -> None:
    assert PATTERNS.keys() == FAMILIES.keys()
    for name, family in FAMILIES.items():
        assert family.name == name
        assert family_of(PATTERNS[name]) is family
        assert tuple(family.variants) == family.names
        assert family.reads(PATTERNS[name]).streams == PATTERNS[name].streams == ("s",)
        assert family.canonical_parts(PATTERNS[name])


EDGE_PATTERN: Final = "PATTERN p MATCH (a:A)-[x:pays]->(b) ON s WINDOW 10m WHERE x.n > 1"
ASKING_TEXTS: Final = {
    "isomorphism": f"{EDGE_PATTERN} RETURN x.n AS n",
    "simulation": f"{EDGE_PATTERN} UNDER DUAL SIMULATION",
    "events": "PATTERN p SEQ(x:pays, NOT y:ends) ON s WITHIN 10m WHERE x.n > 1 RETURN x.n AS n",
    "algebra": "QUERY p p(a, b) <- pays(a, b). ON s WINDOW(10m)",
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_says_what_its_patterns_ask_of_records(name: str) -> None:
    family, (pattern,) = FAMILIES[name], graphtide_query.parse(ASKING_TEXTS[name])
    asked = {
        "labels": (*family.edge_labels(pattern), "of ends", *family.vertex_labels(pattern)),
        "conditions": [write_conditions([each]) for each in family.conditions(pattern, "s")],
        "readable": family.readable(pattern),
        "fields": [each.name for each in family.fields(pattern)],
        "type": "type" in family.record_fields,
        "burst": family.burst(pattern, None),
    }
    assert asked == {
        "labels": {
            "events": ("pays", "ends", "of ends"),
            "algebra": ("pays", "of ends", None, None),
        }.get(name, ("pays", "of ends", "A", None)),
        "conditions": [] if name == "algebra" else ["x.n > 1"],
        "readable": {EDGE} if name == "algebra" else {"x"},
        "fields": ["n"] if name in ("isomorphism", "events") else [],
        "type": name == "events",
        "burst": None,
    }


@pytest.mark.parametrize("name", FAMILIES)
def test_a_plan_that_is_sent_is_what_a_host_runs_and_explains(name: str) -> None:
    family, pattern, unit = FAMILIES[name], PATTERNS[name], TimeUnit.MILLISECOND
    sent = family.assign(pattern, PlannerOptions(), PlanningContext(unit))
    assert sent.considered
    assert family.assigned(pattern, sent.physical, sent.considered).physical == sent.physical
    hosted = family.hosted(pattern, sent.physical, sent.considered)
    (plan,) = family.united([hosted], unit)
    assert (hosted.pattern, plan.pattern, plan.engine) == (pattern, pattern, sent.engine)
    assert explain(plan).nodes
    shown = family.explain_assigned(pattern, sent.physical, sent.considered, Seen(counts={"matches": 7}), unit)
    assert (shown.pattern, shown.counts) == (pattern.name, {"matches": 7})


@pytest.mark.parametrize("name", FAMILIES)
def test_what_runs_gives_way_to_what_is_better_and_to_nothing_else(name: str) -> None:
    family, pattern = FAMILIES[name], PATTERNS[name]
    context, policy = PlanningContext(), ReplanPolicy(margin=0.8)
    sent = family.assign(pattern, PlannerOptions(), context)
    (plan,) = family.united([family.hosted(pattern, sent.physical)], context.unit)
    assert not family.is_better(pattern, sent.physical, sent.physical, context, policy)
    assert not list(family.improved({3: plan}, PlannerOptions(), context, policy))
    assert not list(family.improved({}, PlannerOptions(), context, policy))
    for other in FAMILIES.keys() - ({*SUBGRAPHS} if name in SUBGRAPHS else {name}):
        foreign = FAMILIES[other].assign(PATTERNS[other], PlannerOptions(), context).physical
        assert family.is_better(pattern, sent.physical, foreign, context, policy)
        with pytest.raises(ValueError, match=f"{foreign.name} does not match patterns of the family of {pattern.name!r}"):
            family.assigned(pattern, foreign)
        with pytest.raises(ValueError, match="does not match patterns"):
            family.hosted(pattern, foreign)


@pytest.mark.parametrize("name", FAMILIES)
def test_patterns_that_run_are_planned_anew_together_only_where_they_are_units(name: str) -> None:
    family, context = FAMILIES[name], PlanningContext()
    patterns = [PATTERNS[name], replace(PATTERNS[name], name=PatternName("second"))]
    hosted = [family.hosted(each, family.assign(each, PlannerOptions(), context).physical) for each in patterns]
    assert family.unit_key(hosted[0]) == family.unit_key(hosted[1])
    apart = [family.united([each], context.unit)[0] for each in hosted]
    found = family.regrouped(list(zip(hosted, apart, strict=True)), context.unit)
    together = family.united(hosted, context.unit)
    assert family.is_united == (name == "events") == (found is not None)
    if found is not None:
        places, together = found
        assert [patterns[place] for place in places] == [each.pattern for each in together]
    assert [each.pattern for each in family.without(together, 0)] == [together[1].pattern]


def test_a_pass_is_explained_in_its_order_and_each_unit_after_it_once() -> None:
    texts = [PATTERNS[name] for name in ("events", "algebra", "simulation", "isomorphism")]
    second = replace(PATTERNS["events"], name=PatternName("again"))
    plans = plan_all([*texts, second], PlannerOptions())
    asked: list[Sequence[str]] = []

    def unit_funnel(names: Sequence[str]) -> None:
        asked.append(names)

    seen = [Seen(counts={"matches": place}) for place in range(len(plans))]
    shown = explain_all(plans, seen, unit_funnel=unit_funnel)
    assert [each.pattern for each in shown] == ["near", "simulated", "chain", "event patterns"]
    assert [each.counts.get("matches") for each in shown] == [1, 2, 3, None]
    assert asked == [["logins", "again"]]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_says_what_a_match_has(name: str) -> None:
    (pattern,) = graphtide_query.parse(ASKING_TEXTS[name])
    family = FAMILIES[name]
    outputs = pattern.outputs if isinstance(pattern, GraphQuery) else ()
    graph = PatternGraph(pattern.vertices, pattern.edges, ()) if isinstance(pattern, SubgraphPattern) else None
    assert (
        family.layout(pattern)
        == {
            "isomorphism": Layout(edges={"x": False}, vertices={"a": False, "b": False}, fields=("n",), graph=graph),
            "simulation": Layout(edges={"x": True}, vertices={"a": True, "b": True}, changes=True, graph=graph),
            "events": Layout(events={"x": False}, fields=("n",)),
            "algebra": Layout(vertices={"a": False, "b": False}, outputs=outputs),
        }[name]
    )
    assert family.event_names(pattern) == (("x", "y") if name == "events" else ())
    assert str(family.window(pattern)) == "10m"
    assert family.reads_by_name == bool(outputs)


def test_a_family_of_patterns_of_edges_may_choose_any_of_its_engines() -> None:
    for family in (ISOMORPHISM, SIMULATION):
        assert sorted(family.names) == sorted(engine.name for engine in family.auto)


@pytest.mark.parametrize(("family", "engine"), [(name, each) for name, own in FAMILIES.items() for each in own.names])
def test_every_engine_plans_patterns_of_its_family_and_is_refused_for_others(family: str, engine: str) -> None:
    for name, pattern in PATTERNS.items():
        if name == family:
            assert plan(pattern, engine).engine == engine
        else:
            title = FAMILIES[name].title
            with pytest.raises(InvalidQueryError, match=f"the engine {engine} is not for {title}, as {pattern.name!r} is"):
                plan(pattern, engine)


@pytest.mark.parametrize("family", SUBGRAPHS)
def test_an_engine_plans_costs_and_lays_open_a_pattern_of_its_family(family: str) -> None:
    pattern = SUBGRAPHS[family]
    for name in FAMILIES[family].names:
        physical = plan(pattern, name).physical
        engine = engine_of(physical)
        assert (physical.name, engine.name) == (name, name)
        assert engine.cost(CostModel(pattern), physical, EngineLoad()).nanoseconds > 0
        steps = engine.nodes(pattern, physical, None)
        assert {put for step in steps for put in step.inputs} <= {step.name for step in steps}
        assert engine.settings(pattern, physical)


@pytest.mark.parametrize("family", SUBGRAPHS)
def test_what_is_considered_are_the_plans_of_all_engines_cheapest_first(family: str) -> None:
    made = plan(SUBGRAPHS[family], AUTO)
    assert {each.physical.name for each in made.considered} == set(FAMILIES[family].names)
    costs = [each.nanoseconds for each in made.considered]
    assert costs == sorted(costs)
    assert made.physical == made.considered[0].physical


def test_an_engine_reads_its_requested_variant() -> None:
    for name, engine in ENGINES.items():
        for variant in engine.variants:
            physical = plan(CHAIN, PlannerOptions.of(name, variant)).physical
            assert engine_of(physical).variant_of(physical) == variant


def test_variants_are_read_by_the_engines_that_plan_and_by_no_other() -> None:
    variants = {"timing": "independent", "sj-tree": "path"}
    found = {each.physical.name: each.physical for each in plan(CHAIN, PlannerOptions(AUTO, variants)).considered}
    of_edges = {name: each for name, each in found.items() if isinstance(each, PhysicalPlan)}
    variants_read = {name: engine_of(physical).variant_of(physical) for name, physical in of_edges.items()}
    assert variants_read == {
        **variants,
        "re-search": None,
        "filtering": None,
    }
    assert plan(CHAIN, PlannerOptions("filtering", {"timing": "unheard of"})).engine == "filtering"


@pytest.mark.parametrize(
    ("planner_options", "message"),
    [
        (PlannerOptions.of("timing", "path"), "the engine timing has no variant 'path'; one of independent, ms-tree, ms-dag"),
        (PlannerOptions.of("filtering", "path"), "the engine filtering has no variant 'path'; it has none"),
        (PlannerOptions(AUTO, {"sj-tree": "ms-dag"}), "no variant 'ms-dag'; one of single, single-lazy, path, path-lazy"),
    ],
)
def test_a_variant_that_an_engine_does_not_have_is_refused(planner_options: PlannerOptions, message: str) -> None:
    with pytest.raises(InvalidQueryError, match=message):
        plan(CHAIN, planner_options)


def test_a_plan_of_no_engine_is_found_to_be_so() -> None:
    with pytest.raises(LookupError, match="there is no engine 'unheard of'"):
        engine_of(cast("PhysicalPlan", _PlanOfNoEngine()))


class _PlanOfNoEngine:
    name = "unheard of"


def test_a_candidate_says_what_most_of_its_cost_is_for() -> None:
    parts = (
        Part(10.0, "the look-up of each edge"),
        Part(70.0, "2 visits to others an edge"),
        Part(20.0, "0.1 matches an edge"),
    )
    assert Cost(parts, 0.0).reason == "70 % for 2 visits to others an edge"
    assert Cost((*parts, Part(100.0, "lists")), 0.0).reason == "50 % for lists, 35 % for 2 visits to others an edge"
    assert Cost((), 0.0).reason == "no edge of the stream can be a query edge"


def test_explain_says_of_every_plan_that_was_considered_why_it_costs_what_it_costs() -> None:
    for pattern in SUBGRAPHS.values():
        explanation = explain(plan(pattern, AUTO))
        text = to_text([explanation])
        (emitted,) = json.loads(to_json([explanation]))
        assert [each["engine"] for each in emitted["considered"]] == [each.physical.name for each in explanation.considered]
        for each in emitted["considered"]:
            assert " % for " in each["reason"]
            assert f"\n    {each['engine']}: {each['reason']}\n" in text
            assert f"cost of {each['engine']}" in to_html([explanation])


def test_a_requested_plan_has_no_alternatives() -> None:
    explanation = explain(plan(CHAIN, "timing"))
    assert json.loads(to_json([explanation]))[0]["considered"] == []


def test_a_co_located_load_is_named_if_it_is_the_cost() -> None:
    alone, among = (plan(CHAIN, AUTO, colocated=ColocatedLoad.of(patterns)).considered for patterns in (1, 400))
    assert not any("out of cache" in each.reason for each in alone)
    named = {each.physical.name for each in among if "lists that 400 patterns of the engine push out of cache" in each.reason}
    assert named == {"timing", "sj-tree"}
