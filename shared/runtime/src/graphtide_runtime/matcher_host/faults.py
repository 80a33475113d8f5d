"""Faults that come again: what to take out so that the others of a stream go on.

A fault that nobody foresaw ends a round, and the host opens again from what it committed. A fault that comes a second time at
the same place would come for ever. Then the host takes out the part that fails, the smallest that can be:

1. Tracing: the matches go out without traces (`tracing`).
2. A record that cannot be read: it becomes a dead letter (`StreamPass.decode`).
3. A plan that fails on a record, in its past, or where its matches are written: its pattern ends as `failed`, with the reason.
   Trying plans apart from the others finds it.
4. A record on which no plan fails by itself: it becomes a dead letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from graphtide_core.ids import PatternName
    from graphtide_core.ports.log import TopicPartition

    from graphtide_runtime.matcher_host.assignment import Assignment, Running

_MOST_PLACES: Final = 1_000


class PlanFaultError(Exception):
    """Writing the matches of one plan failed."""

    def __init__(self, name: PatternName, reason: str) -> None:
        """Name the plan's pattern, and say why."""
        super().__init__(f"pattern {name!r}: {reason}")
        self.name = name
        self.reason = reason


class Faults:
    """What failed on a host: places, once or again. It outlives the host's openings; a new process starts without any.

    Attributes:
        poison: records to leave out: partition and offset.
        condemned: plans that must not run, by pattern, version and epoch, with the reason. A plan of another epoch is tried.
    """

    def __init__(self) -> None:
        """Know no place."""
        self.poison: set[tuple[TopicPartition, int]] = set()
        self.condemned: dict[tuple[PatternName, int, int], str] = {}
        self._places: dict[Hashable, None] = {}

    def came_again(self, place: Hashable) -> bool:
        """Note a fault at a place; return whether one was noted there before, and forget it then."""
        if place in self._places:
            del self._places[place]
            return True
        while len(self._places) >= _MOST_PLACES:
            del self._places[next(iter(self._places))]
        self._places[place] = None
        return False

    def condemn(self, plans: Iterable[tuple[Running, str]]) -> None:
        """Let plans not run any more."""
        for plan, reason in plans:
            of = plan.assignment
            self.condemned[of.name, of.version, of.epoch] = f"it failed twice, and the others go on without it: {reason}"

    def reason(self, of: Assignment) -> str | None:
        """Return why a plan must not run; None if it may."""
        return self.condemned.get((of.name, of.version, of.epoch))
