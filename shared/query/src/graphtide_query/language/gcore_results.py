"""Bind the results of a G-CORE query: CONSTRUCT, SELECT, and the path that RETURN names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query_rules import MAX_ATOMS
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language import ast, graph_ast
from graphtide_query.language.clauses import require_text
from graphtide_query.language.expressions import first_place
from graphtide_query.language.spelling import list_names, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_query.language.gcore_branches import Branch
    from graphtide_query.language.gcore_scope import Scope

ANSWER = "Answer"
"""The predicate of SELECT, and of rules that define the answer (Definition 13 of paper 001)."""

_RETURN = "RETURN names one path, which each result reports: -/p<:label+>/->, or in a rule follows+(x, y) AS p"
_COLUMNS = f"{_RETURN}; SELECT or the head of a rule names columns"


@dataclass(frozen=True, slots=True)
class Reported:
    """One kind of result: its label, its vertices and the names of its columns."""

    label: str
    vertices: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """All results; `name` is the query's name if the text states none, `vertices` are all mentions of vertices."""

    name: ast.Name
    reported: tuple[Reported, ...]
    vertices: tuple[ast.Name, ...]


def bind_result(result: graph_ast.Construct | graph_ast.Select) -> Result:
    """Return the results.

    Raises:
        InvalidPatternError: CONSTRUCT has something other than a labelled edge between vertices, or a column is stated twice.
    """
    return _bind_construct(result) if isinstance(result, graph_ast.Construct) else _bind_select(result)


def _bind_construct(construct: graph_ast.Construct) -> Result:
    edges = [edge for path in construct.paths for edge in _read_edges(path)]
    if len(edges) > MAX_ATOMS:
        message = f"a query may CONSTRUCT at most {MAX_ATOMS} edges"
        raise InvalidPatternError(message, edges[MAX_ATOMS][0].location)
    vertices = tuple(each for _, *ends in edges for each in ends)
    return Result(edges[0][0], tuple(_bind_edge(*each) for each in edges), vertices)


def _bind_edge(label: ast.Name, source: ast.Name, target: ast.Name) -> Reported:
    ends = (source.text, target.text)
    called = ends if source.text != target.text else (source.text, f"{target.text}_2")
    return Reported(label.text, ends, called)


def _read_edges(path: ast.Path) -> Iterator[tuple[ast.Name, ast.Name, ast.Name]]:
    """Yield label, source and target of the edges of a path."""
    left = _require_name(path.start)
    if not path.steps:
        message = "CONSTRUCT needs edges, and this is only a vertex"
        raise InvalidPatternError(message, path.start.location, hint="CONSTRUCT (u)-[:label]->(v); SELECT u reports vertices")
    for edge, vertex in path.steps:
        right = _require_name(vertex)
        yield _require_label(edge), *((left, right) if edge.forward else (right, left))
        left = right


def _require_label(edge: ast.Edge | ast.PathEdge) -> ast.Name:
    if isinstance(edge, ast.PathEdge):
        message = "CONSTRUCT needs edges, and this is a path"
        raise InvalidPatternError(message, edge.location, hint="CONSTRUCT (u)-[:label]->(v); write paths to look for in MATCH")
    if edge.label is None:
        message = "a CONSTRUCTed edge needs a label"
        raise InvalidPatternError(message, edge.location, hint="CONSTRUCT (u)-[:label]->(v)")
    require_text(edge.label)
    if edge.name is not None or edge.properties or edge.times is not None:
        message = "a CONSTRUCTed edge has only a label"
        raise InvalidPatternError(message, edge.location, hint="CONSTRUCT (u)-[:label]->(v)")
    return edge.label


def _require_name(vertex: ast.Vertex) -> ast.Name:
    if vertex.name is None:
        message = "a CONSTRUCTed edge needs two named vertices of MATCH"
        raise InvalidPatternError(message, vertex.location, hint="CONSTRUCT (u)-[:label]->(v)")
    if vertex.label is not None or vertex.properties:
        message = "MATCH, not CONSTRUCT, states labels and properties of vertices"
        raise InvalidPatternError(message, vertex.location, hint=f"CONSTRUCT ({shorten(vertex.name.text)})-[:label]->(v)")
    return vertex.name


def _bind_select(select: graph_ast.Select) -> Result:
    called: dict[str, str] = {}
    for column in select.columns:
        name = column.name or column.vertex
        require_text(name)
        if name.text in called:
            message = f"SELECT has two columns called {show(name.text)}"
            raise InvalidPatternError(message, name.location, hint="give one another name: … AS name")
        called[name.text] = column.vertex.text
    reported = Reported(ANSWER, tuple(called.values()), tuple(called))
    return Result(ast.Name(ANSWER, select.location), (reported,), tuple(column.vertex for column in select.columns))


def bind_returned_name(returning: ast.Returning) -> ast.Name:
    """Return the name that RETURN names.

    Raises:
        InvalidPatternError: it does not name exactly one path.
    """
    first = returning.items[0]
    if len(returning.items) > 1 or isinstance(first, ast.Everything):
        message = "RETURN names more than one path"
        raise InvalidPatternError(message, returning.location, hint=_COLUMNS)
    if first.name is not None or not isinstance(first.value, ast.BareName):
        message = "RETURN names a path, and this is a value"
        raise InvalidPatternError(message, first_place(first.value), hint=_COLUMNS)
    return first.value.name


def bind_returned_path(returning: ast.Returning, scope: Scope) -> ast.Name:
    """Return the path that RETURN names.

    Raises:
        InvalidPatternError: the scope has no such path.
    """
    name = bind_returned_name(returning)
    if name.text in scope.paths:
        return name
    message = f"MATCH has no path {show(name.text)}"
    hint = did_you_mean(name.text, scope.paths) or (f"the paths are {list_names(scope.paths)}" if scope.paths else _RETURN)
    if name.text in scope.edges:
        message, hint = f"{show(name.text)} is an edge", f"write a path of one edge as -/{shorten(name.text)}<:label>/->"
    if name.text in scope.vertices:
        message, hint = f"{show(name.text)} is a vertex", f"SELECT reports vertices: SELECT {shorten(name.text)}"
    raise InvalidPatternError(message, name.location, hint=hint)


def refuse_wrong_path(path: ast.Name, branches: Sequence[Branch]) -> None:
    """Check that every branch has the path.

    Raises:
        InvalidPatternError: one does not.
    """
    if any(path.text not in {atom.name for atom in branch.body} for branch in branches):
        message = f"a branch of the query has no path {show(path.text)} to return"
        raise InvalidPatternError(message, path.location, hint="name a path of MATCH itself, not of an OPTIONAL")
