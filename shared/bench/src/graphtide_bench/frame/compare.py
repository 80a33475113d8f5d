"""Compares two reports: how many times as fast, or as large, the later one is, over the cases that both have."""

from __future__ import annotations

from collections import defaultdict
from statistics import geometric_mean
from typing import TYPE_CHECKING

from graphtide_core.errors import FatalError

from graphtide_bench.frame.kinds import KINDS
from graphtide_bench.frame.table import Table, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_bench.frame.kinds import Value
    from graphtide_bench.frame.report import Report


def compare(before: Report, after: Report) -> Table:
    """Return a row for each group of cases: the mean ratio after/before, and the cases that changed least and most.

    More than 1 is better for rates, less than 1 for bytes.

    Raises:
        FatalError: the reports have no case in common.
    """
    old = {(group, name): value for group, name, value in _values(before)}
    ratios: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for group, name, value in _values(after):
        if old.get((group, name)) and value:
            ratios[group][name] = value / old[group, name]
    if not ratios:
        message = "the reports have no case in common"
        raise FatalError(message)
    rows = []
    for group, found in ratios.items():
        low, high = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
        rows.append(
            (
                group,
                f"{len(found)}",
                ratio(geometric_mean(found.values())),
                f"{ratio(found[low])} {low}",
                f"{ratio(found[high])} {high}",
            )
        )
    return Table("After / before", ("measure", "cases", "mean", "least", "most"), tuple(rows))


def _values(report: Report) -> Iterator[Value]:
    for tag, found in report.results.items():
        yield from KINDS[tag].values(found)
