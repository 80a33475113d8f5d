"""Bind nodes to patterns: resolve every name and check every rule of the language at its place.

Errors that `SubgraphPattern` raises without a place are raised here first, with a place.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.merged_streams import part_in
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import Morphism, Report, SubgraphPattern
from graphtide_core.predicate import conjuncts
from graphtide_core.suggestion import did_you_mean, show
from graphtide_core.window import MOST_EDGES, EdgeCount

from graphtide_query.language import ast
from graphtide_query.language.annotations import MessageNames, annotate
from graphtide_query.language.clauses import bind_time, find_clause, place_errors, require_clause, require_text
from graphtide_query.language.edge_names import EdgeNames, FieldNames
from graphtide_query.language.expressions import bind_expression
from graphtide_query.language.graph import Graph, bind_graph
from graphtide_query.language.reporting import bind_one_per
from graphtide_query.language.returning import bind_returns
from graphtide_query.language.spelling import list_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.errors import Location
    from graphtide_core.window import Window


def check_names(patterns: Iterable[tuple[ast.Name, AnyPattern]]) -> None:
    """Check the names of a file's patterns.

    Raises:
        InvalidPatternError: two patterns have one name; at the second. Or one is called as services call a part of a pattern.
    """
    seen: set[str] = set()
    for name, pattern in patterns:
        if (part := part_in(name.text)) is not None:
            message = f"{show(name.text)} is the name of a part of the pattern {show(part.whole)}, as services make them"
            raise InvalidPatternError(message, name.location, hint="choose a name that does not end like #3/8")
        if name.text in seen:
            message = f"the text has two patterns named {show(name.text)}"
            hint = "give each pattern its own name"
            # The language is below the families; only a graph query may have no stated name.
            if isinstance(pattern, GraphQuery):
                hint += ": write QUERY name before a streaming graph query, which otherwise takes the name of its results"
            raise InvalidPatternError(message, name.location, hint=hint)
        seen.add(name.text)


def bind_pattern(pattern: ast.PatternNode) -> SubgraphPattern:
    """Return the pattern that the nodes describe.

    Raises:
        InvalidPatternError: a name is unknown or stated twice, a clause is missing or stated twice, or the graph is not
            connected. Or the order has a cycle, or a value is out of range; with its place.
            Complexity: linear in the nodes, except for a pattern's edges and order, which are bounded.
    """
    require_text(pattern.name)
    clauses = pattern.clauses
    where = find_clause(clauses, ast.Where, "WHERE", "join the conditions by AND")
    order = find_clause(clauses, ast.Order, "ORDER", "separate chains by commas: ORDER a < b, a < c")
    under = find_clause(clauses, ast.Under, "UNDER")
    morphism = Morphism.ISOMORPHISM if under is None else under.morphism
    reporting = find_clause(clauses, ast.Reporting, "REPORT")
    stream = find_clause(clauses, ast.On, "ON", "a pattern reads one stream")
    stream = require_clause(stream, pattern.name, "ON", "name the stream it reads: ON flows")
    window = find_clause(clauses, ast.Window, "WINDOW")
    window = require_clause(window, pattern.name, "WINDOW", "say how long a match may last: WINDOW 10m")
    require_text(stream.stream)
    graph = bind_graph(pattern)
    condition = (
        () if where is None else graph.each(conjuncts(bind_expression(where.condition, EdgeNames(graph))), where.location)
    )
    returning = find_clause(clauses, ast.Returning, "RETURN", "separate fields by commas: RETURN e.bytes, v.id")
    bound = SubgraphPattern(
        name=PatternName(pattern.name.text),
        vertices=graph.vertices,
        edges=graph.edges,
        window=_bind_window(window),
        stream=StreamName(stream.stream.text),
        order=TimingOrder() if order is None else _bind_order(order, graph),
        predicates=graph.predicates + condition,
        morphism=morphism,
        report=_bind_report(reporting, morphism),
        returns=None if returning is None else bind_returns(returning, FieldNames(graph, morphism)),
    )
    edges = frozenset(edge.name for edge in bound.edges)
    parts = edges.union(vertex.name for vertex in bound.vertices)
    bound = annotate(bound, clauses, MessageNames(parts, frozenset(each.name for each in bound.fields), edges))
    if reporting is None:
        return bound
    one_per = bind_one_per(reporting, FieldNames(graph, morphism))
    with place_errors(reporting.location):
        return replace(bound, is_distinct=reporting.is_distinct, one_per=one_per)


def _bind_window(window: ast.Window) -> Window:
    amount, location = window.amount.value, window.amount.location
    if window.unit is not None and window.unit.text.upper() in ("EDGE", "EDGES"):
        return _bind_edges(window.amount, window.unit)
    if isinstance(amount, int) and amount == 0:
        message = "the window is empty: it must be longer than 0"
        raise InvalidPatternError(message, location, hint="for example WINDOW 10m")
    return bind_time(window.amount, window.unit, "a window", ", or EDGES")


def _bind_edges(amount: ast.Constant, unit: ast.Name) -> EdgeCount:
    number, location = amount.value, amount.location
    if not isinstance(number, int):
        message = "a window must be a whole number of edges"
        raise InvalidPatternError(message, location)
    if number < 0:
        message = "a window cannot be negative"
        raise InvalidPatternError(message, location)
    if number == 0:
        message = "the window is empty: it must have at least one edge"
        raise InvalidPatternError(message, location, hint="for example WINDOW 500 EDGES")
    if number > MOST_EDGES:
        message = f"a window has at most {MOST_EDGES:,} edges"
        raise InvalidPatternError(message, location, hint="a window of time may have any length: WINDOW 10m")
    if number > 1 and unit.text.upper() == "EDGE":
        message = f"{number} edges are written EDGES"
        raise InvalidPatternError(message, unit.location, hint=f"write WINDOW {EdgeCount(number)}")
    return EdgeCount(number)


def _bind_report(stated: ast.Reporting | None, morphism: Morphism) -> Report:
    possible = morphism.reports
    if stated is None or stated.report is None:
        return possible[0]
    if stated.report not in possible:
        message = f"REPORT {stated.report.value.upper()} is not for patterns UNDER {morphism.value.upper()}"
        hint = "one of " + ", ".join(each.value.upper() for each in possible)
        if len(possible) == 1:
            hint = "it is for patterns UNDER DUAL SIMULATION"
        raise InvalidPatternError(message, stated.location, hint=hint)
    return stated.report


def _bind_order(order: ast.Order, graph: Graph) -> TimingOrder:
    edges = {edge.name for edge in graph.edges} | graph.copies.keys()
    vertices = {vertex.name for vertex in graph.vertices}
    written: dict[tuple[str, str], Location] = {}
    for chain in order.chains:
        for entry in chain:
            if entry.text in vertices:
                message = f"{show(entry.text)} is a vertex; ORDER is over edges"
                raise InvalidPatternError(message, entry.location, hint=f"the edges are {list_names(edges)}")
            if entry.text not in edges:
                message = f"the pattern has no edge {show(entry.text)}"
                hint = did_you_mean(entry.text, edges) or f"the edges are {list_names(edges)}"
                raise InvalidPatternError(message, entry.location, hint=hint)
        for earlier, later in pairwise(chain):
            written.setdefault((earlier.text, later.text), later.location)
    places: dict[tuple[str, str], Location] = {}
    for (before, after), location in written.items():
        for pair in product(graph.edges_of(before), graph.edges_of(after)):
            places.setdefault(pair, location)
    pairs = list(places)
    try:
        return TimingOrder.of(pairs)
    except InvalidPatternError:
        error, place = _find_first_cycle(pairs)
        raise InvalidPatternError(error.reason, places[place], hint=error.hint) from None


def _find_first_cycle(pairs: list[tuple[str, str]]) -> tuple[InvalidPatternError, tuple[str, str]]:
    """Return the error of the shortest prefix of `pairs` that has a cycle, and the pair that closes it."""
    good, bad = 0, len(pairs)
    error = _find_cycle(pairs)
    while bad - good > 1:
        middle = (good + bad) // 2
        found = _find_cycle(pairs[:middle])
        good, bad, error = (middle, bad, error) if found is None else (good, middle, found)
    assert error is not None  # noqa: S101 - the caller saw the cycle
    return error, pairs[bad - 1]


def _find_cycle(pairs: list[tuple[str, str]]) -> InvalidPatternError | None:
    try:
        TimingOrder.of(pairs)
    except InvalidPatternError as error:
        return error
    return None
