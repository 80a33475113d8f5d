"""Selectivity of a pattern's primitives, and the choice of a strategy of `sj-tree` by it.

The selectivity of a subgraph of k edges is its share of all subgraphs of k edges. Expected Selectivity of a decomposition is
the product over its leaves. Relative Selectivity divides that of the decomposition into paths by that of the one into edges.
Where it is low, some path is far rarer than its edges make it, and a search that starts from that path stores little.

Reference: paper 003, sections 5 (selectivity), 5.2 (equations 1 and 2) and 6.5 (the rule).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Protocol

from graphtide_core.plans import SjTreeStrategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_query.estimates.cost_model import CostModel

PATHS_BELOW = 0.001
"""Relative Selectivity below which paths are worth their search (section 6.5)."""

Primitive = tuple[int, ...]
"""One edge of a pattern, or two that share a vertex, by position."""


class PrimitiveFrequencies(Protocol):
    """How often the parts of one pattern occur in a stream."""

    def edge(self, edge: int) -> float:
        """Return the share of edges that the query edge can match, 0 to 1."""
        ...

    def path(self, first: int, second: int) -> float:
        """Return the share of paths of two edges, by types and directions, that the two query edges can match, 0 to 1.

        The edges share a vertex; their order does not matter.
        """
        ...


@dataclass(frozen=True, slots=True)
class EstimatedFrequencies:
    """Frequencies of paths as if edges were independent: for streams whose paths were not counted.

    With E edges spread over V vertices, two edges can meet in 4 ways: about `2 * E * E / V` paths in all. A pair of query edges
    that share one vertex has `occurrences` of them. So under independence a path is hardly rarer than its
    two edges, and the choice falls on single edges unless paths close cycles.
    """

    model: CostModel

    def edge(self, edge: int) -> float:
        """See `PrimitiveFrequencies`."""
        return self.model.share(self.model.pattern.edges[edge])

    def path(self, first: int, second: int) -> float:
        """See `PrimitiveFrequencies`."""
        model = self.model
        return min(1.0, model.occurrences((first, second)) * model.vertices / (2 * model.edges_in_window**2))


@dataclass(frozen=True, slots=True)
class CountedFrequencies:
    """Frequencies of paths as they were counted in the stream (Algorithm 5)."""

    model: CostModel

    def edge(self, edge: int) -> float:
        """See `PrimitiveFrequencies`."""
        return self.model.share(self.model.pattern.edges[edge])

    def path(self, first: int, second: int) -> float:
        """See `PrimitiveFrequencies`."""
        pattern = self.model.pattern
        return self.model.statistics.path_share(pattern, pattern.edges[first], pattern.edges[second])


def frequencies_of(model: CostModel) -> PrimitiveFrequencies:
    """Return what is known of the parts of a pattern: counted where the statistics have paths, estimated elsewhere."""
    known = model.statistics
    return CountedFrequencies(model) if known.edges and known.paths is not None else EstimatedFrequencies(model)


def selectivity(frequencies: PrimitiveFrequencies, primitive: Primitive) -> float:
    """Return the selectivity of one primitive, S(g)."""
    match primitive:
        case (edge,):
            return frequencies.edge(edge)
        case (first, second):
            return frequencies.path(first, second)
        case _:
            message = f"a primitive has one or two edges, this one has {len(primitive)}"
            raise ValueError(message)


def expected_selectivity(frequencies: PrimitiveFrequencies, leaves: Sequence[Primitive]) -> float:
    """Return the product of the leaves' selectivities (equation 1)."""
    return prod(selectivity(frequencies, leaf) for leaf in leaves)


def relative_selectivity(frequencies: PrimitiveFrequencies, leaves: Sequence[Primitive], single: Sequence[Primitive]) -> float:
    """Return the Expected Selectivity of `leaves` over that of the decomposition into single edges (equation 2).

    It is 1.0 where the edges themselves never occur: then nothing speaks for paths.
    """
    of_single = expected_selectivity(frequencies, single)
    return expected_selectivity(frequencies, leaves) / of_single if of_single > 0 else 1.0


def choose_strategy(
    frequencies: PrimitiveFrequencies, paths: Sequence[Primitive], single: Sequence[Primitive]
) -> SjTreeStrategy:
    """Return the strategy that the paper's rule names, given the decompositions into paths and into single edges."""
    if relative_selectivity(frequencies, paths, single) < PATHS_BELOW:
        return SjTreeStrategy.PATH_LAZY
    return SjTreeStrategy.SINGLE_LAZY
