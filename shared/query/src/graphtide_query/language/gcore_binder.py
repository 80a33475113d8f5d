"""Bind queries of G-CORE to streaming graph queries: a rule for each PATH, and for each branch of CONSTRUCT or SELECT.

Reference: paper 001, section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query import GraphQuery, Output
from graphtide_core.graph_query_rules import MAX_ATOMS, refuse_loose_parts
from graphtide_core.ids import PatternName
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language import ast, graph_ast
from graphtide_query.language.annotations import annotate
from graphtide_query.language.clauses import place_errors, require_text
from graphtide_query.language.gcore_branches import bind_branch
from graphtide_query.language.gcore_conditions import bind_conditions
from graphtide_query.language.gcore_results import Result, bind_result, bind_returned_path, refuse_wrong_path
from graphtide_query.language.gcore_scope import Block, Scope
from graphtide_query.language.graph_inputs import Inputs, bind_window, find_on
from graphtide_query.language.graph_names import query_name, result_names
from graphtide_query.language.path_binder import steps
from graphtide_query.language.spelling import list_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.errors import Location
    from graphtide_core.regular_rule import Rule
    from graphtide_core.stream_window import StreamWindow

    from graphtide_query.language.gcore_branches import Branch


def bind_query(stated: ast.Name | None, view: graph_ast.View | None, query: graph_ast.Query) -> tuple[ast.Name, GraphQuery]:
    """Return the query that the nodes describe, and its name.

    Raises:
        InvalidPatternError: a name is unknown or stated twice, a clause is missing or stated twice, or as `GraphQuery`; with
            its place.
    Complexity: linear in the nodes for each branch.
    """
    result = bind_result(query.result)
    name = query_name(stated, view, result.name)
    blocks, wheres, returning = _collect_blocks(query)
    paths = _Paths(query.paths)
    scope = Scope(blocks)
    inputs = Inputs(paths.clauses)
    rules = list(paths.rules(blocks, inputs))
    for column in result.vertices:
        _refuse_no_vertex(column, scope)
    conditions = bind_conditions(wheres, scope)
    path = None if returning is None else bind_returned_path(returning, scope)
    columns = [column.text for column in result.vertices]
    options = sorted({block.option for block in blocks if block.option is not None})
    branches = [bind_branch(scope, option, conditions, columns, inputs) for option in (*options, None)]
    answered = [branch for branch in branches if branch is not None and branch.body]
    if not answered:
        message = "no branch of the query has everything that it reports and that its WHERE reads"
        hint = "write what all branches share after MATCH, before the first OPTIONAL"
        raise InvalidPatternError(message, query.result.location, hint=hint)
    _refuse_lonely(scope, answered)
    if path is not None:
        refuse_wrong_path(path, answered)
    outputs, derived = _bind_outputs(result, answered, inputs, None if path is None else path.text)
    with place_errors(query.result.location):
        bound = GraphQuery(PatternName(name.text), inputs.all, (*rules, *derived), outputs, is_view=view is not None)
    return name, annotate(bound, query.clauses, result_names(bound.outputs))


def _bind_outputs(
    result: Result, branches: Sequence[Branch], inputs: Inputs, path: str | None
) -> tuple[tuple[Output, ...], tuple[Rule, ...]]:
    outputs: list[Output] = []
    rules: list[Rule] = []
    for reported in result.reported:
        head = inputs.fresh(reported.label)
        outputs.append(Output(head, reported.label, reported.columns, path))
        rules += dict.fromkeys(branch.rule(head, reported.vertices) for branch in branches)
    return tuple(outputs), tuple(rules)


@dataclass(slots=True)
class _MatchGroup:
    """A MATCH with its OPTIONAL and ON clauses, collected in the order of the text."""

    match: graph_ast.Match
    options: list[graph_ast.Option] = field(default_factory=list)
    on: graph_ast.StreamOn | None = None


def _collect_blocks(query: graph_ast.Query) -> tuple[list[Block], list[ast.Where], ast.Returning | None]:
    matches: list[_MatchGroup] = []
    wheres: list[ast.Where] = []
    returning: ast.Returning | None = None
    for clause in query.clauses:
        match clause:
            case graph_ast.Match():
                matches.append(_MatchGroup(clause))
            case graph_ast.Option():
                _latest_match(matches, "OPTIONAL", clause.location).options.append(clause)
            case graph_ast.StreamOn():
                latest = _latest_match(matches, "ON", clause.location)
                if latest.on is not None:
                    message = "the MATCH has a second ON clause"
                    raise InvalidPatternError(message, clause.location, hint="a MATCH reads one stream: write another MATCH")
                latest.on = clause
            case ast.Where():
                wheres.append(clause)
            case ast.Returning():
                if returning is not None:
                    message = "the query has a second RETURN clause"
                    raise InvalidPatternError(message, clause.location, hint="keep one")
                returning = clause
            case _:  # Annotations belong to the query.
                pass
    if not matches:
        message = "the query has no MATCH clause"
        raise InvalidPatternError(message, query.result.location, hint="MATCH (u)-[:label]->(v) ON stream WINDOW(24h)")
    return list(_number_blocks(matches)), wheres, returning


def _latest_match(matches: list[_MatchGroup], keyword: str, place: Location) -> _MatchGroup:
    if not matches:
        message = f"{keyword} stands before the first MATCH"
        raise InvalidPatternError(message, place, hint="MATCH (u)-[:label]->(v) OPTIONAL … ON stream WINDOW(24h)")
    return matches[-1]


def _number_blocks(matches: list[_MatchGroup]) -> Iterator[Block]:
    number = 0
    for each in matches:
        if each.on is None:
            message = "the MATCH has no ON clause"
            hint = "name the stream and how long its edges are valid: ON stream WINDOW(24h)"
            raise InvalidPatternError(message, each.match.paths[0].start.location, hint=hint)
        window = bind_window(each.on)
        yield Block(each.match.paths, window)
        for option in each.options:
            if number == MAX_ATOMS:
                message = f"a query may have at most {MAX_ATOMS} OPTIONAL blocks"
                raise InvalidPatternError(message, option.location)
            yield Block(option.paths, window, number)
            number += 1


def _refuse_no_vertex(column: ast.Name, scope: Scope) -> None:
    if column.text in scope.vertices:
        return
    if column.text in scope.edges or column.text in scope.paths:
        message = f"{show(column.text)} is not a vertex, and a result is between vertices"
        hint = "RETURN reports a path, -/p<:label+>/->; a query does not report attributes of edges"
        raise InvalidPatternError(message, column.location, hint=hint)
    message = f"no MATCH has the vertex {show(column.text)}"
    hint = did_you_mean(column.text, scope.vertices) or f"the vertices are {list_names(scope.vertices)}"
    raise InvalidPatternError(message, column.location, hint=hint)


def _refuse_lonely(scope: Scope, branches: Sequence[Branch]) -> None:
    """Reject a vertex that has no edge in any branch."""
    drawn = {end for each in scope.drawn for end in (each.source, each.target)}
    representatives = branches[0].representatives
    joined = {representatives[name] for name in drawn}
    for name, place in scope.vertices.items():
        if representatives[name] not in joined:
            message = f"vertex {show(name)} has no edge"
            raise InvalidPatternError(message, place, hint="for example (u)-[:label]->(v)")


class _Paths:
    """The PATH clauses of a query.

    Attributes:
        clauses: by name.
    """

    def __init__(self, clauses: Sequence[graph_ast.PathClause]) -> None:
        """Take the clauses.

        Raises:
            InvalidPatternError: two have one name, or one has no edge or a clause twice.
        """
        self.clauses: dict[str, graph_ast.PathClause] = {}
        self._windows: dict[str, StreamWindow] = {}
        for clause in clauses:
            name = clause.name
            if len(self.clauses) == MAX_ATOMS:
                message = f"a query may have at most {MAX_ATOMS} PATH clauses"
                raise InvalidPatternError(message, name.location)
            require_text(name)
            if name.text in self.clauses:
                message = f"the query has two paths named {show(name.text)}"
                raise InvalidPatternError(message, name.location, hint="alternatives are written -/:a | :b/->")
            if not clause.paths[0].steps:
                message = f"PATH {name.text} begins with a vertex that has no edge"
                hint = (
                    f"a path leads from the first vertex of its first chain to the last: PATH {name.text} = (u)-[:label]->(v)"
                )
                raise InvalidPatternError(message, clause.paths[0].start.location, hint=hint)
            if (on := find_on(clause.options)) is not None:
                self._windows[name.text] = bind_window(on)
            self.clauses[name.text] = clause

    def rules(self, blocks: Sequence[Block], inputs: Inputs) -> Iterator[Rule]:
        """Yield the rules of all paths, each after the rules that it uses.

        Raises:
            InvalidPatternError: as `Scope` and `bind_branch`; a path uses itself, is not used, or has no window.
        """
        order = self._order()
        for block in blocks:
            self._hand_down(block.paths, block.window)
        for name in reversed(order):
            clause = self.clauses[name]
            if name not in self._windows:
                message = f"nothing uses the path {show(name)}"
                raise InvalidPatternError(
                    message, clause.name.location, hint=f"-/<~{name}+>/-> uses it, in MATCH or another PATH"
                )
            self._hand_down(clause.paths, self._windows[name])
        for name in order:
            yield self._rule(self.clauses[name], self._windows[name], inputs)

    def _order(self) -> list[str]:
        """Return the names in the order of the text, except for paths that use later ones."""
        order: dict[str, None] = {}
        for name in self.clauses:
            self._visit(name, {}, order)
        return list(order)

    def _visit(self, name: str, way: Mapping[str, None], order: dict[str, None]) -> None:
        if name in order:
            return
        way = {**way, name: None}
        for step in _derived_steps(self.clauses[name].paths):
            used = step.name.text
            self._refuse_unknown(step)
            if used in way:
                circle = " uses ".join(f"~{each}" for each in [*list(way)[list(way).index(used) :], used])
                message = f"a path cannot use itself: {circle}"
                hint = f"use closure for recursion: write -/<~{used}+>/-> where {used} is used"
                raise InvalidPatternError(message, step.location, hint=hint)
            self._visit(used, way, order)
        order[name] = None

    def _hand_down(self, paths: Sequence[ast.Path], window: StreamWindow) -> None:
        """Give a window to the paths that are used in it and state none themselves."""
        for step in _derived_steps(paths):
            self._refuse_unknown(step)
            name = step.name.text
            if find_on(self.clauses[name].options) is None and self._windows.setdefault(name, window) != window:
                message = f"the path {show(name)} is used over two windows and has no window of its own"
                hint = f"give it one: PATH {name} = … ON stream WINDOW(24h)"
                raise InvalidPatternError(message, step.location, hint=hint)

    def _refuse_unknown(self, step: graph_ast.Step) -> None:
        name = step.name.text
        if name not in self.clauses:
            message = f"no PATH derives ~{name}"
            hint = did_you_mean(name, self.clauses) or f"write a label of edges as :{name}; PATH {name} = … derives one"
            raise InvalidPatternError(message, step.location, hint=hint)

    def _rule(self, clause: graph_ast.PathClause, window: StreamWindow, inputs: Inputs) -> Rule:
        scope = Scope([Block(clause.paths, window)])
        conditions = bind_conditions((each for each in clause.options if isinstance(each, ast.Where)), scope)
        first = clause.paths[0]
        columns = (scope.start_of(first), scope.end_of(first))
        branch = bind_branch(scope, None, conditions, columns, inputs)
        if branch is None:
            message = f"PATH {clause.name.text} has a condition on a vertex without an edge"
            raise InvalidPatternError(message, clause.name.location, hint="for example (u)-[:label]->(v)")
        _refuse_lonely(scope, [branch])
        rule = branch.rule(clause.name.text, columns)
        with place_errors(clause.name.location):
            refuse_loose_parts(rule)
        return rule


def _derived_steps(paths: Sequence[ast.Path]) -> Iterator[graph_ast.Step]:
    for path in paths:
        for edge, _ in path.steps:
            if isinstance(edge, ast.PathEdge):
                yield from (step for step in steps(edge.expression) if step.sign == "~")
