"""The plans of a pass by number and by name, with where each begins to report, and how far each has consumed.

A plan has a number in the native matcher and a name in its stream. Work on one plan does not grow with the others.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from graphtide_core.consumption import ConsumptionCursor
    from graphtide_core.ids import PatternName
    from graphtide_native.match_batch import EncodedMatch

    from graphtide_matcher_host.assignment import Assignment, Running


class PassPlans:
    """The plans of one pass.

    Attributes:
        window: ticks of the longest window.
        reports_from: offset of the first record that a plan reports on.
    """

    def __init__(self, running: Sequence[Running]) -> None:
        """Take plans, whose numbers are their places; there is at least one."""
        self._running = dict(enumerate(running))
        self._places = {each.assignment.name: place for place, each in self._running.items()}
        self._starts = sorted((each.begins, place) for place, each in self._running.items())
        self._started = 0
        self._consumptions = {each.assignment.name: each.consumption for each in running if each.consumption is not None}
        self._moved: set[PatternName] = set()
        self.window = max(each.assignment.window for each in running)
        self.reports_from = min(each.reports_from for each in running)

    def __len__(self) -> int:
        """Return how many plans there are."""
        return len(self._running)

    def __iter__(self) -> Iterator[tuple[int, Running]]:
        """Yield each plan with its number. Complexity: O(plans)."""
        return iter(self._running.items())

    def __getitem__(self, place: int) -> Running:
        """Return the plan of a number."""
        return self._running[place]

    def place(self, name: PatternName) -> int | None:
        """Return the number of a pattern's plan; None if it has none here."""
        return self._places.get(name)

    def get(self, name: PatternName) -> Running | None:
        """Return the plan of a pattern; None if it has none here."""
        place = self._places.get(name)
        return None if place is None else self._running[place]

    def name(self, place: int) -> PatternName:
        """Return the pattern of a number."""
        return self._running[place].assignment.name

    def names(self) -> list[PatternName]:
        """Return the patterns that have plans. Complexity: O(plans)."""
        return list(self._places)

    def has(self, assignment: Assignment) -> bool:
        """Whether this very assignment is among the plans."""
        plan = self.get(assignment.name)
        return plan is not None and plan.assignment == assignment

    def running(self) -> list[Running]:
        """Return the plans. Complexity: O(plans)."""
        return list(self._running.values())

    def running_from(self, position: int) -> list[Running]:
        """Return the plans for another pass, after this one has reported everything before its own `position`.

        Complexity: O(plans).
        """
        goes_on = (each.reported_to(position) for each in self._running.values())
        return [replace(each, consumption=self._consumptions.get(each.assignment.name)) for each in goes_on]

    def reports(self, name: PatternName, offset: int) -> bool:
        """Whether a pattern reports what the record at an offset completes."""
        return self._running[self._places[name]].reports(offset)

    def owns(self, match: EncodedMatch) -> bool:
        """Whether a match is reported here, and not by another part of the stream."""
        ownership = self._running[self._places[match.pattern.name]].assignment.ownership
        return ownership is None or ownership.owns(match)

    # ---- plans that come and go

    def add(self, place: int, running: Running, *, has_begun: bool) -> None:
        """Add a plan; one that has not begun begins at its offset."""
        name = running.assignment.name
        self._running[place], self._places[name] = running, place
        if running.consumption is not None:
            self._consumptions[name] = running.consumption
            self._moved.add(name)
        if not has_begun:
            insort(self._starts, (running.begins, place))
        self.reports_from = min(self.reports_from, running.reports_from)
        self.window = max(self.window, running.assignment.window)

    def replace(self, running: Running) -> None:
        """Replace the plan of a pattern."""
        self._running[self._places[running.assignment.name]] = running
        self.reports_from = min(self.reports_from, running.reports_from)

    def remove(self, name: PatternName) -> tuple[int, Assignment]:
        """Drop the plan of a pattern; return its number, and the plan."""
        place = self._places.pop(name)
        assignment = self._running.pop(place).assignment
        self._starts = [each for each in self._starts[self._started :] if each[1] != place]
        self._started = 0
        self._consumptions.pop(name, None)
        self._moved.discard(name)
        if assignment.window == self.window:
            self.window = max((each.assignment.window for each in self._running.values()), default=1)
        return place, assignment

    # ---- where plans begin

    def begins_between(self, position: int, offset: int) -> bool:
        """Whether some plan begins with the record at an offset, or with one from a position up to it."""
        place = bisect_left(self._starts, (position,))
        return place < len(self._starts) and self._starts[place][0] <= offset

    def begin(self, offset: int) -> Iterator[int]:
        """Yield the plans that begin with the record at an offset or before, and have not yet, by number."""
        while self._started < len(self._starts) and self._starts[self._started][0] <= offset:
            yield self._starts[self._started][1]
            self._started += 1

    # ---- how far plans have consumed

    def consumption(self, name: PatternName) -> ConsumptionCursor | None:
        """Return how far a pattern had consumed with the last record that its plan reports on; None if it does not consume."""
        return self._consumptions.get(name)

    def note(self, name: PatternName, consumption: ConsumptionCursor | None) -> None:
        """Note how far a pattern has consumed, if it consumes."""
        if consumption is not None and consumption != self._consumptions.get(name):
            self._consumptions[name] = consumption
            self._moved.add(name)

    def moved(self) -> set[PatternName]:
        """Return the patterns that have consumed, or begun to, since the last call."""
        moved, self._moved = self._moved, set()
        return moved

    def mark_moved(self, names: Collection[PatternName]) -> None:
        """Take over which patterns have consumed, of those that are here."""
        self._moved.update(self._consumptions.keys() & names)
