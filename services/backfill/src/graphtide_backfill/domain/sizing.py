"""How to cut history: slices of about equal numbers of edges, long against the window, several for each core.

Cost of n slices on c cores, for N edges and a mean of w edges in a window. The work is N + n * w edges. The cores take ceil(n /
c) rounds of N / n + w each. More slices even out the cores and lose less when one fails; longer ones repeat less.
Memory does not ask for short slices: an executor holds what is in the window, however long the slice is. Only history out of
order makes it hold what waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final

import numpy as np
from graphtide_core.errors import FatalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_backfill.domain.profile import Profile

BYTES_AN_EDGE: Final = 400
"""Bytes of an edge in the window or waiting. 120 to 280 were measured (`docs/benchmarks/spark.md`); the rest is for matches.
"""

BASE_BYTES: Final = 200 * 1024 * 1024
"""Memory of a process that matches a slice, before its first edge."""

SLICES_A_CORE: Final = 3
"""Slices for each core, where the window allows."""

WINDOWS_A_SLICE: Final = 4
"""Windows that a slice should be long, so that at most a fourth of the work is repeated."""

MOST_EDGES: Final = 10_000_000
"""Edges of a slice: what is lost at most when an executor is."""

MOST_SLICES: Final = 20_000
"""Slices that one run takes."""


class WindowTooLargeError(FatalError):
    """A window alone does not fit into the memory of an executor."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to match with.

    Attributes:
        cores: slices that are matched at once.
        slice_bytes: memory that each of them may take.
    """

    cores: int
    slice_bytes: int

    @property
    def edges(self) -> int:
        """Edges that a slice may hold at once."""
        return max(0, self.slice_bytes - BASE_BYTES) // BYTES_AN_EDGE


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will take.

    Attributes:
        edges: edges in the slices.
        repeated: edges that are looked at again, before slices.
        densest_ts: where a window holds most edges.
        densest_edges: how many.
        memory_bytes: memory that a slice needs for them.
    """

    edges: int
    repeated: int
    densest_ts: int
    densest_edges: int
    memory_bytes: int

    @property
    def factor(self) -> float:
        """The work by that of one pass."""
        return (self.edges + self.repeated) / self.edges if self.edges else 1.0


@dataclass(frozen=True, slots=True)
class Load:
    """How the records of history spread over the parts of a key that are used, as if they did so at all times.

    Attributes:
        parts: how many are used.
        work: records of all of them, by those of history: less than 1 if a part is not used, more if parts share records.
        largest: records of the part that has most, by those of history.
    """

    parts: int = 1
    work: float = 1.0
    largest: float = 1.0

    @classmethod
    def of(cls, by_part: Sequence[int], used: Sequence[int], records: int) -> Load:
        """Return the load of parts, given the records of each; without parts, that of the whole."""
        if not by_part or not records:
            return cls(len(used))
        loads = [by_part[part] for part in used]
        return cls(len(used), sum(loads) / records, max(loads, default=0) / records)


WHOLE: Final = Load()
"""The load of history that is not divided."""


def cut_evenly(
    profile: Profile, start: int, end: int, window: int, machine: Machine, *, in_order: bool, load: Load = WHOLE
) -> tuple[int, ...]:
    """Return the bounds of slices of about equal numbers of edges from `start` to before `end`; one time is never cut.

    Args:
        profile: of history.
        start: first time that is matched.
        end: time before which the last ends.
        window: ticks of the longest window.
        machine: what there is.
        in_order: whether edges arrived in order of time; else a slice may have to hold all of its edges.
        load: of the parts of a key: with them, fewer slices of time keep all cores busy.
    """
    chosen = profile.between(start, end)
    largest = max(load.largest, 1 / MOST_EDGES)
    most = MOST_EDGES
    if not in_order:
        most = max(1, min(most, machine.edges - int(_mean_window(chosen, window) * largest)))
    number = _number(chosen, window, machine.cores)
    if load.parts > 1:
        number = min(number, -(-machine.cores * SLICES_A_CORE // load.parts))
    number = max(number, ceil(chosen.total * largest / most))
    number = min(number, max(1, MOST_SLICES // max(1, load.parts)))
    until = np.cumsum(chosen.edges)
    targets = chosen.total * np.arange(1, number) // number
    places = np.searchsorted(until, targets, "left")
    inner = np.unique(chosen.times[places] + 1) if len(chosen.times) else np.zeros(0, np.int64)
    return (start, *(int(each) for each in inner if start < each < end), end)


def cut_by_length(start: int, end: int, length: int, parts: int = 1) -> tuple[int, ...]:
    """Return the bounds of slices of equal length.

    Raises:
        FatalError: with so many parts of a key each, they are too many.
    """
    if (end - start) // length * parts >= MOST_SLICES:
        message = f"slices of {length} ticks would be more than {MOST_SLICES}: choose longer ones, or auto"
        raise FatalError(message)
    return (*range(start, end, length), end)


def estimate_size(profile: Profile, bounds: Sequence[int], window: int, load: Load = WHOLE) -> Estimate:
    """Return what matching the slices between these bounds takes."""
    if not bounds:
        return Estimate(0, 0, 0, 0, BASE_BYTES)
    whole = profile.between(bounds[0] - window + 1, bounds[-1])
    repeated = sum(profile.between(start - window + 1, start).total for start in bounds[:-1])
    at, held = whole.densest(window)
    edges = profile.between(bounds[0], bounds[-1]).total
    own = round(edges * min(1.0, load.work))
    # Records that several parts have are looked at again.
    again = round((edges + repeated) * load.work) - own
    held = ceil(held * load.largest)
    return Estimate(own, again, at, held, BASE_BYTES + held * BYTES_AN_EDGE)


def check_memory(estimate: Estimate, machine: Machine) -> None:
    """Do nothing if the densest window fits.

    Raises:
        WindowTooLargeError: it does not.
    """
    if estimate.memory_bytes <= machine.slice_bytes:
        return
    message = (
        f"the window that ends at {estimate.densest_ts} holds about {estimate.densest_edges:,} edges, which need about "
        f"{_mebibytes(estimate.memory_bytes)}; a slice may take {_mebibytes(machine.slice_bytes)}. No slice can hold less "
        "than its window: give executors more memory (--executor-memory), or fewer cores each"
    )
    raise WindowTooLargeError(message)


def _number(profile: Profile, window: int, cores: int) -> int:
    """Return how many slices balance best: a few for each core if they stay long against the window."""
    total, held = profile.total, max(1, _mean_window(profile, window))
    for rounds in range(SLICES_A_CORE, 1, -1):
        if total >= WINDOWS_A_SLICE * held * cores * rounds:
            return cores * rounds
    # Shorter than a window, a slice repeats more than it does.
    return max(1, min(cores, total // held))


def _mean_window(profile: Profile, window: int) -> int:
    """Return how many edges a window holds in the mean."""
    length = max(1, profile.last - profile.first + 1)
    return min(profile.total, -(-profile.total * min(window, length) // length))


def _mebibytes(count: int) -> str:
    return f"{-(-count // (1024 * 1024)):,} MB"
