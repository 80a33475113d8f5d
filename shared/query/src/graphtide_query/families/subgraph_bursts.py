"""Estimate how many matches of a pattern of edges one edge may complete, by interchangeable edges or the stream's degrees.

Cost: O(n^2) for n edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_query.estimates.bursts import FEWEST, MOST_MATCHES, Burst, add_conditions, alike, burst_at_hub, sentence

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit

    from graphtide_query.symmetry import ColouredGraph

_INSTEAD: Final = "a shorter window, an order (ORDER) or more conditions"


def burst_of_edges(pattern: SubgraphPattern, known: tuple[StatisticsSnapshot, TimeUnit] | None) -> Burst | None:
    """Return how many matches one edge may complete; None where that is not more than `MOST_MATCHES`."""
    found = _of_edges(pattern)
    if found is not None or known is None:
        return found
    from graphtide_query import fan_out  # noqa: PLC0415 - who knows no statistics does without

    return burst_at_hub(fan_out.of_pattern(pattern, *known), _INSTEAD)


def _of_edges(pattern: SubgraphPattern) -> Burst | None:
    if len(pattern.edges) < FEWEST:
        return None
    from graphtide_query.symmetry import against  # noqa: PLC0415 - most patterns have too few edges

    names = [edge.name for edge in pattern.edges]
    graph, number = _graph(pattern)
    exchanged = alike(graph, number, names)
    if exchanged.matches <= MOST_MATCHES:
        return None
    certain = exchanged.matches
    if pattern.order.before:
        for before, after in pattern.order.before:
            graph.link("before", number[before], number[after])
        certain = alike(graph, number, names).matches
    # Edges that are ordered can be exchanged as far as the order allows for those of one set.
    matches = max(certain, exchanged.matches // against(pattern.order.before))
    if matches <= MOST_MATCHES:
        return None
    is_all = not pattern.is_distinct and pattern.one_per is None
    first, second = exchanged.names[:2]
    instead = "order them all" if pattern.order.before else f"order them (ORDER {first} < {second} < …)"
    instead += ", so that each set is found once"
    text = sentence(exchanged.names, matches, "edges", instead, None if not is_all else "REPORT DISTINCT")
    return Burst(matches, certain if is_all else 1, text)


def _graph(pattern: SubgraphPattern) -> tuple[ColouredGraph, dict[str, int]]:
    """Return a pattern as a graph, without its order, and the numbers of its vertices and edges."""
    from graphtide_query.symmetry import ColouredGraph  # noqa: PLC0415 - as above

    graph = ColouredGraph()
    number = {each.name: graph.add(f"vertex {each.label!r} {each.key!r}") for each in pattern.vertices}
    for edge in pattern.edges:
        number[edge.name] = graph.add(f"edge {edge.label!r}")
        graph.link("from", number[edge.name], number[edge.source])
        graph.link("to", number[edge.name], number[edge.target])
    add_conditions(graph, number, pattern.predicates)
    return graph, number
