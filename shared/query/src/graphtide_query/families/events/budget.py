"""Limit the work of planning many event patterns, and count what is left.

Work is counted, not timed, so that a plan is the same on every machine and at every load (ADR 10). A unit is one examination:
two sub-patterns compared for common parts, a few microseconds. Every builder has a complete plan from its first examination and
improves it; one that has spent its units ends with its current plan.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AggregationBudget:
    """The work budget of building one plan, in examinations."""

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
