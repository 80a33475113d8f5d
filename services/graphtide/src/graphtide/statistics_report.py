"""Snapshots of statistics for people, as tables; `graphtide.statistics_charts` draws them."""

from __future__ import annotations

import io
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, TypeVar

from graphtide_core.statistics import Direction, drift
from graphtide_core.time import iso_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.statistics import EdgeType, PathType, StatisticsSnapshot, TimeRange
    from graphtide_core.time import TimeUnit
    from rich.table import Table

_Counted = TypeVar("_Counted")

_TABLE_WIDTH: Final = 150


def edge_text(kind: EdgeType) -> str:
    """Return an edge type as the pattern language draws it; a class other than 0 follows the label."""
    return f"({kind.source_label or ''})-[{_label(kind)}]->({kind.target_label or ''})"


def path_text(path: PathType) -> str:
    """Return a 2-edge path as the pattern language draws it; with both labels of the vertex between where its edges differ."""
    first, second = path.first, path.second
    left = _far(first.kind, first.direction), _near(first.kind, first.direction)
    right = _far(second.kind, second.direction), _near(second.kind, second.direction)
    middle = left[1] if left[1] == right[1] else f"{left[1]}|{right[1]}"
    comes, goes = ("-", "->") if first.direction is Direction.IN else ("<-", "-")
    leaves, arrives = ("-", "->") if second.direction is Direction.OUT else ("<-", "-")
    return f"({left[0]}){comes}[{_label(first.kind)}]{goes}({middle}){leaves}[{_label(second.kind)}]{arrives}({right[0]})"


def to_text(snapshots: Sequence[StatisticsSnapshot], total: StatisticsSnapshot, top: int, unit: TimeUnit) -> str:
    """Return tables: the windows, and the most frequent edge types and 2-edge paths of all of them together."""
    from rich.console import Console  # noqa: PLC0415 - JSON, pictures and help do without tables

    console = Console(file=io.StringIO(), width=_TABLE_WIDTH)
    console.print(_windows(snapshots, unit))
    total_paths = total.paths or {}
    console.print(_counts("edge type", {edge_text(kind): count for kind, count in top_of(total.types, top)}, total.edges))
    if total.paths is not None:
        shown = {path_text(path): count for path, count in top_of(total_paths, top)}
        console.print(_counts("2-edge path", shown, sum(total_paths.values())))
    file = console.file
    return file.getvalue() if isinstance(file, io.StringIO) else ""


def _windows(snapshots: Sequence[StatisticsSnapshot], unit: TimeUnit) -> Table:
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table(title="Windows", title_justify="left")
    for name in ("from", "to", "edges", "edges/s", "vertices", "types", "path types", "out-degree", "in-degree", "drift"):
        table.add_column(name, justify="right", no_wrap=True)
    drifts = chain([""], (f"{drift(then, now).order:.2f}" for then, now in pairwise(snapshots)))
    for snapshot, drifted in zip(snapshots, drifts, strict=True):
        table.add_row(
            *_bounds(snapshot.window, unit),
            f"{snapshot.edges:,}",
            f"{snapshot.rate * 1_000_000_000 / unit.nanoseconds:,.4g}",
            f"{snapshot.vertices:,}",
            f"{len(snapshot.types):,}",
            "" if snapshot.paths is None else f"{len(snapshot.paths):,}",
            f"{snapshot.out_degrees.mean:.2f} ≤ {snapshot.out_degrees.most:,}",
            f"{snapshot.in_degrees.mean:.2f} ≤ {snapshot.in_degrees.most:,}",
            drifted,
        )
    return table


def _counts(name: str, counts: Mapping[str, int], total: int) -> Table:
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table()
    table.add_column(name, overflow="fold")
    table.add_column("count", justify="right")
    table.add_column("share", justify="right")
    for text, count in counts.items():
        # Labels in brackets are not markup.
        table.add_row(text.replace("[", r"\["), f"{count:,}", f"{count / total:.2%}")
    return table


def top_of(counts: Mapping[_Counted, int], top: int) -> list[tuple[_Counted, int]]:
    """Return the most frequent, the most frequent first."""
    return sorted(counts.items(), key=lambda item: -item[1])[:top]


def _bounds(window: TimeRange | None, unit: TimeUnit) -> tuple[str, str]:
    return ("", "") if window is None else (iso_time(window.start, unit), iso_time(window.end, unit))


def _label(kind: EdgeType) -> str:
    return f"{kind.label} #{kind.predicate_class}" if kind.predicate_class else kind.label


def _near(kind: EdgeType, direction: Direction) -> str:
    return (kind.source_label if direction is Direction.OUT else kind.target_label) or ""


def _far(kind: EdgeType, direction: Direction) -> str:
    return (kind.target_label if direction is Direction.OUT else kind.source_label) or ""
