"""Every way to plan the patterns of a family: its engines, each in all its variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.families import FAMILIES, PlannerOptions, family_of
from graphtide_query.planner import plan

if TYPE_CHECKING:
    from random import Random

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import Plan


def planner_options_of(family: str) -> list[PlannerOptions]:
    """Return planner options for every engine of a family, in each of its variants."""
    return [
        PlannerOptions(engine) if variant is None else PlannerOptions.of(engine, variant)
        for engine, variants in FAMILIES[family].variants.items()
        for variant in variants or (None,)
    ]


def describe(planner_options: PlannerOptions) -> str:
    """Return planner options as the name of a test has them."""
    return " ".join((planner_options.engine, *planner_options.variants.values()))


def every_plan(pattern: SubgraphPattern) -> list[Plan]:
    """Return the plans of a pattern, one for each of these options."""
    return [plan(pattern, planner_options) for planner_options in planner_options_of(family_of(pattern).name)]


def some_plan(pattern: SubgraphPattern, rng: Random) -> Plan:
    """Return one of those plans; each engine is as likely as any other."""
    engine, variants = rng.choice(list(family_of(pattern).variants.items()))
    return plan(pattern, PlannerOptions.of(engine, rng.choice(variants)) if variants else engine)
