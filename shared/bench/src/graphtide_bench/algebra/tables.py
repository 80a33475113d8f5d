"""Formats what was measured of streaming graph queries, as Figures 12 to 14 and Table 2 of paper 001."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_bench.algebra.runs import AlgebraRun
from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.table import Table, percent, rate, ratio, size

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = (
    "query",
    "window",
    "slide",
    "plan",
    "engine",
    "edges/s",
    "spread",
    "of the first",
    "p99 slide",
    "results",
    "extensions",
    "peak tuples",
    "state",
)


def by_plan(runs: Sequence[AlgebraRun]) -> tuple[Table]:
    """Return a table with a row for each run; rates compare with the first one of the same case."""
    first: dict[tuple[str, str, str], AlgebraRun] = {}
    rows = []
    for each in runs:
        base = first.setdefault((each.query, each.window, each.slide), each)
        rows.append(
            (
                each.query,
                each.window,
                each.slide,
                each.plan,
                each.engine,
                rate(each.rate),
                percent(each.spread),
                ratio(each.rate / base.rate),
                f"{each.tail * 1e3:,.2f} ms",
                f"{each.matches:,}",
                f"{each.extensions:,}",
                f"{each.peak:,}",
                size(each.state),
            )
        )
    return (Table("Plans of streaming graph queries", _HEADER, tuple(rows), names=5),)


ALGEBRA: Final = Kind("algebra", AlgebraRun, by_plan)
