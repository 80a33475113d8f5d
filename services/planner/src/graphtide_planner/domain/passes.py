"""Which patterns run in one pass: each host matches the plans of a stream together.

What a plan costs depends on what runs beside it. So patterns are looked at again when those of their engine have become twice
as many. So a registration leads to two looks at most, on the average, however many patterns there are. Patterns that one engine
matches together (`shared_units`) count once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from graphtide_query.estimates.colocation import EngineLoad

if TYPE_CHECKING:
    from collections.abc import Hashable


class HostId(NamedTuple):
    """One shard of a matcher service."""

    service: str
    shard: int


class PassId(NamedTuple):
    """One stream at one host."""

    stream: str
    host: HostId


@dataclass(slots=True)
class _Alike:
    """The patterns of a pass that one kind of engine matches, by unit, and how many units there were at the last look."""

    names: set[str] = field(default_factory=set)
    units: Counter[Hashable] = field(default_factory=Counter)
    looked_at: int = 1


@dataclass(slots=True)
class Passes:
    """The patterns of each pass, by engine."""

    _alike: dict[PassId, dict[str, _Alike]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(_Alike)))
    _places: dict[str, tuple[PassId, str, Hashable]] = field(default_factory=dict)
    _regrown: set[str] = field(default_factory=set)

    def join(self, name: str, at: PassId, engine: str, unit: Hashable | None = None) -> None:
        """Let a pattern run in a pass, and in no other, and in the unit there that is given, if one is."""
        self.leave(name)
        unit = name if unit is None else unit
        self._places[name] = at, engine, unit
        alike = self._alike[at][engine]
        alike.names.add(name)
        alike.units[unit] += 1
        if len(alike.units) >= 2 * alike.looked_at:
            alike.looked_at = len(alike.units)
            self._regrown |= alike.names

    def leave(self, name: str) -> None:
        """Let a pattern run in no pass."""
        self._regrown.discard(name)
        place = self._places.pop(name, None)
        if place is None:
            return
        at, engine, unit = place
        alike = self._alike[at][engine]
        alike.names.discard(name)
        alike.units[unit] -= 1
        if not alike.units[unit]:
            del alike.units[unit]
        if 2 * len(alike.units) <= alike.looked_at:
            alike.looked_at = max(1, len(alike.units))
        if not alike.names:
            del self._alike[at][engine]
            if not self._alike[at]:
                del self._alike[at]

    def engine_load(self, name: str, at: PassId, engine: str) -> EngineLoad:
        """Return the co-located load of a pattern by an engine in a pass, current or hypothetical. Complexity: O(engines)."""
        there = self._alike.get(at, {})
        is_in, by, _ = self._places.get(name, (None, "", None))
        others = sum(len(alike.units) for alike in there.values()) - (is_in == at)
        alike = len(there[engine].units) - (is_in == at and by == engine) if engine in there else 0
        return EngineLoad(others + 1, alike + 1)

    def regrown(self) -> set[str]:
        """Return the patterns whose co-located load has doubled, once for each doubling."""
        found, self._regrown = self._regrown, set()
        return found
