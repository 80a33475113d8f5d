"""When to look at a stream again, and which patterns get another plan.

Every `every` records the watch has a glance at the stream: it counts the edge types of a few records. If they drifted from what
the plans were made on, it counts a longer sample right after, 2-edge paths too. Every pattern is planned again on that; event
patterns of a stream together. The new plan is taken if its estimated cost on the present stream is less than that of the old
one by a margin. So a stream between two states does not swing plans to and fro. So do graph queries, whose new operators take
the records of their windows again. Because paths can drift while types stay, one glance in `paths_every` is such a sample: it
costs some ten times as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.statistics import DriftPolicy, StatisticsSnapshot, should_replan
from graphtide_native.statistics import StreamStatistics

if TYPE_CHECKING:
    from graphtide_native.records import EdgeBatch, Symbols


@dataclass(frozen=True, slots=True)
class AdaptationPolicy:
    """How often and how readily plans change.

    Attributes:
        every: records between two glances.
        glance: records whose types are counted.
        sample: records of a sample with paths, to plan on.
        paths_every: every how many glances one is such a sample.
        drift: what counts as a change of the stream.
        margin: share of the old plan's estimated cost that the new one's must stay below.
    """

    every: int = 50_000
    glance: int = 2_000
    sample: int = 5_000
    paths_every: int = 16
    drift: DriftPolicy = DriftPolicy()  # noqa: RUF009 - frozen, so one instance serves all
    margin: float = 0.8


class Watch:
    """Samples a stream and reports when it has drifted."""

    def __init__(self, symbols: Symbols, planned_on: StatisticsSnapshot, policy: AdaptationPolicy) -> None:
        """Start with what the first plans were made on."""
        self._symbols = symbols
        self._planned_on = planned_on
        self._policy = policy
        self._until_glance = policy.every
        self._counted: StreamStatistics | None = None
        self._wanted = 0
        self._glances = 0
        self._suspects = False

    def look(self, batch: EdgeBatch) -> StatisticsSnapshot | None:
        """Take a batch; return a sample with paths if it is complete and the stream has drifted, to plan on it."""
        self._until_glance -= len(batch)
        if self._until_glance > 0:
            return None
        if self._counted is None:
            self._counted = self._begin()
        self._counted.push(batch, most=self._wanted)
        self._wanted -= min(self._wanted, len(batch))
        if self._wanted > 0:
            return None
        now = self._counted.snapshot()
        self._counted = None
        return self._checked(now)

    def _begin(self) -> StreamStatistics:
        self._glances += 1
        with_paths = self._suspects or self._glances % self._policy.paths_every == 0
        self._wanted = self._policy.sample if with_paths else self._policy.glance
        return StreamStatistics(self._symbols, paths=with_paths)

    def _checked(self, now: StatisticsSnapshot) -> StatisticsSnapshot | None:
        """Return the sample if it is fit to plan on, and say when the next one is due."""
        drifted = should_replan(self._planned_on, now, self._policy.drift)
        self._suspects = drifted and now.paths is None
        self._until_glance = 0 if self._suspects else self._policy.every
        if not drifted or self._suspects:
            return None
        self._planned_on = now
        return now
