"""How much work the planning of one pattern may do.

Work is counted, not timed, so that a plan is the same on every machine and at every load: a unit is one query edge that one
estimate looked at, a few tenths of a microsecond. Each search of a plan (a decomposition, a join order, the search orders) has
`search` units to weigh what there is in full. One that has spent them goes on by a rule that costs little, and ends with the
best it knows. `most` bounds all of a pattern's planning, the cheap rules included. Planning also ends where nobody waits for
the plan any more, so that no thread plans for a request that is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import CutShortError, InvalidQueryError

if TYPE_CHECKING:
    from collections.abc import Callable

_BETWEEN_LOOKS: Final = 10_000
"""Units of work between two looks at whether the plan is still wanted: some milliseconds."""


def never_cancelled() -> bool:
    """Return that planning is not cancelled."""
    return False


class PlanningBudgetError(InvalidQueryError):
    """A pattern needs more work to be planned than it may have.

    Attributes:
        pattern: its name.
        most: the units it may have.
    """

    def __init__(self, pattern: str, most: int) -> None:
        """Name the pattern and the bound."""
        reason = f"pattern {pattern!r} cannot be planned within its budget of {most:,} units of work"
        super().__init__(f"{reason}; split it into patterns with fewer edges, rules or alternatives")
        self.pattern = pattern
        self.most = most


@dataclass(frozen=True, slots=True)
class PlanningBudget:
    """What the planning of one pattern may spend.

    Attributes:
        search: units that each search may spend before it goes on by its cheap rule.
        most: units of everything; past them there is no plan.
        is_cancelled: whether nobody waits for the plan any more.
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
            PlanningBudgetError: it is more than the pattern may have.
            CutShortError: nobody waits for the plan any more.
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
    """What one search may spend: as much as the pattern's work has left until `end`."""

    work: Work
    end: int

    @property
    def left(self) -> int:
        """Units that may still be spent; 0 where none are."""
        return max(0, self.end - self.work.done)
