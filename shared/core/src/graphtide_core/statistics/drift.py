"""How far a stream has moved from what its plans were made for.

Plans depend on the order of selectivities more than on the selectivities themselves: which edge of a pattern is rarest decides
where a search starts. So drift is measured as the change of that order, and of the rate, on which the size of state depends.

The change of order is a weighted Kendall distance: of all pairs of kinds, the share that changed places. A pair weighs the
product of the two kinds' mean shares, so what is rare on both sides hardly counts. Paper 003, section 6.3, saw just that
fluctuate. A pair has changed places only if its order is clear on both sides. The more frequent kind has a quarter more. And
the counts differ by more than three standard deviations of what chance does to counts of that size.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from itertools import takewhile
from math import log2
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.statistics.snapshot import StatisticsSnapshot

CLEARLY_MORE: Final = 1.25
"""How many times as frequent a kind must be as another for their order to count."""

_DEVIATIONS: Final = 3
"""By how many standard deviations of the difference of two Poisson counts they must differ for it."""

MOST_KINDS: Final = 256
"""Kinds whose order is compared; the rarest beyond are left out: their pairs can grow with the square and weigh nothing."""


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
    """Measure the change. Complexity: O(k log k + c) for k kinds, up to `MOST_KINDS`; c pairs changed places."""
    both = then.rate > 0 and now.rate > 0
    types = [(then.types.get(kind, 0), now.types.get(kind, 0)) for kind in {**then.types, **now.types}]
    paths = then.path_counts.beside(now.path_counts) if then.paths is not None and now.paths is not None else []
    return Drift(
        order=_order_change(types),
        path_order=_order_change(paths),
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


class _Counted(NamedTuple):
    """A kind on both sides: how often it occurs after and before, and its shares there, added."""

    after: int
    before: int
    share: float


def _order_change(counts: Sequence[tuple[int, int]]) -> float:
    """Return the change of order of kinds, each given by how often it occurs before and after."""
    all_then, all_now = sum(before for before, _ in counts), sum(after for _, after in counts)
    if all_then == 0 or all_now == 0:
        return 0.0
    kinds = [_Counted(after, before, before / all_then + after / all_now) for before, after in counts]
    kinds = sorted(kinds, key=lambda kind: -kind.share)[:MOST_KINDS]
    pairs = (sum(kind.share for kind in kinds) ** 2 - sum(kind.share**2 for kind in kinds)) / 2
    # Sums of floating-point numbers may come out a little above the whole.
    return min(1.0, _weigh_changes(kinds) / pairs) if pairs > 0 else 0.0


def _weigh_changes(kinds: Iterable[_Counted]) -> float:
    """Return the weight of the pairs that changed places.

    Down the order of before, the kinds clearly above one are a growing prefix. Of those, the ones clearly below it after are a
    prefix again, in the order of after: so only pairs that changed are looked at.
    """
    ranked = sorted(kinds, key=lambda kind: -kind.before)
    above: list[_Counted] = []
    weight, entered = 0.0, 0
    for kind in ranked:
        while _is_clearly_more(ranked[entered].before, kind.before):
            insort(above, ranked[entered])
            entered += 1
        weight += kind.share * sum(other.share for other in _fallen_below(kind, above))
    return weight


def _fallen_below(kind: _Counted, others: Iterable[_Counted]) -> Iterator[_Counted]:
    """Return the first of these, in the order of after, that are clearly below the kind."""
    return takewhile(lambda other: _is_clearly_more(kind.after, other.after), others)


def _is_clearly_more(count: int, other: int) -> bool:
    return count > CLEARLY_MORE * other and (count - other) ** 2 > _DEVIATIONS**2 * (count + other)
