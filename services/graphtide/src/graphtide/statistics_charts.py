"""Snapshots of statistics as charts: those of paper 003's Figures 6 and 7, and measurements of a stream over time."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.statistics import EdgeType, StatisticsSnapshot, drift, merge

from graphtide.date_ticks import EARLIEST, LATEST
from graphtide.plot import Axis, Chart, Kind, Series
from graphtide.statistics_report import edge_text, top_of
from graphtide.wording import refuse_unless_one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from graphtide_core.time import TimeUnit

CHARTS: Final = ("types", "paths", "rate", "vertices", "degrees", "drift")
"""What can be drawn."""

DRAWN: Final = ("types", "paths")
"""The default charts."""

_UNITS: Final = ((86_400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


def to_charts(
    snapshots: Sequence[StatisticsSnapshot],
    unit: TimeUnit,
    top: int,
    charts: Sequence[str] = DRAWN,
    series: Sequence[str] = (),
) -> tuple[Chart, ...]:
    """Return charts of tumbling windows over time.

    Args:
        snapshots: the windows.
        unit: what times count.
        top: edge types that have a series of their own where none are named; the others share one.
        charts: some of `CHARTS`, in the order wanted.
        series: edge types to show, as they are drawn, or labels for all types of an edge label; the others share one.

    Raises:
        ValueError: there is no such chart, or nothing in the stream is called so.
    """
    for name in charts:
        refuse_unless_one_of(name, CHARTS, "chart")
    total = reduce(merge, snapshots, StatisticsSnapshot())
    over_time = _OverTime(snapshots, unit)
    types = _find_types(total, series) if series else {edge_text(kind): {kind} for kind, _ in top_of(total.types, top)}
    drawn: Mapping[str, Callable[[], Chart]] = {
        "types": lambda: _types(over_time, types, set(total.types)),
        "paths": lambda: _paths(total),
        "rate": lambda: over_time.chart("Rate", "edges/s", {"edges": lambda s: s.rate * 1e9 / unit.nanoseconds}),
        "vertices": lambda: over_time.chart("Vertices", "vertices", {"vertices": lambda s: s.vertices}),
        "degrees": lambda: _degrees(over_time),
        "drift": lambda: _drift(over_time, snapshots),
    }
    return tuple(drawn[name]() for name in charts)


class _Window(NamedTuple):
    """A window with edges, and where its middle is on the axis."""

    at: float
    snapshot: StatisticsSnapshot


class _OverTime:
    """The windows over an axis of dates; or of time since the start, if times are not dates."""

    def __init__(self, snapshots: Sequence[StatisticsSnapshot], unit: TimeUnit) -> None:
        seen = [(snapshot, snapshot.window) for snapshot in snapshots if snapshot.window is not None and snapshot.edges]
        per_second = 1_000_000_000 // unit.nanoseconds
        self.axis = Axis("time (UTC)", dates=True)
        start, scale = 0, per_second
        if seen and not EARLIEST <= seen[0][1].start / per_second <= seen[-1][1].end / per_second <= LATEST:
            start = seen[0][1].start
            length, name = _unit((seen[-1][1].end - start) / per_second)
            scale *= length
            self.axis = Axis(f"{name} since the start")
        self.windows = [_Window(((window.start + window.end) / 2 - start) / scale, snapshot) for snapshot, window in seen]

    def series(self, name: str, measure: Callable[[StatisticsSnapshot], float]) -> Series:
        """Return a measurement of each window, at its middle."""
        return Series(name, tuple((at, measure(snapshot)) for at, snapshot in self.windows))

    def chart(self, title: str, y: str, measures: Mapping[str, Callable[[StatisticsSnapshot], float]]) -> Chart:
        """Return lines of measurements."""
        return Chart(title, self.axis, Axis(y), tuple(self.series(name, measure) for name, measure in measures.items()))


def _types(over_time: _OverTime, types: Mapping[str, set[EdgeType]], every: set[EdgeType]) -> Chart:
    def share(kinds: Iterable[EdgeType]) -> Callable[[StatisticsSnapshot], float]:
        return lambda snapshot: sum(snapshot.types.get(kind, 0) for kind in kinds) / snapshot.edges

    shares = [over_time.series(name, share(kinds)) for name, kinds in types.items()]
    rest = every.difference(*types.values())
    if rest:
        shares.append(over_time.series(f"{len(rest)} other types", share(rest)))
    return Chart("Edge types", over_time.axis, Axis("share of edges"), tuple(shares), Kind.STACKED)


def _paths(total: StatisticsSnapshot) -> Chart:
    counts = sorted((total.paths or {}).values())
    ranked = Series("2-edge paths", tuple((float(rank), float(count)) for rank, count in enumerate(counts, start=1)))
    return Chart("2-edge paths", Axis("path type, rarest first"), Axis("paths", logarithmic=True), (ranked,))


def _degrees(over_time: _OverTime) -> Chart:
    return over_time.chart(
        "Degrees",
        "edges at a vertex",
        {
            "out, mean": lambda snapshot: snapshot.out_degrees.mean,
            "out, most": lambda snapshot: snapshot.out_degrees.most,
            "in, mean": lambda snapshot: snapshot.in_degrees.mean,
            "in, most": lambda snapshot: snapshot.in_degrees.most,
        },
    )


def _drift(over_time: _OverTime, snapshots: Sequence[StatisticsSnapshot]) -> Chart:
    changes = {id(now): drift(then, now) for then, now in pairwise(snapshots)}
    at = [(window.at, changes[id(window.snapshot)]) for window in over_time.windows if id(window.snapshot) in changes]
    return Chart(
        "Drift from the window before",
        over_time.axis,
        Axis("drift"),
        (
            Series("order of types", tuple((x, change.order) for x, change in at)),
            Series("order of paths", tuple((x, change.path_order) for x, change in at)),
            Series("rate, doublings", tuple((x, change.rate) for x, change in at)),
        ),
    )


def _find_types(total: StatisticsSnapshot, series: Sequence[str]) -> dict[str, set[EdgeType]]:
    """Return the edge types that are meant by names, each by the first that means it."""
    by_name: dict[str, set[EdgeType]] = {}
    for kind in total.types:
        by_name.setdefault(edge_text(kind), set()).add(kind)
        by_name.setdefault(kind.label, set()).add(kind)
    found: dict[str, set[EdgeType]] = {}
    taken: set[EdgeType] = set()
    for name in series:
        refuse_unless_one_of(name, by_name, "edge type or label")
        found[name] = by_name[name] - taken
        taken |= by_name[name]
    return found


def _unit(seconds: float) -> tuple[int, str]:
    return next(((length, name) for length, name in _UNITS if seconds >= 2 * length), _UNITS[-1])
