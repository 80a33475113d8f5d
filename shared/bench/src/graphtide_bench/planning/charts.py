"""Draws charts of the measurements, with the axes of Figures 9 and 10 of paper 003."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide.plot import Axis, Chart, Series
from graphtide_query.families.isomorphism.selectivity import PATHS_BELOW

from graphtide_bench.planning.selectivity import STRATEGIES, mean_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_bench.planning.selectivity import RelativeSelectivities, SelectivityRun

_WAYS: Final = (*STRATEGIES, "re-search")


def runtimes(runs: Sequence[SelectivityRun]) -> tuple[Chart, ...]:
    """Return a chart for each stream and shape: mean processor time over the size of the patterns (Figure 9)."""
    charts = []
    for workload, shape in dict.fromkeys((each.workload, each.shape) for each in runs):
        group = [each for each in runs if (each.workload, each.shape) == (workload, shape)]
        series = tuple(Series(way, tuple((float(size), mean) for size, mean in mean_times(group, way))) for way in _WAYS)
        title = f"Run time of {shape}s on stream {workload}"
        charts.append(
            Chart(title, Axis("edges of the pattern", whole=True), Axis("processor seconds", logarithmic=True), series)
        )
    return tuple(charts)


def selectivities(found: Sequence[RelativeSelectivities]) -> Chart:
    """Return the distributions of Relative Selectivity (Figure 10), as the share of patterns up to a value."""
    series = [
        Series(each.stream, tuple((value, place / len(each.values)) for place, value in enumerate(each.values, start=1)))
        for each in found
    ]
    series.append(Series("path-lazy to the left of it", ((PATHS_BELOW, 0.0), (PATHS_BELOW, 1.0))))
    return Chart(
        "Relative Selectivity of paths of four edges",
        Axis("Relative Selectivity", logarithmic=True),
        Axis("share of patterns up to it"),
        tuple(series),
    )
