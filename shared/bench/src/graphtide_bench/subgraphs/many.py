"""Measures many patterns in one pass over one stream, against one pattern.

Each pattern is drawn on its own from a stream with thousands of edge labels, so that most edges mean nothing to most patterns.
Ratios compare with the smallest number of patterns; more patterns find more matches, and that work is in the ratio. Planning is
timed separately, in processor time. The planner knows the types and 2-edge paths of the whole stream, millions of them. The
first number of patterns pays for the tables that it makes of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError
from graphtide_query import parse_subgraphs
from graphtide_query.estimates.colocation import ColocatedLoad
from graphtide_query.planner import plan

from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.runs import Timed
from graphtide_bench.frame.table import Table, rate, ratio, size
from graphtide_bench.workloads.cache import many_patterns
from graphtide_bench.workloads.passes import load, run_repeatedly
from graphtide_bench.workloads.workload import MANY_LABELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from graphtide_core.pattern import SubgraphPattern

    from graphtide_bench.frame.kinds import Value
    from graphtide_bench.workloads.passes import LoadedStream


@dataclass(frozen=True, slots=True)
class ManyRun(Timed):
    """A number of patterns in one pass.

    Attributes:
        workload: name of the stream's workload.
        engine: its name.
        patterns: how many.
        edges: of the stream.
        relevant: edges whose labels some pattern asks for.
        seconds: of every run.
        matches: of all patterns.
        state_bytes: of all patterns at the end of the stream; among many patterns the peak is looked at too seldom to be one.
        plan_seconds: processor time that planning them took.
    """

    workload: str
    engine: str
    patterns: int
    edges: int
    relevant: int
    seconds: tuple[float, ...]
    matches: int
    state_bytes: int
    plan_seconds: float


def run(
    numbers: Sequence[int], engines: Sequence[str], repeats: int, cache: Path, progress: Callable[[str], None] = lambda _: None
) -> tuple[ManyRun, ...]:
    """Measure every number of patterns under every engine.

    Raises:
        FatalError: engines do not agree on the matches, or no pattern matches.
    """
    window = MANY_LABELS.windows[0]
    progress("stream and patterns")
    stream = load(MANY_LABELS, cache)
    texts = many_patterns(MANY_LABELS, window, max(numbers), cache)
    patterns = parse_subgraphs("\n".join(texts))
    runs = []
    for engine in engines:
        for number in sorted(numbers):
            progress(f"{number:,} patterns under {engine}")
            runs.append(_run(patterns[:number], engine, stream, repeats))
    return tuple(runs)


def check(runs: Sequence[ManyRun]) -> str:
    """Return what was checked, in a sentence.

    Raises:
        FatalError: engines do not agree on the matches, or a pattern drawn from the stream has none at all.
    """
    matches: dict[int, set[int]] = {}
    for each in runs:
        matches.setdefault(each.patterns, set()).add(each.matches)
    for number, found in matches.items():
        if len(found) > 1:
            message = f"engines differ on {number:,} patterns: {sorted(found)} matches"
            raise FatalError(message)
        if min(found) < number:
            message = f"{number:,} patterns, each drawn from the stream, have only {min(found):,} matches"
            raise FatalError(message)
    engines = len({each.engine for each in runs})
    return f"Matches checked: at least one for each pattern, and equal between the engines that were run ({engines})."


def by_number(runs: Sequence[ManyRun]) -> Table:
    """Return a row for each number of patterns and each engine."""
    fewest = {each.engine: each for each in sorted(runs, key=lambda each: -each.patterns)}
    columns: dict[str, Callable[[ManyRun], str]] = {
        "engine": lambda each: each.engine,
        "patterns": lambda each: f"{each.patterns:,}",
        "time": lambda each: f"{median(each.seconds) * 1000:,.1f} ms",
        "runs": lambda each: f"{min(each.seconds) * 1000:,.1f}..{max(each.seconds) * 1000:,.1f} ms",
        "edges/s": lambda each: rate(each.rate),
        "ratio": lambda each: ratio(fewest[each.engine].rate / each.rate),
        "matches": lambda each: f"{each.matches:,}",
        "relevant edges": lambda each: f"{each.relevant / each.edges:.1%}",
        "state at the end": lambda each: size(each.state_bytes),
        "planning": lambda each: f"{each.plan_seconds:,.2f} s",
    }
    return Table.of("Many patterns in one pass", runs, columns)


def _run(patterns: Sequence[SubgraphPattern], engine: str, stream: LoadedStream, repeats: int) -> ManyRun:
    started = process_time()
    plans = [plan(p, engine, statistics=stream.statistics, colocated=ColocatedLoad.of(len(patterns))) for p in patterns]
    plan_seconds = process_time() - started
    passes = run_repeatedly(plans, stream, repeats)
    return ManyRun(
        workload=MANY_LABELS.name,
        engine=engine,
        patterns=len(patterns),
        edges=stream.edges,
        relevant=passes[0].totals.relevant,
        seconds=tuple(each.seconds for each in passes),
        matches=passes[0].matches,
        state_bytes=passes[0].totals.state_bytes,
        plan_seconds=plan_seconds,
    )


def _values(runs: Sequence[ManyRun]) -> Iterator[Value]:
    for each in runs:
        yield f"edges/s, many patterns, {each.engine}", f"{each.patterns:,}", each.rate


MANY: Final = Kind("many", ManyRun, lambda found: (by_number(found),), values=_values)
