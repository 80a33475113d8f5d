"""How a run is to be done: everything a user can choose beside pattern and stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.plan import SjTreeStrategy, Storage
from graphtide_core.time import Duration, TimeUnit
from graphtide_native.spec import Concurrency, Limits
from graphtide_query.planner import AUTO

from graphtide.adaptation import AdaptationPolicy

if TYPE_CHECKING:
    from graphtide_core.statistics import StatisticsSnapshot


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """What a run is told.

    Attributes:
        engine: name of an engine, or `auto` for the one that is estimated cheapest for each pattern.
        storage: how the `timing` engine stores partial matches.
        strategy: how `sj-tree` splits a pattern and searches; None chooses by Relative Selectivity.
        time_unit: what the stream's `ts` counts.
        lateness: how much later than a newer record a record may come and still be put in order; later ones are put aside.
        limits: bounds on each pattern's state and work.
        concurrency: threads of the `timing` engine.
        statistics: what is known of the stream; None to look at its first records.
        max_pending: records held back at once to be put in order; beyond it the oldest are released early.
        adapt: under `auto`, whether plans change when the stream does; then edges are kept to warm new engines with.
        adaptation: how readily.
    """

    engine: str = AUTO
    storage: Storage = Storage.MS_DAG
    strategy: SjTreeStrategy | None = None
    time_unit: TimeUnit = TimeUnit.MILLISECOND
    lateness: Duration = Duration(0)  # noqa: RUF009 - frozen, so one instance serves all
    limits: Limits = field(default_factory=Limits)
    concurrency: Concurrency = field(default_factory=Concurrency)
    statistics: StatisticsSnapshot | None = None
    max_pending: int = 1 << 20
    adapt: bool = True
    adaptation: AdaptationPolicy = field(default_factory=AdaptationPolicy)
