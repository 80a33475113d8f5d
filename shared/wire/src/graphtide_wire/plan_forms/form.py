"""A plan as JSON, tagged by its engine, and the plans that were considered beside it.

Invariant: every engine's plan has one form, which knows that plan (`of`, `plan`); nothing here tells engines apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self, cast, get_args

import msgspec
from graphtide_core.plans import AssignedPlan, Candidate

from graphtide_wire.plan_forms.algebra import AlgebraForm
from graphtide_wire.plan_forms.estimates import finite
from graphtide_wire.plan_forms.events import GroupingForm
from graphtide_wire.plan_forms.isomorphism import IsomorphismForm
from graphtide_wire.plan_forms.simulation import SimulationForm

if TYPE_CHECKING:
    from collections.abc import Callable

PhysicalForm = IsomorphismForm | SimulationForm | GroupingForm | AlgebraForm

FORMS: Final = {form.__struct_config__.tag: form for form in get_args(PhysicalForm)}
"""The form of each engine's plan, by the engine's name."""


class CandidateForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """A plan that was considered, with its estimated cost, and why it costs that or cannot be taken."""

    physical: PhysicalForm
    nanoseconds: float
    partial_matches: float
    reason: str = ""

    @classmethod
    def of(cls, candidate: Candidate) -> Self:
        """Return the form of a candidate."""
        nanoseconds, partial_matches = finite(candidate.nanoseconds), finite(candidate.partial_matches)
        return cls(_form(candidate.physical), nanoseconds, partial_matches, candidate.reason)

    def candidate(self) -> Candidate:
        """Return the candidate."""
        return Candidate(self.physical.plan(), self.nanoseconds, self.partial_matches, self.reason)


class PlanForm(msgspec.Struct, frozen=True):
    """How a pattern is matched, and what the choice was made from, cheapest first."""

    physical: PhysicalForm
    considered: tuple[CandidateForm, ...] = ()


def form_of(physical: AssignedPlan, considered: tuple[Candidate, ...] = ()) -> PlanForm:
    """Return the form of a plan. JSON has no infinity: an estimate without bound becomes the largest number there is."""
    return PlanForm(_form(physical), tuple(map(CandidateForm.of, considered)))


def plan_of(form: PlanForm) -> tuple[AssignedPlan, tuple[Candidate, ...]]:
    """Return the plan of a form, and the plans that were considered."""
    return form.physical.plan(), tuple(each.candidate() for each in form.considered)


def _form(physical: AssignedPlan) -> PhysicalForm:
    # By name a form is that of this very plan, which a checker of types cannot see.
    of = cast("Callable[[AssignedPlan], PhysicalForm]", FORMS[physical.name].of)
    return of(physical)
