"""Estimate how many instances of sub-patterns are alive, by the rates of event types and the selectivity of predicates.

Of n events in the time of a sub-pattern, its slots take any. An order keeps the share of permutations that agree with it. For
orders that are forests that is the product, over the slots, of one through the number of slots from it on. Predicates let
`PREDICATE_SHARE` through each. Events that must not come are ignored. The estimates rank plans; they are not predictions.

Reference: paper 002, section 2.3 (stream statistics).
"""

from __future__ import annotations

from collections import Counter
from math import pow as power
from math import prod
from typing import TYPE_CHECKING, Final

from graphtide_query.estimates.cost_model import DEFAULT_EDGES_IN_WINDOW, MOST, PREDICATE_SHARE
from graphtide_query.families.events.forms import bits, count_followers, inside

if TYPE_CHECKING:
    from graphtide_core.plans.events import Slot
    from graphtide_core.statistics import StatisticsSnapshot

    from graphtide_query.families.events.forms import Form, Forms, Key, NormalForm

UNKNOWN_EVENTS: Final = 10.0
"""Events of a type in the time of a pattern, without statistics."""

_LONGEST_LIST: Final = 64
"""Events up to which the lists of a repeated slot are counted."""


class Rates:
    """How often events of each type come."""

    def __init__(self, statistics: StatisticsSnapshot) -> None:
        """Take of the stream. Complexity: O(types of edges)."""
        self._known = statistics.rate > 0
        self._rates: Counter[str] = Counter()
        for kind, count in statistics.types.items():
            self._rates[kind.label] += count
        self._ticks = statistics.window.ticks if statistics.window is not None else 0
        self._all = statistics.rate

    def events(self, types: tuple[str, ...], ticks: int) -> float:
        """Return how many events of some types, or of any where there are none, come in so many ticks."""
        if not self._known:
            return UNKNOWN_EVENTS * max(1, len(types))
        if not types:
            return self._all * ticks
        return sum(self._rates[kind] for kind in types) / self._ticks * ticks

    def stream(self, ticks: int) -> float:
        """Return how many events of any type come in so many ticks."""
        return max(1.0, self._all * ticks) if self._known else DEFAULT_EDGES_IN_WINDOW

    def fillings(self, forms: Forms, form: Form, key: Key) -> float:
        """Return in how many ways events alive fill a slot, by its type and what is asked of it alone."""
        slot = forms.keys[key][0]
        asked = form.predicates.get(1 << key)
        return _fillings(slot, self.events(slot.types, form.within)) * (1.0 if asked is None else _share(asked))

    def instances(self, forms: Forms, form: Form) -> float:
        """Return how many instances of a sub-pattern are alive. Complexity: O(slots + pairs of the order + predicates)."""
        following = count_followers(form.order)
        found = 1.0
        for key in bits(form.slots):
            slot = forms.keys[key][0]
            found *= _fillings(slot, self.events(slot.types, form.within)) / (1 + following.get(key, 0))
        return min(MOST, found * prod(map(_share, form.predicates.values())))

    def part(self, member: Form, form: Form) -> float:
        """Return which part of the instances of a form those of a member are, which says more of the form's slots.

        Complexity: O(pairs of the order that the form has not + predicates).
        """
        found = power(member.within / max(1, form.within), form.size) if self._known else 1.0
        for read, asked in member.predicates.items():
            if not read & ~form.slots:
                of_form = form.predicates.get(read)
                if asked != of_form:
                    found *= _share(asked) / (1.0 if of_form is None else _share(of_form))
        if member.order is not form.order and (more := inside(member.order - form.order, form.slots)):
            following = count_followers(form.order)
            for key, count in count_followers(more).items():
                before = 1 + following.get(key, 0)
                found *= before / (before + count)
        return found


def _share(asked: NormalForm) -> float:
    """Return the share of events that predicates over the same slots let through."""
    if len(asked) == 1:
        (terms,) = asked
        return power(PREDICATE_SHARE, len(terms))
    return 1.0 - prod([1.0 - power(PREDICATE_SHARE, len(terms)) for terms in asked])


def _fillings(slot: Slot, events: float) -> float:
    """Return in how many ways events fill a slot: one each, or of lists those that are long enough and not too long."""
    if slot.repeat is None:
        return events
    ways, found = 1.0, 0.0
    for length in range(1, min(slot.repeat.most or _LONGEST_LIST, _LONGEST_LIST) + 1):
        ways *= max(0.0, events - length + 1) / length
        if length >= slot.repeat.least:
            found += ways
    return min(MOST, found)
