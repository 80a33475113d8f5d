"""A plan as JSON, tagged by its engine, and the plans that were considered beside it.

Invariant: every engine's plan has one form, which knows that plan (`of`, `plan`); nothing here tells engines apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast, get_args

import msgspec
from graphtide_core.plans import Candidate, PhysicalPlan

from graphtide_wire.plan_forms.estimates import finite
from graphtide_wire.plan_forms.isomorphism import IsomorphismForm
from graphtide_wire.plan_forms.simulation import SimulationForm

if TYPE_CHECKING:
    from collections.abc import Callable

PhysicalForm = IsomorphismForm | SimulationForm

FORMS: Final = {form.__struct_config__.tag: form for form in get_args(PhysicalForm)}
"""The form of each engine's plan, by the engine's name."""


class CandidateForm(msgspec.Struct, frozen=True):
    """A plan that was considered, with its estimated cost."""

    physical: PhysicalForm
    nanoseconds: float
    partial_matches: float


class PlanForm(msgspec.Struct, frozen=True):
    """How a pattern is matched, and what the choice was made from, cheapest first."""

    physical: PhysicalForm
    considered: tuple[CandidateForm, ...] = ()


def form_of(physical: PhysicalPlan, considered: tuple[Candidate, ...] = ()) -> PlanForm:
    """Return the form of a plan. JSON has no infinity: an estimate without bound becomes the largest number there is."""
    return PlanForm(_form(physical), tuple(_candidate(each) for each in considered))


def plan_of(form: PlanForm) -> tuple[PhysicalPlan, tuple[Candidate, ...]]:
    """Return the plan of a form, and the plans that were considered."""
    considered = (Candidate(each.physical.plan(), each.nanoseconds, each.partial_matches) for each in form.considered)
    return form.physical.plan(), tuple(considered)


def _candidate(candidate: Candidate) -> CandidateForm:
    return CandidateForm(_form(candidate.physical), finite(candidate.nanoseconds), finite(candidate.partial_matches))


def _form(physical: PhysicalPlan) -> PhysicalForm:
    # By name a form is that of this very plan, which a checker of types cannot see.
    of = cast("Callable[[PhysicalPlan], PhysicalForm]", FORMS[physical.name].of)
    return of(physical)
