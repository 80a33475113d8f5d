"""What is measured of one pattern under one engine, and the kinds of results that are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.runs import Timed
from graphtide_bench.subgraphs.summary import by_pattern, by_storage, by_stream, by_threads, growth

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_bench.frame.kinds import Value


@dataclass(frozen=True, slots=True)
class Measurement(Timed):
    """A case and what was measured.

    Attributes:
        workload: name of the stream's workload.
        window: of the pattern, in ticks.
        drawn_from: edges of the stream that the pattern was drawn from.
        pattern: its name.
        engine: its name.
        variant: of the engine's plan: storage of `timing`, strategy of `sj-tree`; None for the others.
        source: one of `SOURCES`.
        threads: of the matcher.
        locking: how they lock; None for one thread.
        edges: of the stream.
        seconds: of every run.
        matches: found by each run.
        peak_partial_matches: most that were alive at once.
        peak_state_bytes: most that partial matches and the windowed store took at once, by the engine's own account.
    """

    workload: str
    window: int
    drawn_from: int
    pattern: str
    engine: str
    variant: str | None
    source: str
    threads: int
    locking: str | None
    edges: int
    seconds: tuple[float, ...]
    matches: int
    peak_partial_matches: int
    peak_state_bytes: int

    @property
    def order(self) -> str:
        """The pattern's timing order: the part of its name after the last underscore."""
        return self.pattern.rpartition("_")[2]

    @property
    def way(self) -> str:
        """The engine with all that its speed depends on."""
        parts = [self.engine]
        if self.variant is not None:
            parts.append(self.variant)
        if self.source != "memory":
            parts.append(f"from {self.source}")
        if self.threads > 1:
            parts.append(f"{self.threads} threads, locking {self.locking}")
        return ", ".join(parts)


def _values(measurements: Sequence[Measurement]) -> Iterator[Value]:
    for each in measurements:
        where = f"{each.workload} {each.window:,} {each.way}"
        yield f"edges/s, {where}", each.pattern, each.rate
        yield f"peak state, {where}", each.pattern, float(each.peak_state_bytes)


PATTERNS: Final = Kind(
    "patterns",
    Measurement,
    lambda found: (by_stream(found), *growth(found)),
    details=lambda found: (by_pattern(found),),
    values=_values,
)
STORAGES: Final = Kind("storages", Measurement, lambda found: (by_storage(found),), values=_values)
THREADS: Final = Kind("threads", Measurement, lambda found: (by_threads(found),), values=_values)
