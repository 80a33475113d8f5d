"""Which running patterns are equal except for their names: a host matches those of one plan by one engine, once for all.

So they are placed together, and have one plan: that of the first of them, by name. They cost their host what one of them costs.
A pattern with the plan of another is examined again when that one gets another plan.
Cost: O(text) for each text once. To ask for those that are equal, and to add or remove one, costs in proportion to how many
they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_query.families import family_of

from graphtide_planner.domain.texts import pattern_in

if TYPE_CHECKING:
    from graphtide_wire.control import LimitsForm

    from graphtide_planner.domain.passes import HostId

_MOST_TEXTS: Final = 65_536
"""Texts whose canonical form is kept."""


class Likeness(NamedTuple):
    """What is equal of patterns that one engine can match: what they ask, of which ordered stream, and the bounds that hold."""

    form: str
    stream: str
    limits: LimitsForm


class _Shared(NamedTuple):
    """What one engine matches on one host."""

    likeness: Likeness | str
    host: HostId


class _Place(NamedTuple):
    """Whom a pattern is like, and how it is matched."""

    likeness: Likeness | None
    shared: _Shared
    plan: object


@dataclass(slots=True)
class SharedUnits:
    """Running patterns by what is equal, and what hosts bear of them."""

    _names: defaultdict[Likeness, set[str]] = field(default_factory=lambda: defaultdict(set))
    _loads: defaultdict[_Shared, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    _by_host: Counter[HostId] = field(default_factory=Counter)
    _places: dict[str, _Place] = field(default_factory=dict)
    _stirred: set[str] = field(default_factory=set)

    def add(self, name: str, likeness: Likeness | None, host: HostId, plan: object, load: int) -> None:
        """Take the running plan of a name, which costs its host so much by itself."""
        before, place = self._places.get(name), _Place(likeness, _Shared(likeness or name, host), plan)
        if before is not None and before.likeness == likeness:
            self._bear(before.shared, name, None)
        else:
            self.remove(name)
        self._places[name] = place
        self._bear(place.shared, name, load)
        if likeness is not None:
            others = self._names[likeness] - {name}
            self._names[likeness].add(name)
            if others and name < (second := min(others)) and self._places[second] != place:
                self._stirred |= others

    def remove(self, name: str) -> None:
        """Forget the running plan of a name, if there is one."""
        self._stirred.discard(name)
        place = self._places.pop(name, None)
        if place is None:
            return
        self._bear(place.shared, name, None)
        if place.likeness is not None:
            names = self._names[place.likeness]
            was_first = min(names) == name
            names.discard(name)
            if not names:
                del self._names[place.likeness]
            elif was_first:
                self._stirred.add(min(names))

    def names(self, likeness: Likeness) -> list[str]:
        """Return the running patterns that are so, in the order of their names."""
        return sorted(self._names.get(likeness, ()))

    def beside(self, name: str) -> list[str]:
        """Return the running patterns that one host can match with this one by one engine, this one too, by their names."""
        place = self._places.get(name)
        return [] if place is None else sorted(self._loads[place.shared])

    def changed_groups(self) -> set[str]:
        """Return the patterns that follow another which has another plan now, or is gone; each time once."""
        found, self._stirred = self._stirred, set()
        return found

    def load(self, host: HostId) -> int:
        """Return what a host bears. Complexity: O(1)."""
        return self._by_host[host]

    def _bear(self, shared: _Shared, name: str, load: int | None) -> None:
        loads = self._loads[shared]
        before = max(loads.values(), default=0)
        loads.pop(name, None)
        if load is not None:
            loads[name] = load
        self._by_host[shared.host] += max(loads.values(), default=0) - before
        if not loads:
            del self._loads[shared]


def unit_key_of(text: str, stream: str, limits: LimitsForm) -> Likeness | None:
    """Return what is equal of patterns on an ordered stream that a host can match by one engine; None if it is matched alone.

    Raises:
        InvalidQueryError: the text is wrong.
    """
    form = _form(text)
    return None if form is None else Likeness(form, stream, limits.effective)


@lru_cache(maxsize=_MOST_TEXTS)
def _form(text: str) -> str | None:
    pattern = pattern_in(text)
    return family_of(pattern).canonical(pattern)
