"""Formats what was measured of dual simulation, an experiment a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.table import Table, percent, rate, ratio
from graphtide_bench.simulation.experiments import BY_NAME
from graphtide_bench.simulation.runs import SimulationRun
from graphtide_bench.simulation.weights import fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_bench.simulation.weights import Fit

_HEADER: Final = (
    "way",
    "edges/s",
    "spread",
    "of baseline",
    "matches in 10,000",
    "verifying",
    "taken",
    "whole ends",
    "signatures passed, false",
    "verified",
    "fixpoints",
    "steps an edge",
)


def by_experiment(runs: Sequence[SimulationRun]) -> tuple[Table, ...]:
    """Return a table for each experiment, with a row for each value and way."""
    tables = []
    for name in dict.fromkeys(each.experiment for each in runs):
        chosen, own = BY_NAME[name], [each for each in runs if each.experiment == name]
        header = (chosen.axis, "window", *_HEADER)
        title = f"Figure {name}. {chosen.title}" if name.isdecimal() else chosen.title
        tables.append(Table(title, header, tuple(_row(each, own) for each in own), names=3))
    return tuple(tables)


def by_stretch(runs: Sequence[SimulationRun]) -> Table:
    """Return the steps an edge in each tenth of what was timed, for the last value of each experiment."""
    last = {each.experiment: each.value for each in runs if each.stretches}
    stretched = [each for each in runs if each.stretches and last[each.experiment] == each.value]
    width = max((len(each.stretches) for each in stretched), default=0)
    rows = tuple(
        (each.experiment, each.value, each.way, f"{each.edges:,}", *(f"{steps:.1f}" for steps in each.stretches))
        for each in stretched
    )
    header = ("experiment", "value", "way", "edges", *(f"{place + 1}" for place in range(width)))
    return Table("Steps an edge, in tenths of the stream", header, rows, names=3)


def by_weight(fits: Sequence[Fit]) -> Table:
    """Return the planner's weights, those in use beside those that these measurements give."""
    rows = tuple(
        (each.name, f"{each.in_use:.1f}", f"{each.fitted:.1f}", f"{each.cases}", percent(each.median_error)) for each in fits
    )
    return Table("Weights of the planner", ("weight", "in use", "fitted", "cases", "median error"), rows)


def _row(run: SimulationRun, others: Sequence[SimulationRun]) -> tuple[str, ...]:
    baseline = next((each.rate for each in others if (each.value, each.way) == (run.value, "baseline")), None)
    checked = f"{_share(run.signature_passed, run)}, {_share(run.signature_false, run)}" if run.signature_checks else ""
    return (
        run.value,
        f"{run.window_edges:,}",
        run.way,
        rate(run.rate),
        percent(run.spread),
        "" if baseline is None else ratio(run.rate / baseline),
        f"{run.density:.1f}",
        percent(run.verifying),
        percent(run.taken / run.edges),
        _share(run.whole_ends, run) if run.way != "baseline" else "",
        checked,
        _share(run.verified, run),
        _share(run.fixpoints, run),
        f"{run.steps / run.edges:,.1f}",
    )


def _share(count: int, run: SimulationRun) -> str:
    return f"{count / run.edges:.2%}"


SIMULATION: Final = Kind(
    "simulation", SimulationRun, lambda found: (*by_experiment(found), by_stretch(found), by_weight(fit(found)))
)
