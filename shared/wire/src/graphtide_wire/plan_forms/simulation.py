"""The plans of dual simulation as JSON."""

from __future__ import annotations

from typing import Annotated, Self

import msgspec
from graphtide_core.plans import MOST_PRIME, BaselinePlan, ColoringPlan, SignaturePlan
from msgspec import Meta


class BaselineForm(msgspec.Struct, frozen=True, tag_field="engine", tag="ddst-baseline"):
    """A `BaselinePlan`."""

    @classmethod
    def of(cls, _: BaselinePlan) -> Self:
        """Return the form of a plan."""
        return cls()

    def plan(self) -> BaselinePlan:
        """Return the plan."""
        return BaselinePlan()


class SignatureForm(msgspec.Struct, frozen=True, tag_field="engine", tag="ddst-signature"):
    """A `SignaturePlan`."""

    prime: Annotated[int, Meta(ge=3, le=MOST_PRIME)]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]

    @classmethod
    def of(cls, plan: SignaturePlan) -> Self:
        """Return the form of a plan."""
        return cls(plan.prime, plan.seed)

    def plan(self) -> SignaturePlan:
        """Return the plan."""
        return SignaturePlan(self.prime, self.seed)


class ColoringForm(msgspec.Struct, frozen=True, tag_field="engine", tag="ddst-coloring"):
    """A `ColoringPlan`."""

    @classmethod
    def of(cls, _: ColoringPlan) -> Self:
        """Return the form of a plan."""
        return cls()

    def plan(self) -> ColoringPlan:
        """Return the plan."""
        return ColoringPlan()


SimulationForm = BaselineForm | SignatureForm | ColoringForm
