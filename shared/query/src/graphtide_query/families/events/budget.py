"""How much work the plan of many event patterns may take, and what of it is left.

Work is counted, not timed, so that a plan is the same on every machine and at every load (ADR 10). A unit is one examination:
two sub-patterns that are looked at for what they have in common, a few microseconds. Every builder has a whole plan from its
first examination on and makes it better; one that has spent its units ends with what it has.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AggregationBudget:
    """What building one plan may spend, in examinations."""

    examinations: int = 5_000_000


class Examinations:
    """The examinations made for one plan so far."""

    def __init__(self, budget: AggregationBudget) -> None:
        """Begin with none."""
        self._left = budget.examinations

    def one_more(self) -> bool:
        """Count one; return whether it may be made."""
        self._left -= 1
        return self._left >= 0
