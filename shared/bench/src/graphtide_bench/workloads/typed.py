"""Draws patterns by the types of a stream's edges, as paper 003 draws its queries (section 6.4.1).

A pattern grows edge by edge: each new edge gets a random type among those that fit the vertex label it grows from. Patterns
with a 2-edge path that the stream does not have are left out, as in the paper. A few of the others are taken, whose Expected
Selectivities lie evenly between the least and the greatest, on a logarithmic scale.

Invariant: equal statistics and seeds give equal patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import log
from random import Random
from typing import TYPE_CHECKING, Final

from graphtide_core.plans import SjTreeStrategy
from graphtide_query import parse_subgraphs
from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.families.isomorphism.selectivity import expected_selectivity, frequencies_of, relative_selectivity
from graphtide_query.families.isomorphism.sj_decomposition import decompose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.statistics import EdgeType, StatisticsSnapshot

    from graphtide_bench.workloads.queries import Template

SHAPES: Final = ("path", "tree")
"""Paths, and binary trees whose edges lead away from the root."""


@dataclass(frozen=True, slots=True)
class TypedPattern:
    """A pattern with its Expected Selectivity split into paths, and its Relative Selectivity."""

    pattern: SubgraphPattern
    expected: float
    relative: float


def draw_group(
    statistics: StatisticsSnapshot, shape: str, size: int, window: int, *, drawn: int, taken: int, seed: int
) -> tuple[TypedPattern, ...]:
    """Draw patterns of one shape with `size` edges and take some that spread over the range of selectivities.

    Args:
        statistics: of the stream, with 2-edge paths.
        shape: one of `SHAPES`.
        size: edges of a pattern.
        window: of the patterns, in ticks.
        drawn: how many are drawn; those that cannot match are dropped.
        taken: how many are taken of those left.
        seed: of the random numbers.
    """
    rng = Random(seed)  # noqa: S311 - a workload, not a secret
    texts = (_text(statistics, f"{shape}{size}_{number}", template(shape, size), window, rng) for number in range(drawn))
    patterns = [pattern for text in texts if text for pattern in parse_subgraphs(text) if _can_match(statistics, pattern)]
    return _spread([_measure(pattern, statistics, window) for pattern in patterns], taken)


def template(shape: str, size: int) -> Template:
    """Return the edges of a shape of that size between numbered vertices."""
    if shape == "path":
        return tuple((place, place + 1) for place in range(size))
    return tuple((place // 2, place + 1) for place in range(size))


def _text(statistics: StatisticsSnapshot, name: str, edges: Template, window: int, rng: Random) -> str | None:
    """Return a pattern, or None if it grew to a vertex without an edge to follow."""
    labels: dict[int, str | None] = {}
    types = sorted(statistics.types, key=repr)
    parts = []
    for number, (source, target) in enumerate(edges):
        fitting = [kind for kind in types if source not in labels or kind.source_label == labels[source]]
        if not fitting:
            return None
        kind = rng.choice(fitting)
        labels.setdefault(source, kind.source_label)
        labels[target] = kind.target_label
        parts.append(_edge(number, source, target, kind))
    return f"PATTERN {name}\nMATCH {', '.join(parts)}\nON stream WINDOW {window}\n"


def _edge(number: int, source: int, target: int, kind: EdgeType) -> str:
    return f"{_vertex(source, kind.source_label)}-[e{number}:{kind.label}]->{_vertex(target, kind.target_label)}"


def _vertex(number: int, label: str | None) -> str:
    return f"(v{number})" if label is None else f"(v{number}:{label})"


def _can_match(statistics: StatisticsSnapshot, pattern: SubgraphPattern) -> bool:
    adjacent = (
        (one, other)
        for one, other in combinations(pattern.edges, 2)
        if not {one.source, one.target}.isdisjoint((other.source, other.target))
    )
    return all(statistics.path_share(pattern, one, other) > 0 for one, other in adjacent)


def _measure(pattern: SubgraphPattern, statistics: StatisticsSnapshot, window: int) -> TypedPattern:
    model = CostModel(pattern, statistics, window)
    frequencies = frequencies_of(model)
    paths = decompose(model, frequencies, SjTreeStrategy.PATH)
    single = decompose(model, frequencies, SjTreeStrategy.SINGLE)
    return TypedPattern(pattern, expected_selectivity(frequencies, paths), relative_selectivity(frequencies, paths, single))


def _spread(patterns: Sequence[TypedPattern], taken: int) -> tuple[TypedPattern, ...]:
    """Take patterns whose Expected Selectivities are nearest to evenly spread ones."""
    left = sorted(patterns, key=lambda each: each.expected)
    if len(left) <= taken:
        return tuple(left)
    low, high = log(left[0].expected), log(left[-1].expected)
    chosen = []
    for place in range(taken):
        wanted = low + (high - low) * place / max(1, taken - 1)
        nearest = min(left, key=lambda each: abs(log(each.expected) - wanted))
        left.remove(nearest)
        chosen.append(nearest)
    return tuple(chosen)
