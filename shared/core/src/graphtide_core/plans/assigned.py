"""How a matcher is to match a pattern, as it is chosen, kept and sent.

A class of such plans is a frozen dataclass, and its form in records follows from it. The form has the name of its engine, and
its fields, whose annotations say what they may hold. A family adds its plans by defining the classes; nothing lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a number, or of the length of a text or a list, in `Annotated` beside its type."""

    least: int | None = None
    most: int | None = None


Count = Annotated[int, Bounds(0, 2**63 - 1)]
"""How many there are of something."""


class AssignedPlan:
    """How a matcher is to match a pattern of any family. Each class of them is a frozen dataclass.

    Attributes:
        engines: names of the engines that run plans of the class; a plan for one of several has it as a field, `engine`.
        is_terse: whether fields that have their default are left out of records.
    """

    __slots__ = ()

    engines: ClassVar[tuple[str, ...]]
    is_terse: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Name of the engine that runs the plan."""
        return self.engines[0]


@dataclass(frozen=True, slots=True)
class CountedPart:
    """Partial matches of a part of a pattern that were alive at once, beside the estimate of the time.

    Attributes:
        edges: names of the query edges of the part, in the order of the text.
        estimated: by the statistics of the stream alone.
        counted: on the host.
    """

    edges: tuple[str, ...]
    estimated: float
    counted: float

    @property
    def factor(self) -> float:
        """How many times as many there were; one is added to both, so that neither 0 says too much."""
        return (self.counted + 1) / (self.estimated + 1)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan that was considered, with its estimated cost.

    Attributes:
        physical: the plan.
        nanoseconds: for an edge of the stream.
        partial_matches: alive.
        reason: the reason for the cost, or for its rejection, in a few words; may be empty.
    """

    physical: AssignedPlan
    nanoseconds: float
    partial_matches: float
    reason: str = ""
