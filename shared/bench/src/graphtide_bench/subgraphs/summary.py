"""Summarises measurements of single patterns: mean rates, growth with the window, bytes by storage, gain by threads."""

from __future__ import annotations

from collections import defaultdict
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, TypeVar

from graphtide_bench.frame.table import Table, percent, rate, ratio, size
from graphtide_bench.workloads.queries import ORDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from graphtide_bench.subgraphs.measurement import Measurement

Key = TypeVar("Key", bound="Hashable")


def by_stream(measurements: Sequence[Measurement]) -> Table:
    """Return a row for each stream, window and way: edges a second as geometric means over the shapes, by order and over all.

    The spread is that of the median pattern: the difference between its slowest and its fastest run.
    """
    rows = [
        (
            workload,
            f"{window:,}",
            way,
            *(_mean_rate(group, order) for order in ORDERS),
            rate(geometric_mean(each.rate for each in group)),
            rate(min(each.rate for each in group)),
            percent(median(each.spread for each in group)) if len(group[0].seconds) > 1 else "",
            size(max(each.peak_state_bytes for each in group)),
        )
        for (workload, window, way), group in _groups(measurements, lambda each: (each.workload, each.window, each.way))
    ]
    header = ("stream", "window", "engine", *ORDERS, "all", "slowest pattern", "spread", "peak state")
    return Table("Edges a second, geometric mean of the patterns", header, tuple(rows), names=3)


def by_pattern(measurements: Sequence[Measurement]) -> Table:
    """Return a row for each case: edges a second in the median run, the slowest and the fastest; matches and state."""
    rows = [
        (
            each.workload,
            f"{each.window:,}",
            each.pattern,
            each.way,
            rate(each.rate),
            f"{rate(each.slowest)}..{rate(each.fastest)}",
            f"{each.matches:,}",
            f"{each.peak_partial_matches:,}",
            size(each.peak_state_bytes),
        )
        for each in measurements
    ]
    header = ("stream", "window", "pattern", "engine", "edges/s", "runs", "matches", "peak partial matches", "peak state")
    return Table("Each pattern", header, tuple(rows), names=4)


def growth(measurements: Sequence[Measurement]) -> tuple[Table, ...]:
    """Return the time of an edge in the widest window over that in the narrowest; no table where no stream has two windows."""
    rows: list[tuple[str, ...]] = []
    for (workload, way), group in _groups(measurements, lambda each: (each.workload, each.way)):
        windows = sorted({each.window for each in group})
        if len(windows) < 2:
            continue
        cost = {(each.window, each.pattern): 1 / each.rate for each in group}
        grown = {
            pattern: cost[windows[-1], pattern] / cost[windows[0], pattern]
            for window, pattern in cost
            if window == windows[-1] and (windows[0], pattern) in cost
        }
        cells = [[each for pattern, each in grown.items() if pattern.endswith(f"_{order}")] for order in ORDERS]
        means = [ratio(geometric_mean(cell)) if cell else "" for cell in (*cells, list(grown.values()))]
        rows.append((workload, f"{windows[0]:,} to {windows[-1]:,}", way, *means, ratio(max(grown.values()))))
    header = ("stream", "window", "engine", *ORDERS, "all", "most of a pattern")
    return (Table("Growth of the time of an edge with the window", header, tuple(rows), names=3),) if rows else ()


def by_storage(measurements: Sequence[Measurement]) -> Table:
    """Return a row for each pattern and storage: peak state, its share of the largest storage's, and edges a second."""
    rows: list[tuple[str, ...]] = []
    for _, group in _groups(measurements, lambda each: (each.workload, each.window, each.pattern)):
        largest = max(each.peak_state_bytes for each in group)
        rows.extend(
            (
                each.workload,
                f"{each.window:,}",
                each.pattern,
                each.variant or each.engine,
                size(each.peak_state_bytes),
                percent(each.peak_state_bytes / largest),
                f"{each.peak_partial_matches:,}",
                f"{each.matches:,}",
                rate(each.rate),
            )
            for each in group
        )
    header = (
        "stream",
        "window",
        "pattern",
        "storage",
        "peak state",
        "of largest",
        "peak partial matches",
        "matches",
        "edges/s",
    )
    return Table("State by storage", header, tuple(rows), names=4)


def by_threads(measurements: Sequence[Measurement]) -> Table:
    """Return a row for each pattern and each number of threads: edges a second, and how many times those of one thread."""
    rows: list[tuple[str, ...]] = []
    for _, group in _groups(measurements, lambda each: (each.workload, each.window, each.pattern, each.engine)):
        single = next((each for each in group if each.threads == 1), None)
        rows.extend(
            (
                each.workload,
                f"{each.window:,}",
                each.pattern,
                f"{each.threads}",
                each.locking or "none",
                rate(each.rate),
                f"{rate(each.slowest)}..{rate(each.fastest)}",
                ratio(each.rate / single.rate) if single else "",
                f"{each.matches:,}",
            )
            for each in group
        )
    header = ("stream", "window", "pattern", "threads", "locking", "edges/s", "runs", "of one thread", "matches")
    return Table("Threads", header, tuple(rows), names=3)


def _mean_rate(group: Iterable[Measurement], order: str) -> str:
    rates = [each.rate for each in group if each.order == order]
    return rate(geometric_mean(rates)) if rates else ""


def _groups(measurements: Iterable[Measurement], key: Callable[[Measurement], Key]) -> Iterable[tuple[Key, list[Measurement]]]:
    groups: defaultdict[Key, list[Measurement]] = defaultdict(list)
    for each in measurements:
        groups[key(each)].append(each)
    return groups.items()
