"""When to look at a stream again, and which patterns get another plan.

Every `every` records a sample is counted. If it drifted from what the plans were made on, every pattern is planned again, and
the new plan is taken where it is estimated to cost less by a margin than the old one would on the stream as it is now: so a
stream between two states does not swing plans to and fro.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.statistics import DriftPolicy, StatisticsSnapshot, should_replan
from graphtide_native.statistics import StreamStatistics
from graphtide_query.search.choice import cost
from graphtide_query.search.cost_model import CostModel

if TYPE_CHECKING:
    from graphtide_core.plan import Plan
    from graphtide_native.records import EdgeBatch, Symbols


@dataclass(frozen=True, slots=True)
class AdaptationPolicy:
    """How often and how readily plans change.

    Attributes:
        every: records between two samples.
        sample: records a sample has at least.
        drift: what counts as a change of the stream.
        margin: share of the old plan's estimated cost that the new one's must stay below.
    """

    every: int = 50_000
    sample: int = 5_000
    drift: DriftPolicy = DriftPolicy()  # noqa: RUF009 - frozen, so one instance serves all
    margin: float = 0.8


class Watch:
    """Samples a stream and tells when it has drifted."""

    def __init__(self, symbols: Symbols, planned_on: StatisticsSnapshot, policy: AdaptationPolicy) -> None:
        """Start with what the first plans were made on."""
        self._symbols = symbols
        self._planned_on = planned_on
        self._policy = policy
        self._until_sample = policy.every
        self._sample: StreamStatistics | None = None
        self._sampled = 0

    def look(self, batch: EdgeBatch) -> StatisticsSnapshot | None:
        """Take a batch; return the sample if it is complete and the stream has drifted, to plan on it."""
        self._until_sample -= len(batch)
        if self._sample is None:
            if self._until_sample > 0:
                return None
            self._sample, self._sampled = StreamStatistics(self._symbols), 0
        self._sample.push(batch)
        self._sampled += len(batch)
        if self._sampled < self._policy.sample:
            return None
        now = self._sample.snapshot()
        self._sample, self._until_sample = None, self._policy.every
        if not should_replan(self._planned_on, now, self._policy.drift):
            return None
        self._planned_on = now
        return now


def is_worth_it(old: Plan, new: Plan, known: StatisticsSnapshot, ticks: int, margin: float) -> bool:
    """Whether the new plan is estimated cheaper than the old one by the margin, on the stream as it is known now.

    Args:
        old: the plan that runs.
        new: the plan that would.
        known: statistics of the stream now.
        ticks: the pattern's window in ticks.
        margin: share of the old cost that the new one must stay below.
    """
    if new.physical == old.physical:
        return False
    model = CostModel(old.pattern, known, ticks)
    return cost(model, new.physical).nanoseconds < margin * cost(model, old.physical).nanoseconds
