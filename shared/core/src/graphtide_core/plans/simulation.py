"""The plans of dual simulation: what each of its engines gets for one pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from graphtide_core.plans.assigned import AssignedPlan, Bounds

DEFAULT_PRIME: Final = 317
"""Of signatures, unless said otherwise."""

MOST_PRIME: Final = 65_521
"""The greatest prime of 16 bits: products of two residues fit into 32."""


@dataclass(frozen=True, slots=True)
class BaselinePlan(AssignedPlan):
    """The fixpoint of dual simulation, from the edges of the window, for each edge that can be of use.

    Reference: paper 000, section 3.
    """

    engines: ClassVar[tuple[str, ...]] = ("ddst-baseline",)


@dataclass(frozen=True, slots=True)
class SignaturePlan(AssignedPlan):
    """The same fixpoint, where the signature of the window's edges says that there may be a match.

    Signatures are products in the field of `prime` elements; the factors of edges and degrees are drawn from `seed`.
    Reference: paper 000, section 4.
    """

    prime: Annotated[int, Bounds(3, MOST_PRIME)] = DEFAULT_PRIME
    seed: Annotated[int, Bounds(0, 2**63 - 1)] = 1
    engines: ClassVar[tuple[str, ...]] = ("ddst-signature",)


@dataclass(frozen=True, slots=True)
class ColoringPlan(AssignedPlan):
    """Edges coloured by what they can match, and components of those that could be whole; only these are looked at.

    Reference: paper 000, section 5.
    """

    engines: ClassVar[tuple[str, ...]] = ("ddst-coloring",)


SimulationPlan = BaselinePlan | SignaturePlan | ColoringPlan
