"""Limit the work of planning one pattern.

Work is counted, not timed, so that a plan is the same on every machine and at every load. A unit is one query edge that one
estimate looked at, a few tenths of a microsecond. Each search of a plan (a decomposition, a join order, the search orders) has
`search` units for an exhaustive comparison. A search that has spent them continues by a cheap rule, and ends with the best plan
found. `most` bounds all planning of a pattern, including the cheap rules. Planning also ends when the request is cancelled, so
no thread plans for a client that has left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import CutShortError, InvalidQueryError

if TYPE_CHECKING:
    from collections.abc import Callable

_BETWEEN_LOOKS: Final = 10_000
"""Units of work between two checks for cancellation: some milliseconds."""


def never_cancelled() -> bool:
    """Return False: planning is never cancelled."""
    return False


class PlanningBudgetError(InvalidQueryError):
    """Planning a pattern needs more work than its budget.

    Attributes:
        pattern: its name.
        most: its budget, in units.
    """

    def __init__(self, pattern: str, most: int) -> None:
        """Name the pattern and the bound."""
        reason = f"pattern {pattern!r} cannot be planned within its budget of {most:,} units of work"
        super().__init__(f"{reason}; split it into patterns with fewer edges, rules or alternatives")
        self.pattern = pattern
        self.most = most


@dataclass(frozen=True, slots=True)
class PlanningBudget:
    """The work budget of planning one pattern.

    Attributes:
        search: units that each search may spend before it continues by its cheap rule.
        most: units of all planning; past them there is no plan.
        is_cancelled: whether the request was cancelled.
    """

    search: int = 100_000
    most: int = 20_000_000
    is_cancelled: Callable[[], bool] = never_cancelled


class Work:
    """The work done for one pattern so far."""

    def __init__(self, pattern: str, budget: PlanningBudget) -> None:
        """Begin with nothing done."""
        self._pattern = pattern
        self._budget = budget
        self._done = 0
        self._next_look = 0

    def do(self, units: int) -> None:
        """Count work.

        Raises:
            PlanningBudgetError: the budget is spent.
            CutShortError: the request was cancelled.
        """
        self._done += units
        if self._done > self._budget.most:
            raise PlanningBudgetError(self._pattern, self._budget.most)
        if self._done >= self._next_look:
            self._next_look = self._done + _BETWEEN_LOOKS
            if self._budget.is_cancelled():
                raise CutShortError(0, self._done)

    def search(self) -> WorkBudget:
        """Begin a search."""
        return WorkBudget(self, self._done + self._budget.search)

    @property
    def done(self) -> int:
        """Units so far."""
        return self._done


@dataclass(frozen=True, slots=True)
class WorkBudget:
    """The work budget of one search: what is left of the pattern's work until `end`."""

    work: Work
    end: int

    @property
    def left(self) -> int:
        """Units left; never negative."""
        return max(0, self.end - self.work.done)
