"""How to cut history: slices of about equal numbers of edges, long against the window, several for each core.

Cost of n slices on c cores, for N edges and a mean of w edges in a window. The work is N + n * w edges. The cores take ceil(n /
c) rounds of N / n + w each. More slices even out the cores and lose less when one fails; longer ones repeat less.
Memory does not ask for short slices: an executor holds what is in the window, however long the slice is. Only history out of
order makes it hold what waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from graphtide_core.errors import FatalError

from graphtide_backfill.domain.slices import slices_at

if TYPE_CHECKING:
    from graphtide_backfill.domain.profile import Profile
    from graphtide_backfill.domain.slices import Slice

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


def cut_evenly(profile: Profile, start: int, end: int, window: int, machine: Machine, *, in_order: bool) -> tuple[Slice, ...]:
    """Return slices of about equal numbers of edges from `start` to before `end`; one time is never cut.

    Args:
        profile: of history.
        start: first time that is matched.
        end: time before which the last ends.
        window: ticks of the longest window.
        machine: what there is.
        in_order: whether edges arrived in order of time; else a slice may have to hold all of its edges.
    """
    chosen = profile.between(start, end)
    most = MOST_EDGES
    if not in_order:
        most = max(1, min(most, machine.edges - _mean_window(chosen, window)))
    number = max(_number(chosen, window, machine.cores), -(-chosen.total // most))
    number = min(number, MOST_SLICES)
    until = np.cumsum(chosen.edges)
    targets = chosen.total * np.arange(1, number) // number
    places = np.searchsorted(until, targets, "left")
    inner = np.unique(chosen.times[places] + 1) if len(chosen.times) else np.zeros(0, np.int64)
    return slices_at([start, *(int(each) for each in inner if start < each < end), end])


def cut_by_length(start: int, end: int, length: int) -> tuple[Slice, ...]:
    """Return slices of equal length.

    Raises:
        FatalError: they are too many.
    """
    if (end - start) // length >= MOST_SLICES:
        message = f"slices of {length} ticks would be more than {MOST_SLICES}: choose longer ones, or auto"
        raise FatalError(message)
    return slices_at([*range(start, end, length), end])


def estimate_size(profile: Profile, slices: tuple[Slice, ...], window: int) -> Estimate:
    """Return what matching these slices takes."""
    if not slices:
        return Estimate(0, 0, 0, 0, BASE_BYTES)
    whole = profile.between(slices[0].start - window + 1, slices[-1].end)
    repeated = sum(profile.between(each.start - window + 1, each.start).total for each in slices)
    at, held = whole.densest(window)
    edges = profile.between(slices[0].start, slices[-1].end).total
    return Estimate(edges, repeated, at, held, BASE_BYTES + held * BYTES_AN_EDGE)


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
