"""The plan of a streaming graph query: an expression of the algebra for each output, and how its operators are run.

Reference: paper 001, sections 5.2 and 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from graphtide_core.algebra import Algebra, Path, Pattern

ALGEBRA: Final = "algebra"
"""Name of the engine that runs plans of streaming graph queries."""


class PathEngine(Enum):
    """What runs a PATH."""

    S_PATH = "s-path"
    """The tree of the paths that end last; what has expired is passed over (section 6.2.4)."""

    DELTA_TREE = "delta-tree"
    """Trees whose expired edges are taken out as deleted ones are, and derived anew (section 6.2.3)."""


@dataclass(frozen=True, slots=True)
class PathChoice:
    """What runs a PATH of a plan."""

    path: Path
    engine: PathEngine


@dataclass(frozen=True, slots=True)
class JoinChoice:
    """How a PATTERN of a plan is joined: a tree of its parts, or all at once.

    `steps` are groups of parts that are joined one after the other, each with what came before: `((0, 1), (2,))` joins the
    first two parts, and their rows with the third. One group is a delta join, which keeps no rows.
    """

    pattern: Pattern
    steps: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class AlgebraPlan:
    """How a query is answered.

    Attributes:
        outputs: an expression for each output of the query, in their order; equal parts run once.
        paths: what runs each PATH; one that is not here is run by `s-path`.
        joins: how each PATTERN is joined; one that is not here is joined all at once.
        rules: names of the transformation rules that led here from the canonical plan.
    """

    outputs: tuple[Algebra, ...]
    paths: tuple[PathChoice, ...] = ()
    joins: tuple[JoinChoice, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the engine that runs the plan."""
        return ALGEBRA
