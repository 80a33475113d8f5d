"""Snapshots of statistics for people: tables, and the charts of paper 003's Figures 6 and 7."""

from __future__ import annotations

import io
from functools import reduce
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, TypeVar

from graphtide_core.statistics import Direction, StatisticsSnapshot, drift, merge
from rich.console import Console
from rich.table import Table

from graphtide.plot import Axis, Chart, Kind, Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.statistics import EdgeType, PathType, TimeRange

_Counted = TypeVar("_Counted")

_TABLE_WIDTH: Final = 128
_UNITS: Final = ((86_400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


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


def to_text(snapshots: Sequence[StatisticsSnapshot], total: StatisticsSnapshot, top: int, ticks_per_second: int) -> str:
    """Return tables: the windows, and the most frequent edge types and 2-edge paths of all of them together."""
    console = Console(file=io.StringIO(), width=_TABLE_WIDTH)
    console.print(_windows(snapshots, ticks_per_second))
    total_paths = total.paths or {}
    console.print(_counts("edge type", {edge_text(kind): count for kind, count in _top(total.types, top)}, total.edges))
    if total.paths is not None:
        shown = {path_text(path): count for path, count in _top(total_paths, top)}
        console.print(_counts("2-edge path", shown, sum(total_paths.values())))
    file = console.file
    return file.getvalue() if isinstance(file, io.StringIO) else ""


def to_charts(snapshots: Sequence[StatisticsSnapshot], ticks_per_second: int, top: int) -> tuple[Chart, Chart]:
    """Return the shares of edge types over time, and the counts of 2-edge paths from the rarest to the most frequent."""
    total = reduce(merge, snapshots, StatisticsSnapshot())
    seen = [(snapshot, snapshot.window) for snapshot in snapshots if snapshot.window is not None and snapshot.edges]
    start = seen[0][1].start if seen else 0
    seconds, name = _unit((seen[-1][1].end - start) / ticks_per_second if seen else 0.0)

    def series(name: str, kinds: set[EdgeType]) -> Series:
        """Shares at the middle of each window."""
        points = []
        for snapshot, window in seen:
            at = ((window.start + window.end) / 2 - start) / ticks_per_second / seconds
            points.append((at, sum(snapshot.types.get(kind, 0) for kind in kinds) / snapshot.edges))
        return Series(name, tuple(points))

    shown = [kind for kind, _ in _top(total.types, top)]
    shares = [series(edge_text(kind), {kind}) for kind in shown]
    rest = set(total.types) - set(shown)
    if rest:
        shares.append(series(f"{len(rest)} other types", rest))
    counts = sorted((total.paths or {}).values())
    ranked = Series("2-edge paths", tuple((float(rank), float(count)) for rank, count in enumerate(counts, start=1)))
    return (
        Chart("Edge types", Axis(f"{name} since the start"), Axis("share of edges"), tuple(shares), Kind.STACKED),
        Chart("2-edge paths", Axis("path type, rarest first"), Axis("paths", logarithmic=True), (ranked,)),
    )


def _windows(snapshots: Sequence[StatisticsSnapshot], ticks_per_second: int) -> Table:
    table = Table(title="Windows", title_justify="left")
    for name in ("from", "to", "edges", "edges/s", "vertices", "types", "path types", "out-degree", "in-degree", "drift"):
        table.add_column(name, justify="right", no_wrap=True)
    drifts = chain([""], (f"{drift(then, now).order:.2f}" for then, now in pairwise(snapshots)))
    for snapshot, drifted in zip(snapshots, drifts, strict=True):
        table.add_row(
            *_bounds(snapshot.window),
            f"{snapshot.edges:,}",
            f"{snapshot.rate * ticks_per_second:,.4g}",
            f"{snapshot.vertices:,}",
            f"{len(snapshot.types):,}",
            "" if snapshot.paths is None else f"{len(snapshot.paths):,}",
            f"{snapshot.out_degrees.mean:.2f} ≤ {snapshot.out_degrees.most:,}",
            f"{snapshot.in_degrees.mean:.2f} ≤ {snapshot.in_degrees.most:,}",
            drifted,
        )
    return table


def _counts(name: str, counts: Mapping[str, int], total: int) -> Table:
    table = Table()
    table.add_column(name, overflow="fold")
    table.add_column("count", justify="right")
    table.add_column("share", justify="right")
    for text, count in counts.items():
        # Labels in brackets are not markup.
        table.add_row(text.replace("[", r"\["), f"{count:,}", f"{count / total:.2%}")
    return table


def _top(counts: Mapping[_Counted, int], top: int) -> list[tuple[_Counted, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])[:top]


def _bounds(window: TimeRange | None) -> tuple[str, str]:
    return ("", "") if window is None else (str(window.start), str(window.end))


def _unit(seconds: float) -> tuple[int, str]:
    return next(((length, name) for length, name in _UNITS if seconds >= 2 * length), _UNITS[-1])


def _label(kind: EdgeType) -> str:
    return f"{kind.label} #{kind.predicate_class}" if kind.predicate_class else kind.label


def _near(kind: EdgeType, direction: Direction) -> str:
    return (kind.source_label if direction is Direction.OUT else kind.target_label) or ""


def _far(kind: EdgeType, direction: Direction) -> str:
    return (kind.target_label if direction is Direction.OUT else kind.source_label) or ""
