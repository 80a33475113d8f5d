"""How far a stream has moved from what its plans were made for.

Plans depend on the order of selectivities more than on the selectivities themselves: which edge of a pattern is rarest decides
where a search starts. So drift is measured as the change of that order, and of the rate, on which the size of state depends.

The change of order is a weighted Kendall distance: of all pairs of kinds, the share that changed places. A pair weighs the
product of the two kinds' mean shares, so what is rare on both sides hardly counts: paper 003, section 6.3, saw just that
fluctuate. A pair has changed places only if its order is clear on both sides: the more frequent kind has a quarter more, and
the counts differ by more than three standard deviations of what chance does to counts of that size.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.statistics.snapshot import StatisticsSnapshot

_Kind = TypeVar("_Kind")

CLEARLY_MORE: Final = 1.25
"""How many times as frequent a kind must be as another for their order to count."""

_DEVIATIONS: Final = 3
"""By how many standard deviations of the difference of two Poisson counts they must differ for it."""

MOST_KINDS: Final = 256
"""Kinds whose order is compared; the rarest beyond are left out, since their pairs grow with the square and weigh nothing."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The change from one snapshot to another.

    Attributes:
        order: weighted share of pairs of edge types that changed places, 0.0 to 1.0.
        path_order: the same of types of 2-edge paths; 0.0 where they are not known on both sides.
        rate: doublings or halvings of the rate: 1.0 is twice or half as many edges a tick. 0.0 where one side has no edges.
    """

    order: float
    path_order: float
    rate: float


@dataclass(frozen=True, slots=True)
class DriftPolicy:
    """When a new plan is worth its cost: any measure of drift above its bound, seen on enough edges.

    Attributes:
        order: bound on `Drift.order`.
        path_order: bound on `Drift.path_order`.
        rate: bound on `Drift.rate`.
        fewest_edges: edges that the new snapshot must have to be believed.
    """

    order: float = 0.1
    path_order: float = 0.2
    rate: float = 2.0
    fewest_edges: int = 1000


def drift(then: StatisticsSnapshot, now: StatisticsSnapshot) -> Drift:
    """Measure the change. Complexity: O(k^2) for k kinds, up to `MOST_KINDS`."""
    both = then.rate > 0 and now.rate > 0
    known_paths = then.paths is not None and now.paths is not None
    return Drift(
        order=_order_change(then.types, now.types),
        path_order=_order_change(then.paths or {}, now.paths or {}) if known_paths else 0.0,
        rate=abs(log2(now.rate / then.rate)) if both else 0.0,
    )


def should_replan(then: StatisticsSnapshot, now: StatisticsSnapshot, policy: DriftPolicy) -> bool:
    """Return whether plans made with `then` deserve to be made anew with `now`.

    Plans made with nothing known do as soon as something is.
    """
    if now.edges < max(1, policy.fewest_edges):
        return False
    if then.edges == 0:
        return True
    change = drift(then, now)
    return change.order > policy.order or change.path_order > policy.path_order or change.rate > policy.rate


def _order_change(then: Mapping[_Kind, int], now: Mapping[_Kind, int]) -> float:
    all_then, all_now = sum(then.values()), sum(now.values())
    if all_then == 0 or all_now == 0:
        return 0.0
    counts = [(then.get(kind, 0), now.get(kind, 0)) for kind in {**then, **now}]
    shares = [(before / all_then + after / all_now, before, after) for before, after in counts]
    shares = sorted(shares, reverse=True)[:MOST_KINDS]
    changed = compared = 0.0
    for place, (share, before, after) in enumerate(shares):
        for other_share, other_before, other_after in shares[place + 1 :]:
            weight = share * other_share
            compared += weight
            if _clear_order(before, other_before) * _clear_order(after, other_after) < 0:
                changed += weight
    return changed / compared if compared > 0 else 0.0


def _clear_order(count: int, other: int) -> int:
    """Return 1 if `count` is clearly the greater, -1 if `other` is, 0 if neither."""
    if (count - other) ** 2 <= _DEVIATIONS**2 * (count + other):
        return 0
    return (count > CLEARLY_MORE * other) - (other > CLEARLY_MORE * count)
