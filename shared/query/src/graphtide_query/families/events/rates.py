"""Estimated instances of sub-patterns: how many are alive, by the rates of event types and what predicates let through.

Of n events in the time of a sub-pattern, its slots take any; an order keeps the share of permutations that agree with it, which
for orders that are forests is the product, over the slots, of one through the number of slots from it on. Predicates let
`PREDICATE_SHARE` through each. What must not come is left out of account. The estimates compare plans; they promise no figures.

Reference: paper 002, section 2.3 (stream statistics).
"""

from __future__ import annotations

from collections import Counter
from math import pow as power
from math import prod
from typing import TYPE_CHECKING, Final

from graphtide_query.estimates.cost_model import MOST, PREDICATE_SHARE
from graphtide_query.families.events.forms import bits, unpaired

if TYPE_CHECKING:
    from graphtide_core.plans.events import Slot
    from graphtide_core.statistics import StatisticsSnapshot

    from graphtide_query.families.events.forms import Disjunction, Form, Forms

UNKNOWN_EVENTS: Final = 10.0
"""Events of a type in the time of a pattern where nothing is known of the stream."""

_LONGEST_LIST: Final = 64
"""Events up to which the lists of a repeated slot are counted."""


class Rates:
    """How often events of each type come."""

    def __init__(self, statistics: StatisticsSnapshot) -> None:
        """Take what is known. Complexity: O(types of edges)."""
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

    def instances(self, forms: Forms, form: Form) -> float:
        """Return how many instances of a sub-pattern are alive. Complexity: O(slots + pairs of the order + predicates)."""
        following = Counter([unpaired(pair)[0] for pair in form.order])
        found = 1.0
        for key in bits(form.slots):
            slot = forms.keys[key][0]
            found *= _fillings(slot, self.events(slot.types, form.within)) / (1 + following[key])
        return min(MOST, found * prod(map(_share, form.predicates.values())))


def _share(asked: Disjunction) -> float:
    """Return the share of events that predicates over the same slots let through."""
    return 1.0 - prod(1.0 - power(PREDICATE_SHARE, len(terms)) for terms in asked)


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
