"""Measures plans of streaming graph queries over a stream in a CSV file, slide by slide.

What is timed is matching alone, and all results are taken; reading is not. The edges of a slide are one batch, whose time is
the latency of the window's movement, as in the paper. Plans of a query that emit different numbers of results are an error.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final

from graphtide.readers import ReaderOptions
from graphtide.readers.memory import from_edges
from graphtide_core.edge import Edge
from graphtide_core.errors import FatalError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import Duration, EventTime, TimeUnit
from graphtide_native.matcher import Matcher
from graphtide_native.sampling import sample

from graphtide_bench.algebra.queries import plans, query
from graphtide_bench.frame.runs import Timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from graphtide_core.plans import GraphPlan, PathEngine
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_native.records import EdgeBatch
    from graphtide_native.reports import PatternReport

_TAIL: Final = 0.99


@dataclass(frozen=True, slots=True)
class AlgebraSettings:
    """What is measured.

    Attributes:
        stream: a CSV file with the columns ts, src, dst and label, sorted by ts; packed if it ends in .gz.
        labels: what `a`, `b` and `c` are.
        queries: names of Table 1.
        plans: names of plans.
        engines: what runs PATHs.
        windows, slides: their durations.
        unit: of the stream's time.
        limit: edges that are read; None for all.
        self_loops: whether edges from a vertex to itself are kept.
        repeats: runs of each case.
    """

    stream: Path
    labels: Mapping[str, str]
    queries: tuple[str, ...]
    plans: tuple[str, ...]
    engines: tuple[PathEngine, ...]
    windows: tuple[str, ...]
    slides: tuple[str, ...]
    unit: TimeUnit
    limit: int | None
    self_loops: bool
    repeats: int


@dataclass(frozen=True, slots=True)
class AlgebraRun(Timed):
    """A plan of a query over a stream.

    Attributes:
        query: its name.
        plan: its name.
        engine: what ran PATHs.
        window, slide: durations.
        rules: that led to the plan.
        edges: that the query reads.
        seconds: of the processor, for every run.
        tail: seconds of the wall clock that the slowest slide but one in a hundred took, in the median run.
        matches: results.
        extensions: times that a result was extended.
        peak: partial results alive at once.
        state: bytes at the end.
    """

    query: str
    plan: str
    engine: str
    window: str
    slide: str
    rules: tuple[str, ...]
    edges: int
    seconds: tuple[float, ...]
    tail: float
    matches: int
    extensions: int
    peak: int
    state: int


@dataclass(frozen=True, slots=True)
class _Timed:
    seconds: float
    tail: float
    report: PatternReport


def run(settings: AlgebraSettings, progress: Callable[[str], None] = lambda _: None) -> tuple[AlgebraRun, ...]:
    """Measure all cases.

    Raises:
        FatalError: the stream cannot be read, has no edge that a query reads, or plans of a query emit different results.
    """
    progress(f"reading {settings.stream.name}")
    edges = list(_edges(settings))
    found: list[AlgebraRun] = []
    for name in settings.queries:
        for window in settings.windows:
            for slide in settings.slides:
                case = list(_cases(settings, edges, (name, window, slide), progress))
                if len({(each.matches, each.extensions) for each in case}) > 1:
                    reported = ", ".join(f"{each.plan} by {each.engine} {each.matches:,}" for each in case)
                    message = f"plans of {name} over {window} by {slide} emit different results: {reported}"
                    raise FatalError(message)
                found += case
    return tuple(found)


def check(runs: Sequence[AlgebraRun]) -> str:
    """Return what was checked, in a sentence."""
    cases = len({(each.query, each.window, each.slide) for each in runs})
    return f"Results checked: {cases} cases, equally many results and extensions by all plans and engines."


def _cases(
    settings: AlgebraSettings, edges: Sequence[Edge], case: tuple[str, str, str], progress: Callable[[str], None]
) -> Iterator[AlgebraRun]:
    name, window, slide = case
    asked = query(name, settings.labels, window, slide)
    read = {each.label for each in asked.inputs}
    own = [edge for edge in edges if edge.label in read]
    if not own:
        message = f"{settings.stream}: no edge has a label of {name}: {', '.join(sorted(map(str, read)))}"
        raise FatalError(message)
    step = Duration.of(slide).ticks_at_least(settings.unit)
    options = ReaderOptions(keep_raw=False, time_unit=settings.unit)
    batches = [
        batch for _, group in groupby(own, lambda edge: edge.ts // step) for batch in from_edges(list(group), options).batches()
    ]
    for engine in settings.engines:
        for plan_name, plan in plans(asked, settings.plans, engine, _read_statistics(own, settings.unit), settings.unit):
            progress(f"{name}, {window} by {slide}: {plan_name} by {engine.value}")
            timed = [_time(plan, batches, options, settings.unit) for _ in range(settings.repeats)]
            report = timed[-1].report
            yield AlgebraRun(
                query=name,
                plan=plan_name,
                engine=plan.engine,
                window=window,
                slide=slide,
                rules=plan.physical.rules,
                edges=len(own),
                seconds=tuple(each.seconds for each in timed),
                tail=median(each.tail for each in timed),
                matches=report.matches,
                extensions=report.extensions,
                peak=report.peak_partial_matches,
                state=report.state_bytes,
            )


def _time(plan: GraphPlan, batches: Sequence[EdgeBatch], options: ReaderOptions, unit: TimeUnit) -> _Timed:
    matcher = Matcher([plan], options.symbols, (), unit=unit)
    slides: list[float] = []
    start = process_time()
    for batch in batches:
        begun = perf_counter()
        for _ in matcher.push(batch):
            pass
        slides.append(perf_counter() - begun)
    seconds = process_time() - start
    slides.sort()
    (report,) = matcher.patterns()
    return _Timed(seconds, slides[ceil(_TAIL * len(slides)) - 1], report)


def _read_statistics(edges: Sequence[Edge], unit: TimeUnit) -> StatisticsSnapshot:
    options = ReaderOptions(keep_raw=False, time_unit=unit)
    (first, *_) = from_edges(list(edges[:20_000]), options).batches()
    return sample(first, options.symbols)


def _edges(settings: AlgebraSettings) -> Iterator[Edge]:
    """Yield the edges of the stream whose labels are asked for.

    Raises:
        FatalError: it cannot be read.
    """
    labels = set(settings.labels.values())
    opened = gzip.open if settings.stream.suffix == ".gz" else open
    count = 0
    try:
        with opened(settings.stream, "rt", encoding="utf-8", newline="") as lines:
            for number, row in enumerate(csv.DictReader(lines)):
                if row["label"] not in labels or (row["src"] == row["dst"] and not settings.self_loops):
                    continue
                yield Edge(
                    id=EdgeId(str(number)),
                    ts=EventTime(int(row["ts"])),
                    source=VertexId(row["src"]),
                    target=VertexId(row["dst"]),
                    label=row["label"],
                    made=True,
                )
                count += 1
                if count == settings.limit:
                    return
    except (OSError, KeyError, ValueError) as error:
        message = f"{settings.stream}: cannot be read as edges ({error!r})"
        raise FatalError(message) from error
