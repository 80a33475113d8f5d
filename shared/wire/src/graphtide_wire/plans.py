"""What a record of a plan holds of it: the plan itself, and what the choice was made from. Plans are their own wire form."""

from __future__ import annotations

import sys
from typing import TypeVar

import msgspec
from graphtide_core.plans import AssignedPlan, Candidate  # noqa: TC002 - the decoder reads the types

T = TypeVar("T")


class PlanForm(msgspec.Struct, frozen=True):
    """How a pattern is matched, and what the choice was made from, cheapest first."""

    physical: AssignedPlan
    considered: tuple[Candidate, ...] = ()


def form_of(physical: AssignedPlan, considered: tuple[Candidate, ...] = ()) -> PlanForm:
    """Return the form of a plan. JSON has no infinity: an estimate without bound becomes the largest number there is."""
    return PlanForm(_finite(physical), _finite(considered))


def _finite(value: T) -> T:
    """Return the value with the nearest that JSON has in place of each number."""
    found: object = value
    if isinstance(value, float):
        found = min(max(value, -sys.float_info.max), sys.float_info.max)
    elif isinstance(value, tuple):
        found = tuple(map(_finite, value))
    elif isinstance(value, msgspec.Struct):
        found = msgspec.structs.replace(value, **{name: _finite(each) for name, each in msgspec.structs.asdict(value).items()})
    # It is of the same type, which a checker of types cannot see.
    return found  # type: ignore[return-value]
