"""Repeated runs of one case: their median, least, greatest and spread, in wall and processor time."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values, the least and the greatest."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return the spread of at least one value."""
        found = tuple(values)
        return cls(median(found), min(found), max(found))

    @property
    def share(self) -> float:
        """Share of the median that lies between the least and the greatest."""
        return (self.greatest - self.least) / self.median

    def rounded(self, digits: int = 3) -> dict[str, float]:
        """Return the three values by name, as a row of a script has them."""
        values = {"median": self.median, "least": self.least, "greatest": self.greatest}
        return {name: round(value, digits) if digits else round(value) for name, value in values.items()}


class Timed:
    """A case of a stream that was run several times: a base of dataclasses with `edges` and `seconds`, one for each run."""

    __slots__ = ()
    edges: int
    seconds: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Edges a second in the median run."""
        return self.edges / median(self.seconds)

    @property
    def slowest(self) -> float:
        """Edges a second in the slowest run."""
        return self.edges / max(self.seconds)

    @property
    def fastest(self) -> float:
        """Edges a second in the fastest run."""
        return self.edges / min(self.seconds)

    @property
    def spread(self) -> float:
        """Share of the median that lies between the slowest and the fastest run."""
        return Spread.of(self.seconds).share


@dataclass(frozen=True, slots=True)
class Runs:
    """Wall and processor seconds of the runs of a case."""

    wall: Spread
    processor: Spread

    def columns(self) -> Mapping[str, Mapping[str, float]]:
        """Return the columns of a row."""
        return {"wall seconds": self.wall.rounded(), "processor seconds": self.processor.rounded()}


def repeat(cases: Iterable[Callable[[], object]], repeats: int, *, warm: int = 0) -> tuple[Runs, ...]:
    """Run all cases in every pass, so that a change of the machine's load meets all; the first `warm` passes do not count."""
    chosen = tuple(cases)
    seconds: list[list[tuple[float, float]]] = [[] for _ in chosen]
    for turn in range(warm + repeats):
        for place, case in enumerate(chosen):
            wall, processor = perf_counter(), process_time()
            case()
            took = (perf_counter() - wall, process_time() - processor)
            if turn >= warm:
                seconds[place].append(took)
    return tuple(Runs(*(Spread.of(clock) for clock in zip(*own, strict=True))) for own in seconds)
