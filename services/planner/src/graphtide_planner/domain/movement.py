"""Whose plans a new snapshot may change.

Those of a label that came, went, or is twice or half as frequent as when plans were looked at last. All, if the stream has
drifted (`graphtide_core.statistics.drift`), which also shows what labels alone do not. Snapshots come every few seconds and
mostly say the same, and to plan a pattern takes milliseconds.
Cost: O(types of edges) a snapshot.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.statistics import StatisticsSnapshot, should_replan

if TYPE_CHECKING:
    from graphtide_core.statistics import DriftPolicy

_TIMES: Final = 2.0
"""By what factor a label's rate must change: plans are replaced for a gain of a fifth, and their costs follow rates."""

_DEVIATIONS: Final = 3
"""By how many standard deviations of the difference of two Poisson counts they must differ for it."""


class _Rate(NamedTuple):
    """How many edges of a label there were in so many ticks."""

    edges: int
    ticks: int


_NEVER: Final = _Rate(0, 1)


@dataclass(slots=True)
class Movement:
    """How one stream was when the plans on it were looked at last."""

    policy: DriftPolicy
    _whole: StatisticsSnapshot
    _rates: dict[str, _Rate]

    @classmethod
    def begin(cls, policy: DriftPolicy) -> Movement:
        """Return that of an unknown stream."""
        return cls(policy, StatisticsSnapshot(), {})

    def take(self, now: StatisticsSnapshot) -> frozenset[str] | None:
        """Take a snapshot; return the labels that moved, None if the stream has drifted."""
        if now.edges < max(1, self.policy.fewest_edges):
            return frozenset()
        ticks = now.window.ticks if now.window is not None else 1
        rates = _rates(now, ticks)
        if should_replan(self._whole, now, self.policy):
            self._whole, self._rates = now, rates
            return None
        rates = {label: _Rate(0, ticks) for label in self._rates} | rates
        moved = {label: rate for label, rate in rates.items() if _is_moved(self._rates.get(label, _NEVER), rate)}
        self._rates |= moved
        return frozenset(moved)


def _rates(snapshot: StatisticsSnapshot, ticks: int) -> dict[str, _Rate]:
    edges: defaultdict[str, int] = defaultdict(int)
    for kind, count in snapshot.types.items():
        edges[kind.label] += count
    return {label: _Rate(count, ticks) for label, count in edges.items()}


def _is_moved(then: _Rate, now: _Rate) -> bool:
    expected = then.edges * now.ticks / then.ticks
    least, most = sorted((expected, float(now.edges)))
    return most >= _TIMES * least and (most - least) ** 2 > _DEVIATIONS**2 * (most + least)
