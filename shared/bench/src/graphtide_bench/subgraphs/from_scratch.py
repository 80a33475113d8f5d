"""Measures VF2 run anew on the window after every edge: the baseline of paper 003 (section 6.4), on small streams.

After each edge VF2 searches the whole window for the pattern as a graph. It keeps the matches that hold the new edge, because
those without it were found before. The VF2 is that of networkx, written in Python; the ratio to our engines includes the
language.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from itertools import product
from time import thread_time
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError
from graphtide_core.match import match_id
from graphtide_native.matcher import Matcher
from graphtide_query.families import AUTO
from graphtide_query.planner import plan

from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.runs import Timed
from graphtide_bench.frame.table import Table, rate, ratio
from graphtide_bench.planning.adaptation import match_ids
from graphtide_bench.planning.selectivity import count
from graphtide_bench.workloads.passes import load, run_once
from graphtide_bench.workloads.stream import generate
from graphtide_bench.workloads.typed import SHAPES, draw_group
from graphtide_bench.workloads.workload import FLOWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import networkx as nx
    from graphtide_core.pattern import SubgraphPattern

    from graphtide_bench.workloads.stream import LabelledEdge
    from graphtide_bench.workloads.workload import Workload

ENGINES: Final = ("sj-tree", "re-search", AUTO)
BASELINE: Final = "VF2 anew"
_DRAWN = 40


@dataclass(frozen=True, slots=True)
class FromScratchRun(Timed):
    """A pattern on a small stream by VF2 or by an engine; processor seconds of every run."""

    pattern: str
    way: str
    edges: int
    window: int
    seconds: tuple[float, ...]
    matches: int


def small(edges: int, window: int) -> Workload:
    """Return a small stream with the labels of network flows, about as dense in its window as `FLOWS`."""
    recipe = replace(FLOWS.recipe, edges=edges, vertices=max(10, window), label_skew=1.5)
    return replace(FLOWS, recipe=recipe, windows=(window,))


def run(
    workload: Workload, sizes: Sequence[int], repeats: int, cache: Path, progress: Callable[[str], None] = lambda _: None
) -> tuple[FromScratchRun, ...]:
    """Measure paths and trees of several sizes; VF2 runs once, the engines a few times.

    Raises:
        FatalError: VF2 and an engine do not find the same matches.
    """
    edges, (window,) = workload.recipe.edges, workload.windows
    stream = load(workload, cache)
    known = count(stream.batches, stream.symbols)
    records = tuple(generate(workload.recipe))
    found: list[FromScratchRun] = []
    for shape, size in product(SHAPES, sizes):
        (typed, *_) = reversed(draw_group(known, shape, size, window, drawn=_DRAWN, taken=3, seed=size))
        pattern = typed.pattern
        progress(f"{pattern.name} by {BASELINE}")
        start = thread_time()
        expected = set(vf2_anew(pattern, records))
        seconds = thread_time() - start
        found.append(FromScratchRun(pattern.name, BASELINE, edges, window, (seconds,), len(expected)))
        for engine in ENGINES:
            progress(f"{pattern.name} by {engine}")
            plans = [plan(pattern, engine, statistics=known)]
            matcher = Matcher(plans, stream.symbols)
            matches = {each for batch in stream.batches for part in matcher.push(batch) for each in match_ids(part)}
            if matches != expected:
                message = f"{pattern.name}: {engine} finds {len(matches)} matches, {BASELINE} {len(expected)} or others"
                raise FatalError(message)
            passes = tuple(run_once(plans, stream).cpu_seconds for _ in range(repeats))
            found.append(FromScratchRun(pattern.name, engine, edges, window, passes, len(matches)))
    return tuple(found)


def against_scratch(runs: Sequence[FromScratchRun]) -> Table:
    """Return a row for each pattern: rates in edges a processor second, and the ratio of the fastest engine to VF2."""
    by_name: dict[str, dict[str, FromScratchRun]] = {}
    for each in runs:
        by_name.setdefault(each.pattern, {})[each.way] = each
    rows = tuple(
        (
            name,
            f"{ways[BASELINE].edges:,}",
            f"{ways[BASELINE].window:,}",
            *(rate(ways[way].rate) for way in (BASELINE, *ENGINES)),
            ratio(max(ways[way].rate for way in ENGINES) / ways[BASELINE].rate),
            f"{ways[BASELINE].matches:,}",
        )
        for name, ways in by_name.items()
    )
    header = ("pattern", "edges", "window", BASELINE, *ENGINES, "best : VF2", "matches")
    return Table("Against a search from scratch, edges a processor second", header, rows)


def check(runs: Sequence[FromScratchRun]) -> str:
    """Return what `run` checked, in a sentence."""
    return f"Matches checked: {len({each.pattern for each in runs})} patterns, the same sets by match id as {BASELINE}."


def vf2_anew(pattern: SubgraphPattern, records: Iterable[LabelledEdge]) -> Iterator[str]:
    """Yield the identities of the matches of a pattern without predicates, ids and order; ids of edges are ordinals."""
    import networkx as nx  # noqa: PLC0415 - no other benchmark needs it, and it takes its time

    graph, query = nx.MultiDiGraph(), _as_graph(nx.MultiDiGraph(), pattern)
    window: deque[tuple[int, int, LabelledEdge]] = deque()
    for ordinal, record in enumerate(records):
        while window and window[0][1] <= record.ts - pattern.duration.amount:
            _remove(graph, *window.popleft())
        _add(graph, ordinal, record)
        window.append((ordinal, record.ts, record))
        matcher = nx.algorithms.isomorphism.MultiDiGraphMatcher(graph, query, _same_label, _has_labels)
        for image in matcher.subgraph_monomorphisms_iter():
            vertices = {name: vertex for vertex, name in image.items()}
            for edges in _assignments(graph, pattern, vertices):
                if ordinal in edges.values():
                    named = ((name, str(edge)) for name, edge in edges.items())
                    yield match_id(pattern.name, pattern.version, named, edges)


def _as_graph(graph: nx.MultiDiGraph, pattern: SubgraphPattern) -> nx.MultiDiGraph:
    for vertex in pattern.vertices:
        graph.add_node(vertex.name, label=vertex.label)
    for edge in pattern.edges:
        graph.add_edge(edge.source, edge.target, edge.name, label=edge.label)
    return graph


def _add(graph: nx.MultiDiGraph, ordinal: int, record: LabelledEdge) -> None:
    graph.add_node(record.source, label=f"L{record.source_label}")
    graph.add_node(record.target, label=f"L{record.target_label}")
    graph.add_edge(record.source, record.target, ordinal, label=f"E{record.label}")


def _remove(graph: nx.MultiDiGraph, ordinal: int, _ts: int, record: LabelledEdge) -> None:
    graph.remove_edge(record.source, record.target, ordinal)
    graph.remove_nodes_from([end for end in (record.source, record.target) if graph.degree(end) == 0])


def _same_label(data: Mapping[str, str], query: Mapping[str, str | None]) -> bool:
    return query["label"] in {None, data["label"]}


def _has_labels(data: Mapping[int, Mapping[str, str]], query: Mapping[str, Mapping[str, str | None]]) -> bool:
    """Whether each query edge between two vertices has a data edge; which are distinct is left to `_assignments`."""
    return all(any(_same_label(edge, asked) for edge in data.values()) for asked in query.values())


def _assignments(graph: nx.MultiDiGraph, pattern: SubgraphPattern, vertices: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield every choice of distinct data edges for the query edges, given the data vertices."""
    choices = [
        [
            ordinal
            for ordinal, data in graph[vertices[edge.source]][vertices[edge.target]].items()
            if edge.label in {None, data["label"]}
        ]
        for edge in pattern.edges
    ]
    for chosen in product(*choices):
        if len(set(chosen)) == len(chosen):
            yield {edge.name: ordinal for edge, ordinal in zip(pattern.edges, chosen, strict=True)}


FROM_SCRATCH: Final = Kind("from-scratch", FromScratchRun, lambda found: (against_scratch(found),))
