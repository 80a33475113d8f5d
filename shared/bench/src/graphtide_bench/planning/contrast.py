"""Measures named workloads that set engines apart: where keeping partial matches pays, and where it is wasted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError
from graphtide_core.plans import SjTreeStrategy
from graphtide_query import parse_subgraphs
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan

from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.runs import Timed
from graphtide_bench.frame.table import Table, rate, ratio
from graphtide_bench.planning.adaptation import path
from graphtide_bench.planning.selectivity import count
from graphtide_bench.workloads.passes import load, run_once
from graphtide_bench.workloads.workload import FLOWS, WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from graphtide_bench.workloads.workload import Workload

WAYS: Final = (*(strategy.value for strategy in SjTreeStrategy), "timing", "re-search", "filtering", "auto")
_HUBS = 1.0
"""Exponent of the degrees where hubs are great."""


@dataclass(frozen=True, slots=True)
class ContrastCase:
    """A pattern on a stream, by the name of what it shows."""

    name: str
    workload: Workload
    text: str


@dataclass(frozen=True, slots=True)
class ContrastRun(Timed):
    """A case in one way; processor seconds of every run, most partial matches alive at once."""

    name: str
    way: str
    edges: int
    seconds: tuple[float, ...]
    matches: int
    peak: int


def cases(edges: int | None = None) -> tuple[ContrastCase, ...]:
    """Return the named cases, over streams of that length if one is given."""
    stars = WORKLOADS["F"]
    star = next(each for each in stars.patterns(stars.windows[0]) if each.name == "star5_empty")
    window = FLOWS.windows[0]
    hubs = replace(FLOWS, recipe=replace(FLOWS.recipe, alpha=_HUBS))
    found = (
        ContrastCase("stars without an order", stars, star.text(stars.windows[0])),
        ContrastCase("frequent path to a rare edge", FLOWS, path("far", (0, 0, 0, 6), window)),
        ContrastCase("rare pair, then frequent pair", FLOWS, path("pairs", (6, 5, 0, 0), window)),
        ContrastCase("the same on great hubs", hubs, path("hubs", (6, 5, 0, 0), window)),
    )
    return found if edges is None else tuple(replace(each, workload=each.workload.of_length(edges)) for each in found)


def run(
    chosen: Sequence[ContrastCase], repeats: int, cache: Path, progress: Callable[[str], None] = lambda _: None
) -> tuple[ContrastRun, ...]:
    """Measure the cases in every way.

    Raises:
        FatalError: two ways differ in the number of matches.
    """
    found: list[ContrastRun] = []
    for case in chosen:
        progress(case.name)
        stream = load(case.workload, cache)
        known = count(stream.batches, stream.symbols)
        (pattern,) = parse_subgraphs(case.text)
        plans = {s.value: plan(pattern, PlannerOptions.of("sj-tree", s.value), statistics=known) for s in SjTreeStrategy}
        plans |= {way: plan(pattern, way, statistics=known) for way in WAYS if way not in plans}
        repetitions = [{way: run_once([made], stream) for way, made in plans.items()} for _ in range(repeats)]
        if len({each.matches for repetition in repetitions for each in repetition.values()}) > 1:
            message = f"{case.name}: the ways do not find equally many matches"
            raise FatalError(message)
        for way in WAYS:
            passes = [repetition[way] for repetition in repetitions]
            seconds = tuple(each.cpu_seconds for each in passes)
            first = passes[0]
            found.append(ContrastRun(case.name, way, stream.edges, seconds, first.matches, first.totals.peak_partial_matches))
    return tuple(found)


def by_case(runs: Sequence[ContrastRun]) -> Table:
    """Return a row for each case and way, with the rate against the best of its case."""
    best = {name: max(each.rate for each in runs if each.name == name) for name in {each.name for each in runs}}
    rows = tuple(
        (each.name, each.way, rate(each.rate), ratio(best[each.name] / each.rate), f"{each.peak:,}", f"{each.matches:,}")
        for each in runs
    )
    header = ("workload", "way", "edges/s", "times slower", "partial matches", "matches")
    return Table("Where engines differ, edges a processor second", header, rows, names=2)


CONTRASTS: Final = Kind("contrasts", ContrastRun, lambda found: (by_case(found),))
