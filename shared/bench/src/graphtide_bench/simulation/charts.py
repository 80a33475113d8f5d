"""Draws measurements of dual simulation, with the axes of Figures 9 to 20 of paper 000."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide.plot import Axis, Chart, Series

from graphtide_bench.simulation.experiments import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_bench.simulation.runs import SimulationRun

_BROKEN_DOWN: Final = "15"
"""The figure that breaks time down into filter and verification."""
_PER: Final = 50_000
"""Records that its times are for, as in the paper."""


def charts(runs: Sequence[SimulationRun]) -> tuple[Chart, ...]:
    """Return a chart for each experiment: rates over what is varied, or times; and steps an edge over the stream."""
    drawn = []
    for name in dict.fromkeys(each.experiment for each in runs):
        own = [each for each in runs if each.experiment == name]
        drawn.append(_breakdown(name, own) if name == _BROKEN_DOWN else _rates(name, own))
    stretched = [each for each in runs if each.stretches]
    return (*drawn, _constant(stretched)) if stretched else tuple(drawn)


def _rates(name: str, runs: Sequence[SimulationRun]) -> Chart:
    chosen = BY_NAME[name]
    ways = dict.fromkeys(each.way for each in runs)
    series = tuple(Series(way, tuple((each.at, each.rate) for each in runs if each.way == way)) for way in ways)
    return Chart(_title(name), Axis(chosen.axis), Axis("edges a processor second", logarithmic=True), series)


def _breakdown(name: str, runs: Sequence[SimulationRun]) -> Chart:
    series = []
    for way in dict.fromkeys(each.way for each in runs if each.way != "baseline"):
        own = [each for each in runs if each.way == way]
        series.append(Series(way, tuple((each.at, _PER / each.rate) for each in own)))
        series.append(Series(f"{way}, filter", tuple((each.at, (1 - each.verifying) * _PER / each.rate) for each in own)))
    return Chart(_title(name), Axis(BY_NAME[name].axis, whole=True), Axis(f"seconds for {_PER:,} edges"), tuple(series))


def _constant(runs: Sequence[SimulationRun]) -> Chart:
    """Return steps an edge along the stream, of the last value of each experiment, without the baseline."""
    last = {(each.experiment, each.way): each for each in runs if each.way in ("signature", "coloring")}
    series = tuple(
        Series(
            f"{experiment}: {way}",
            tuple((place * each.edges / len(each.stretches), steps) for place, steps in enumerate(each.stretches, 1)),
        )
        for (experiment, way), each in last.items()
    )
    return Chart("Work along the stream", Axis("edges"), Axis("steps an edge", logarithmic=True), series)


def _title(name: str) -> str:
    return f"Figure {name}: {BY_NAME[name].title}" if name.isdecimal() else BY_NAME[name].title
