"""The classes of plans of all families, which are loaded for it: most runs have patterns of one family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.plans.assigned import AssignedPlan

if TYPE_CHECKING:
    from collections.abc import Iterator


def plan_classes() -> tuple[type[AssignedPlan], ...]:
    """Return the classes of plans of all families, in the order in which they were defined."""
    from graphtide_core.plans import algebra, events, isomorphism, simulation  # noqa: F401, PLC0415 - see above

    return tuple(_below(AssignedPlan))


def _below(base: type[AssignedPlan]) -> Iterator[type[AssignedPlan]]:
    for each in base.__subclasses__():
        # With slots a dataclass is made anew, and the class that it was made of may still be there.
        if "__slots__" in vars(each) and "engines" in vars(each):
            yield each
        yield from _below(each)
