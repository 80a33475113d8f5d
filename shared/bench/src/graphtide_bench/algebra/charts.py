"""Draws what was measured of streaming graph queries over windows and slides, as Figure 10 of paper 001."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide.plot import Axis, Chart, Series
from graphtide_core.time import Duration, TimeUnit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_bench.algebra.runs import AlgebraRun

_SECONDS_A_DAY = 86_400


def charts(runs: Sequence[AlgebraRun]) -> tuple[Chart, ...]:
    """Return charts of throughput, and of the time of the slowest slides, over windows, and over slides where they vary."""
    drawn: list[Chart] = []
    for name, other, at, rest in (("window", "slide", _window, _slide), ("slide", "window", _slide, _window)):
        if len({at(each) for each in runs}) > 1:
            drawn += _over((name, other), (at, rest), runs)
    return tuple(drawn)


def _over(
    names: tuple[str, str], values: tuple[Callable[[AlgebraRun], str], Callable[[AlgebraRun], str]], runs: Sequence[AlgebraRun]
) -> list[Chart]:
    """Return the charts over what the first name says, a line for each query, plan, engine and value of the second."""
    at, rest = values
    lines: dict[tuple[str, str, str, str], list[AlgebraRun]] = {}
    for each in runs:
        lines.setdefault((each.query, each.plan, each.engine, rest(each)), []).append(each)
    varied = {key: sorted(own, key=lambda each: _days(at(each))) for key, own in lines.items() if len(own) > 1}

    def drawn(title: str, axis: Axis, measured: Callable[[AlgebraRun], float]) -> Chart:
        series = tuple(
            Series(f"{query} {plan} {engine}, {names[1]} {fixed}", tuple((_days(at(each)), measured(each)) for each in own))
            for (query, plan, engine, fixed), own in varied.items()
        )
        return Chart(title, Axis(f"{names[0]} in days"), axis, series)

    return [
        drawn(f"Throughput over the {names[0]}", Axis("edges a processor second", logarithmic=True), lambda each: each.rate),
        drawn(f"Slowest slides over the {names[0]}", Axis("p99 in milliseconds"), lambda each: each.tail * 1e3),
    ]


def _window(run: AlgebraRun) -> str:
    return run.window


def _slide(run: AlgebraRun) -> str:
    return run.slide


def _days(duration: str) -> float:
    return float(Duration.of(duration).ticks(TimeUnit.SECOND)) / _SECONDS_A_DAY
