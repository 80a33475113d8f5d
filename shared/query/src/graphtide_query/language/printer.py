"""Print patterns of edges as text: the canonical form.

Parsing the printed text gives an equal pattern, for every pattern that parsing can produce. Edges are printed in their order,
each as its own path, and a vertex's label and key at its first mention. ORDER states the transitive reduction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.pattern import Morphism

from graphtide_query.language.annotations import write_annotations
from graphtide_query.language.expression_printer import write_conditions
from graphtide_query.language.reporting import write_report
from graphtide_query.language.returning import write_returns
from graphtide_query.language.spelling import write_constant, write_name

if TYPE_CHECKING:
    from graphtide_core.pattern import QueryEdge, QueryVertex, SubgraphPattern


def print_subgraph_pattern(pattern: SubgraphPattern) -> str:
    """Return the text of a pattern, without its version, which the language does not state.

    Raises:
        InvalidPatternError: a predicate holds an infinity or NaN.
    Complexity: linear in vertices, edges and predicates; cubic in the edges that ORDER names.
    """
    lines = [f"PATTERN {write_name(pattern.name)}", f"MATCH {', '.join(_write_paths(pattern))}"]
    if pattern.predicates:
        lines.append(f"WHERE {write_conditions(pattern.predicates)}")
    if pattern.order.before:
        lines.append("ORDER " + ", ".join(" < ".join(map(write_name, chain)) for chain in pattern.order.chains()))
    if pattern.morphism is not Morphism.ISOMORPHISM:
        lines.append(f"UNDER {pattern.morphism.value.upper()}")
    if reported := write_report(pattern, usual=pattern.morphism.reports[0]):
        lines.append(f"REPORT {reported}")
    if pattern.returns is not None:
        lines.append(f"RETURN {write_returns(pattern.returns)}")
    lines.append(f"ON {write_name(pattern.stream)} WINDOW {pattern.window}")
    lines += write_annotations(pattern.annotations)
    return "\n".join(lines) + "\n"


def _write_paths(pattern: SubgraphPattern) -> list[str]:
    """Return one path for each edge, so that the vertices are first mentioned in their order.

    An edge is printed backward, or a vertex alone, only if that order needs it.
    """
    unseen = list(pattern.vertices)
    paths: list[str] = []

    def mention(name: str) -> str:
        return _write_braces(unseen.pop(0)) if unseen and unseen[0].name == name else f"({write_name(name)})"

    for edge in pattern.edges:
        ends = (edge.source, edge.target)
        while (new := [vertex.name for vertex in unseen if vertex.name in ends]) and [
            v.name for v in unseen[: len(new)]
        ] != new:
            paths.append(_write_braces(unseen.pop(0)))
        if new == [edge.target, edge.source]:
            left, right = mention(edge.target), mention(edge.source)
            paths.append(f"{left}<-{_write_brackets(edge)}-{right}")
        else:
            left, right = mention(edge.source), mention(edge.target)
            paths.append(f"{left}-{_write_brackets(edge)}->{right}")
    return paths


def _write_braces(vertex: QueryVertex) -> str:
    label = "" if vertex.label is None else f":{write_name(vertex.label)}"
    key = "" if vertex.key is None else f" {{id: {write_constant(vertex.key)}}}"
    return f"({write_name(vertex.name)}{label}{key})"


def _write_brackets(edge: QueryEdge) -> str:
    label = "" if edge.label is None else f":{write_name(edge.label)}"
    return f"[{write_name(edge.name)}{label}]"
