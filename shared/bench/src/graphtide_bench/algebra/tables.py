"""Formats what was measured of streaming graph queries, as Figures 12 to 14 and Table 2 of paper 001."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_bench.algebra.runs import AlgebraRun
from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.table import Table, percent, rate, ratio, size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def by_plan(runs: Sequence[AlgebraRun]) -> tuple[Table]:
    """Return a table with a row for each run; rates compare with the first one of the same case."""
    first: dict[tuple[str, str, str], AlgebraRun] = {}
    for each in runs:
        first.setdefault((each.query, each.window, each.slide), each)
    columns: dict[str, Callable[[AlgebraRun], str]] = {
        "query": lambda each: each.query,
        "window": lambda each: each.window,
        "slide": lambda each: each.slide,
        "plan": lambda each: each.plan,
        "engine": lambda each: each.engine,
        "edges/s": lambda each: rate(each.rate),
        "spread": lambda each: percent(each.spread),
        "of the first": lambda each: ratio(each.rate / first[each.query, each.window, each.slide].rate),
        "p99 slide": lambda each: f"{each.tail * 1e3:,.2f} ms",
        "results": lambda each: f"{each.matches:,}",
        "extensions": lambda each: f"{each.extensions:,}",
        "peak tuples": lambda each: f"{each.peak:,}",
        "state": lambda each: size(each.state),
    }
    return (Table.of("Plans of streaming graph queries", runs, columns, names=5),)


ALGEBRA: Final = Kind("algebra", AlgebraRun, by_plan)
