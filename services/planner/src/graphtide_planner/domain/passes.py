"""Which patterns run in one pass: each host matches the plans of a stream together.

What a plan costs depends on who runs beside it, so patterns are to be looked at again when those of their engine have become
twice as many. So a registration leads to two looks at most, on the average, however many patterns there are.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from graphtide_query.estimates.crowd import Company


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
    """The patterns of a pass that one engine matches, and how many they were when they were looked at last."""

    names: set[str] = field(default_factory=set)
    looked_at: int = 1


@dataclass(slots=True)
class Passes:
    """The patterns of each pass, by engine."""

    _alike: dict[PassId, dict[str, _Alike]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(_Alike)))
    _places: dict[str, tuple[PassId, str]] = field(default_factory=dict)
    _crowded: set[str] = field(default_factory=set)

    def join(self, name: str, at: PassId, engine: str) -> None:
        """Let a pattern run in a pass, and in no other."""
        self.leave(name)
        self._places[name] = at, engine
        alike = self._alike[at][engine]
        alike.names.add(name)
        if len(alike.names) >= 2 * alike.looked_at:
            alike.looked_at = len(alike.names)
            self._crowded |= alike.names

    def leave(self, name: str) -> None:
        """Let a pattern run in no pass."""
        self._crowded.discard(name)
        place = self._places.pop(name, None)
        if place is None:
            return
        at, engine = place
        alike = self._alike[at][engine]
        alike.names.discard(name)
        if 2 * len(alike.names) <= alike.looked_at:
            alike.looked_at = max(1, len(alike.names))
        if not alike.names:
            del self._alike[at][engine]
            if not self._alike[at]:
                del self._alike[at]

    def company(self, name: str, at: PassId, engine: str) -> Company:
        """Return the company that a pattern has, or would have, by an engine in a pass. Complexity: O(engines)."""
        there = self._alike.get(at, {})
        is_in, by = self._places.get(name, (None, ""))
        others = sum(len(alike.names) for alike in there.values()) - (is_in == at)
        alike = len(there[engine].names) - (is_in == at and by == engine) if engine in there else 0
        return Company(others + 1, alike + 1)

    def crowded(self) -> set[str]:
        """Return the patterns whose company has grown to twice what it was, each time once."""
        found, self._crowded = self._crowded, set()
        return found
