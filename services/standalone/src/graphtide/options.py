"""How a run is to be done: everything a user can choose beside pattern and stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.attribute_type import AttributeType, declared_types
from graphtide_core.plan import SjTreeStrategy, Storage
from graphtide_core.time import MAX_EVENT_TIME, Duration, TimeUnit
from graphtide_native.spec import Concurrency, Limits
from graphtide_query.planner import AUTO

from graphtide.adaptation import AdaptationPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        types: what is declared of attributes, `string`, `integer`, `number` or `boolean` each; see `ReaderOptions.types`.
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
    types: Mapping[str, AttributeType | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no engine can count to.

        Raises:
            ValueError: the lateness is longer than times can be apart, or a bound is below zero or past 64 bits.
            InvalidQueryError: a type is none.
        """
        _ = self.declared
        if self.lateness.ticks(self.time_unit) > MAX_EVENT_TIME:
            message = f"a lateness of {self.lateness} is longer than times can be apart: {MAX_EVENT_TIME} ticks"
            raise ValueError(message)
        bounds = {
            "max_pending": self.max_pending,
            "limits.partial_matches": self.limits.partial_matches,
            "limits.state_bytes": self.limits.state_bytes,
            "limits.work": self.limits.work,
        }
        for name, bound in bounds.items():
            if bound is not None and not 0 <= bound <= MAX_EVENT_TIME:
                message = f"{name} is 0 to {MAX_EVENT_TIME}, not {bound}"
                raise ValueError(message)

    @property
    def declared(self) -> dict[str, AttributeType]:
        """What is declared of attributes, as types."""
        return declared_types(
            {name: kind.value if isinstance(kind, AttributeType) else kind for name, kind in self.types.items()}
        )
