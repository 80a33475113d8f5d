"""Measures one pattern at a time: every pattern of a workload under every engine.

Every count of matches is checked: against the known counts, and between all ways of finding the same pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.plans import SjTreeStrategy, Storage
from graphtide_native.spec import Concurrency
from graphtide_query import parse_subgraphs
from graphtide_query.families import AUTO, FAMILIES, PlannerOptions, engine_of
from graphtide_query.planner import plan

from graphtide_bench.subgraphs.measurement import Measurement
from graphtide_bench.workloads.cache import texts
from graphtide_bench.workloads.passes import load, run_repeatedly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import Plan

    from graphtide_bench.workloads.passes import LoadedStream
    from graphtide_bench.workloads.workload import Workload


@dataclass(frozen=True, slots=True)
class RunMatrix:
    """What is run: every combination of the parts.

    Attributes:
        workloads: the streams.
        cache: folder of generated streams.
        windows: in ticks; empty for each workload's own.
        drawn_from: edges of the stream that patterns are drawn from; None for as many as the window has ticks.
        engines: their names.
        storages: of the `timing` engine.
        strategies: of the `sj-tree` engine; None for the one that is chosen for the pattern.
        sources: where batches come from, see `measure.SOURCES`.
        concurrency: threads and locking.
        pattern: what a pattern's name must contain one of; empty for all.
        repeats: runs of each case.
    """

    workloads: tuple[Workload, ...]
    cache: Path
    windows: tuple[int, ...] = ()
    drawn_from: int | None = None
    engines: tuple[str, ...] = FAMILIES["isomorphism"].names
    storages: tuple[Storage, ...] = (Storage.MS_DAG,)
    strategies: tuple[SjTreeStrategy | None, ...] = (None,)
    sources: tuple[str, ...] = ("memory",)
    concurrency: tuple[Concurrency, ...] = (Concurrency(),)
    pattern: tuple[str, ...] = ()
    repeats: int = 3


@dataclass(frozen=True, slots=True)
class SubgraphCase:
    """A pattern over a stream, before a way to find it is chosen."""

    workload: Workload
    stream: LoadedStream
    drawn_from: int
    pattern: SubgraphPattern


class EngineChoice(NamedTuple):
    """A way to find a pattern: the engine asked for, the variant of its plan, and the plan."""

    engine: str
    variant: str | None
    plan: Plan


def run(settings: RunMatrix, progress: Callable[[str], None] = lambda _: None) -> tuple[Measurement, ...]:
    """Measure every case in every way; `progress` is called with what comes next."""
    return tuple(
        _measure(case, way, source, concurrency, repeats=settings.repeats)
        for case in _cases(settings, progress)
        for way, source, concurrency in product(
            plans(case.pattern, case.stream, settings), settings.sources, settings.concurrency
        )
    )


def _cases(settings: RunMatrix, progress: Callable[[str], None]) -> Iterator[SubgraphCase]:
    for workload in settings.workloads:
        progress(f"stream {workload.name}")
        stream = load(workload, settings.cache)
        for window in settings.windows or workload.windows:
            drawn_from = settings.drawn_from or window
            for name, text in texts(workload.patterns(drawn_from), window).items():
                if not settings.pattern or any(part in name for part in settings.pattern):
                    progress(f"stream {workload.name}, window {window:,}: {name}")
                    (pattern,) = parse_subgraphs(text)
                    yield SubgraphCase(workload, stream, drawn_from, pattern)


def _measure(case: SubgraphCase, way: EngineChoice, source: str, concurrency: Concurrency, *, repeats: int) -> Measurement:
    passes = run_repeatedly([way.plan], case.stream, repeats, source=source, concurrency=concurrency)
    return Measurement(
        workload=case.workload.name,
        window=case.pattern.duration.amount,
        drawn_from=case.drawn_from,
        pattern=case.pattern.name,
        engine=way.engine,
        variant=way.variant,
        source=source,
        threads=concurrency.threads,
        locking=concurrency.locking if concurrency.threads > 1 else None,
        edges=case.stream.edges,
        seconds=tuple(each.seconds for each in passes),
        matches=passes[0].matches,
        peak_partial_matches=max(each.totals.peak_partial_matches for each in passes),
        peak_state_bytes=max(each.totals.peak_state_bytes for each in passes),
    )


def plans(pattern: SubgraphPattern, stream: LoadedStream, settings: RunMatrix) -> tuple[EngineChoice, ...]:
    """Return the plans of a pattern for every engine, and for engines with several kinds of plans every one asked for.

    `auto` is an engine of its own here, with any engine that it takes.
    """
    ways: dict[tuple[str, str | None], EngineChoice] = {}
    for engine, storage, strategy in product(settings.engines, settings.storages, settings.strategies):
        # The choice between engines is made with the strategy that it would choose.
        asked = None if engine == AUTO else strategy
        variants = {"timing": storage.value} | ({} if asked is None else {"sj-tree": asked.value})
        made = plan(pattern, PlannerOptions(engine, variants), statistics=stream.statistics)
        chosen = engine == AUTO or (engine == "sj-tree" and asked is None)
        variant = None if chosen else engine_of(made.physical).variant_of(made.physical)
        ways[engine, variant] = EngineChoice(engine, variant, made)
    return tuple(ways.values())
