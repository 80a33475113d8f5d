"""The plans of dual simulation: what each of its engines is told of one pattern."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from graphtide_core.plans.assigned import AssignedPlan

DEFAULT_PRIME: Final = 317
"""Of signatures, unless said otherwise."""

MOST_PRIME: Final = 65_521
"""The greatest prime of 16 bits: products of two residues fit into 32."""


class BaselinePlan(AssignedPlan, msgspec.Struct, frozen=True, tag_field="engine", tag="ddst-baseline"):
    """The fixpoint of dual simulation, from the edges of the window, for each edge that can be of use.

    Reference: paper 000, section 3.
    """


class SignaturePlan(AssignedPlan, msgspec.Struct, frozen=True, tag_field="engine", tag="ddst-signature"):
    """The same fixpoint, where the signature of the window's edges says that there may be a match.

    Signatures are products in the field of `prime` elements; the factors of edges and degrees are drawn from `seed`.
    Reference: paper 000, section 4.
    """

    prime: Annotated[int, Meta(ge=3, le=MOST_PRIME)] = DEFAULT_PRIME
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 1


class ColoringPlan(AssignedPlan, msgspec.Struct, frozen=True, tag_field="engine", tag="ddst-coloring"):
    """Edges coloured by what they can match, and components of those that could be whole; only these are looked at.

    Reference: paper 000, section 5.
    """


SimulationPlan = BaselinePlan | SignaturePlan | ColoringPlan
