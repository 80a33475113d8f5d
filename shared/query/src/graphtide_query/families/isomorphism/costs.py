"""Estimate the cost of the engines of subgraph isomorphism, in terms that all of them share.

Costs count what an engine does for an average edge by the cost model's estimates, and weigh it by `Weights`. Those are fitted
by least squares of relative errors to rates measured over the named workloads (`docs/benchmarks/subgraphs.md`), with the true
numbers of matches. The fit is off by 4 to 14 % at the median, and what is estimated wrong is off by more. Then `timing` was
raised by a tenth and `sj-tree` lowered by a twentieth: of the choices near a tie, that loses least. A row of `re-search` and
`filtering` was set to 45 ns: the fit separates rows from matches badly, because they occur together.

`timing` and `sj-tree` pay for every partial match they make. `re-search` pays for every edge it visits, and so does
`filtering`, which pays for keeping an edge only where its filters leave it. All pay for matches, and for an edge that can be a
query edge. They pay more for it the more of its kind are alive, because less of them is in cache. Among many patterns of its
engine, what a pattern alone reads and writes is no longer in cache. Then `timing` and `sj-tree` pay `COLD` for every use of
their lists. `re-search` and `filtering` ask a table that all patterns share before they touch a pattern. The cost of an edge
that no pattern uses belongs to the pass: each of its patterns is charged a part. Otherwise plans of patterns with few edges
would differ only in how fast each engine skips the other edges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_query.estimates.cost import Part, format_number, of_edges
from graphtide_query.families.isomorphism import search_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_query.estimates.colocation import EngineLoad
    from graphtide_query.estimates.cost_model import CostModel


@dataclass(frozen=True, slots=True)
class Weights:
    """Nanoseconds of an engine's steps.

    Attributes:
        edge: for every edge; the patterns of a pass share it, because each edge is looked up once for all of them.
        relevant: for one that can be a query edge.
        grown: for such a one and every doubling of its kind beyond `IN_CACHE`.
        candidate: for a query edge it can be.
        row: for a partial match made, or an edge visited.
        match: for a match.
    """

    edge: float
    relevant: float
    grown: float
    candidate: float
    row: float
    match: float


IN_CACHE = 2_000
"""Edges of a kind whose lists are at hand."""
COLD = 1_000.0
"""Nanoseconds more for an insertion into lists that are not in cache."""
FULL_CACHE_PATTERNS = 500
"""Patterns of one engine in a pass from which on their lists are out of cache; fewer are so in proportion."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The stream as a pattern sees it, with any plan.

    Attributes:
        model: estimates for the pattern.
        shares: of the edges that each query edge can match.
        completed: matches that the arrival of one of those completes.
        kinds: shares of the kinds of edges that the pattern asks for.
    """

    model: CostModel
    shares: tuple[float, ...]
    completed: tuple[float, ...]
    kinds: tuple[float, ...]

    def cold(self, engine_load: EngineLoad) -> Part:
        """Return the time for the use of lists that are not in cache."""
        time = COLD * min(1.0, (engine_load.alike - 1) / FULL_CACHE_PATTERNS) * sum(self.shares)
        return Part(time, f"lists that {engine_load.alike:,} patterns of the engine push out of cache")

    def matches(self, starts: Iterable[int]) -> float:
        """Return the matches for an edge of the stream that are found from these query edges."""
        return sum(self.shares[start] * self.completed[start] for start in starts)

    def visits(self, orders: Sequence[tuple[int, ...]], starts: Iterable[int]) -> float:
        """Return how many edges the searches from these edges visit for an edge of the stream."""
        return sum(self.shares[start] * sum(search_order.fan_outs(self.model, orders[start])[1:]) for start in starts)

    def stored(self, parts: Iterable[tuple[str, Sequence[int]]]) -> tuple[float, float]:
        """Return partial matches of these parts: alive, and made for an edge. One leaves with the oldest of its edges."""
        alive = [(self.model.partial_matches(edges), len(edges)) for _, edges in parts]
        return sum(each for each, _ in alive), sum(each * edges for each, edges in alive) / self.model.edges_in_window

    def parts(self, weights: Weights, engine_load: EngineLoad, rows: float, of_rows: str, matches: float) -> tuple[Part, ...]:
        """Return the time for an edge of the stream, with all lists in cache; `of_rows` says what its rows are."""
        alive, relevant = self.model.edges_in_window, sum(self.kinds)
        grown = sum(share * math.log2(1 + share * alive / IN_CACHE) for share in self.kinds)
        return (
            Part(weights.edge / engine_load.patterns, "the look-up of each edge"),
            Part(weights.relevant * relevant, f"{of_edges(relevant)} that can be query edges"),
            Part(weights.grown * grown, f"lists of the {format_number(relevant * alive)} such edges in the window"),
            Part(weights.candidate * sum(self.shares), f"{format_number(sum(self.shares))} query edges that an edge can be"),
            Part(weights.row * rows, f"{format_number(rows)} {of_rows} an edge"),
            Part(weights.match * matches, f"{format_number(matches)} matches an edge"),
        )


def stream_of(model: CostModel) -> Stream:
    """Return what the model's pattern meets. Complexity: O(n^3) for n edges."""
    edges = model.pattern.edges
    completed = tuple(search_order.matches_from(model, start) for start in range(len(edges)))
    return Stream(model, tuple(model.share(edge) for edge in edges), completed, model.kinds())
