"""Fits the planner's weights for engines of dual simulation to measurements.

A step of a verification takes what verifications took, by the probe, over the steps that they counted. The rest of the time,
over the edges that can be query edges, is the filter's. It is the median of the cases where that is most of the time. Cases
that hand over more than a component in a hundred records are left out. `TAKE` is not separable from the fixpoints beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from graphtide_query.families.simulation.coloring import COLOR
from graphtide_query.families.simulation.costs import LOOK
from graphtide_query.families.simulation.signature import SIGN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_bench.simulation.runs import SimulationRun

_FILTERS: Final = {"COLOR": ("coloring", COLOR), "SIGN": ("signature", SIGN)}
_MOST_MATCHES: Final = 100.0
_MOST_VERIFYING: Final = 0.3
_FEWEST_STEPS: Final = 100_000
"""Fewest steps of verification whose time can be separated from the clock's own."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A weight as the planner has it, and as it comes out of some cases; their median distance from it, as a share."""

    name: str
    in_use: float
    fitted: float
    cases: int
    median_error: float


def fit(runs: Sequence[SimulationRun]) -> tuple[Fit, ...]:
    """Return the weights that some cases are enough for."""
    steps = [_step(each) for each in runs if each.verifying_steps >= _FEWEST_STEPS and each.density <= _MOST_MATCHES]
    found = {"LOOK": (LOOK, steps)}
    for name, (way, in_use) in _FILTERS.items():
        own = [each for each in runs if each.way == way and each.taken and each.density <= _MOST_MATCHES]
        found[name] = (
            in_use,
            [_filter(each) for each in own if each.verifying <= _MOST_VERIFYING],
        )
    return tuple(_fit(name, in_use, values) for name, (in_use, values) in found.items() if values)


def _step(run: SimulationRun) -> float:
    """Return the nanoseconds of a step of verification."""
    return run.verifying * 1e9 / run.rate * run.edges / run.verifying_steps


def _filter(run: SimulationRun) -> float:
    """Return the nanoseconds of the filter for an edge that can be a query edge."""
    return (1 - run.verifying) * 1e9 / run.rate * run.edges / run.taken


def _fit(name: str, in_use: float, values: Sequence[float]) -> Fit:
    fitted = median(values)
    return Fit(name, in_use, fitted, len(values), median(abs(value / fitted - 1) for value in values))
