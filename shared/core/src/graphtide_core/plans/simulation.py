"""The plans of dual simulation: what each of its engines is told of one pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEFAULT_PRIME: Final = 317
"""Of signatures, unless said otherwise."""

MOST_PRIME: Final = 65_521
"""The greatest prime of 16 bits: products of two residues fit into 32."""


@dataclass(frozen=True, slots=True)
class BaselinePlan:
    """The fixpoint of dual simulation, from the edges of the window, for each edge that can be of use.

    Reference: paper 000, section 3.
    """

    name: str = "ddst-baseline"


@dataclass(frozen=True, slots=True)
class SignaturePlan:
    """The same fixpoint, where the signature of the window's edges says that there may be a match.

    Signatures are products in the field of `prime` elements; the factors of edges and degrees are drawn from `seed`.
    Reference: paper 000, section 4.
    """

    prime: int = DEFAULT_PRIME
    seed: int = 1
    name: str = "ddst-signature"


@dataclass(frozen=True, slots=True)
class ColoringPlan:
    """Edges coloured by what they can match, and components of those that could be whole; only these are looked at.

    Reference: paper 000, section 5.
    """

    name: str = "ddst-coloring"


SimulationPlan = BaselinePlan | SignaturePlan | ColoringPlan
