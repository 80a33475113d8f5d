"""The grammar's reductions for streaming graph queries; see `builder`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lark import Token, v_args

from graphtide_query.language import ast, graph_ast
from graphtide_query.language.event_builder import EventRules
from graphtide_query.language.spelling import read_string
from graphtide_query.language.tokens import constant_of, locate, name_of, negate_number, number_of, optional_name, span

if TYPE_CHECKING:
    from graphtide_core.graph_query import GraphQuery

_Token = Token | None
_Body = graph_ast.Query | graph_ast.Program


@v_args(inline=True)
class GraphRules(EventRules):
    """Reductions of streaming graph queries; see `graphtide_query.language.builder.Builder`."""

    def graph_query(self, stated: _Token, body: _Body | graph_ast.View) -> tuple[ast.Name, GraphQuery]:
        """`QUERY name body`."""
        name = optional_name(stated)
        view = body if isinstance(body, graph_ast.View) else None
        query = body.body if isinstance(body, graph_ast.View) else body
        # Other patterns do without the binders.
        if isinstance(query, graph_ast.Query):
            from graphtide_query.language.gcore_binder import bind_query  # noqa: PLC0415

            return bind_query(name, view, query)
        from graphtide_query.language.datalog_binder import bind_program  # noqa: PLC0415

        return bind_program(name, view, query)

    def view(self, name: Token, _bracket: Token, body: _Body) -> graph_ast.View:
        """`GRAPH VIEW name AS ( body )`."""
        return graph_ast.View(name_of(name), body)

    # ---- G-CORE

    def gcore(
        self, *parts: graph_ast.PathClause | graph_ast.Construct | graph_ast.Select | graph_ast.Clause
    ) -> graph_ast.Query:
        """Clauses of a query."""
        paths = tuple(part for part in parts if isinstance(part, graph_ast.PathClause))
        result = next(part for part in parts if isinstance(part, graph_ast.Construct | graph_ast.Select))
        clauses = tuple(part for part in parts if isinstance(part, graph_ast.Clause))
        return graph_ast.Query(paths, result, clauses)

    def path_clause(
        self,
        _keyword: Token,
        name: Token,
        _equals: Token,
        paths: tuple[ast.Path, ...],
        *options: graph_ast.StreamOn | ast.Where,
    ) -> graph_ast.PathClause:
        """`PATH name = paths`."""
        return graph_ast.PathClause(name_of(name), paths, options)

    def construct(self, keyword: Token, *paths: ast.Path) -> graph_ast.Construct:
        """`CONSTRUCT paths`."""
        return graph_ast.Construct(paths, locate(keyword))

    def select(self, keyword: Token, *columns: graph_ast.Column) -> graph_ast.Select:
        """`SELECT u, v`."""
        return graph_ast.Select(columns, locate(keyword))

    def column(self, vertex: Token, name: _Token) -> graph_ast.Column:
        """`u AS user`."""
        return graph_ast.Column(name_of(vertex), optional_name(name))

    def matched(self, *paths: ast.Path) -> tuple[ast.Path, ...]:
        """Paths behind MATCH, OPTIONAL and PATH."""
        return paths

    def match(self, paths: tuple[ast.Path, ...]) -> graph_ast.Match:
        """`MATCH paths`."""
        return graph_ast.Match(paths)

    def optional(self, keyword: Token, paths: tuple[ast.Path, ...]) -> graph_ast.Option:
        """`OPTIONAL paths`."""
        return graph_ast.Option(paths, locate(keyword))

    def stream_on(
        self,
        keyword: Token,
        stream: Token,
        _window: Token,
        _bracket: Token,
        length: ast.Time | Token,
        *more: Token | ast.Time | None,
    ) -> graph_ast.StreamOn:
        """`ON stream WINDOW(24h) SLIDE(1h) INTERNAL`."""
        slide = next((each for each in more if isinstance(each, ast.Time)), None)
        is_internal = any(isinstance(each, Token) and each.type == "INTERNAL" for each in more)
        place = span(locate(keyword), locate(stream))
        return graph_ast.StreamOn(name_of(stream), length if isinstance(length, ast.Time) else None, slide, is_internal, place)

    # ---- rules

    def datalog(
        self, *parts: graph_ast.Input | graph_ast.Rule | graph_ast.StreamOn | graph_ast.Output | ast.Returning | ast.Annotation
    ) -> graph_ast.Program:
        """Rules of a query, with the clauses before and after them."""
        inputs = tuple(part for part in parts if isinstance(part, graph_ast.Input))
        rules = tuple(part for part in parts if isinstance(part, graph_ast.Rule))
        clauses = tuple(part for part in parts if not isinstance(part, graph_ast.Input | graph_ast.Rule))
        return graph_ast.Program(inputs, rules, clauses)

    def input(
        self, _keyword: Token, name: Token, _equals: Token, path: ast.Path, *options: graph_ast.StreamOn | ast.Where
    ) -> graph_ast.Input:
        """`INPUT name = (:a)-[e:label]->(:b)`."""
        return graph_ast.Input(name_of(name), path, options)

    def rule(
        self,
        head: tuple[ast.Name, tuple[graph_ast.End, ...]],
        _arrow: Token,
        body: tuple[graph_ast.Atom, ...],
        where: ast.Where | None,
    ) -> graph_ast.Rule:
        """`head <- body WHERE condition`, and a dot."""
        return graph_ast.Rule(*head, body, where)

    def head(self, predicate: Token, _bracket: Token, *ends: graph_ast.End) -> tuple[ast.Name, tuple[graph_ast.End, ...]]:
        """`RL(x, y)`."""
        return name_of(predicate), ends

    def body(self, *parts: graph_ast.Atom | Token) -> tuple[graph_ast.Atom, ...]:
        """Atoms behind the arrow."""
        return tuple(part for part in parts if isinstance(part, graph_ast.Atom))

    def atom(self, relation: graph_ast.PathNode, bracket: Token, *parts: graph_ast.End | _Token) -> graph_ast.Atom:
        """`f+(x, y) as FP`."""
        *ends, name = parts
        stated = tuple(end for end in ends if isinstance(end, graph_ast.End))
        return graph_ast.Atom(relation, stated, name_of(name) if isinstance(name, Token) else None, locate(bracket))

    def end(self, name: Token) -> graph_ast.End:
        """`x`, or `_`."""
        return graph_ast.End(None if name == "_" else name_of(name), None, locate(name))

    def integer_end(self, minus: _Token, number: Token) -> graph_ast.End:
        """`-3`."""
        constant = constant_of(number) if minus is None else negate_number(minus, number_of(number), locate(number))
        return graph_ast.End(None, constant, constant.location)

    def string_end(self, string: Token) -> graph_ast.End:
        """`"ann"`."""
        place = locate(string)
        return graph_ast.End(None, ast.Constant(read_string(string, place), place), place)

    def predicate(self, name: Token, times: _Token = None) -> graph_ast.PathNode:
        """`f+`."""
        step = graph_ast.Step(name_of(name), "", is_inverse=False, location=locate(name))
        return step if times is None else graph_ast.Repeated(step, times[-1])

    def regular(self, _open: Token, expression: graph_ast.PathNode, _close: Token) -> graph_ast.PathNode:
        """`/:a :b*/`."""
        return expression

    def output(self, _keyword: Token, head: Token, _bracket: Token, *names: _Token) -> graph_ast.Output:
        """`OUTPUT RL(x, y) AS label`."""
        *columns, label = names
        return graph_ast.Output(name_of(head), tuple(name_of(each) for each in columns if each), optional_name(label))

    # ---- regular path expressions

    def forward_path(self, start: Token, path: graph_ast.PathNode | ast.PathEdge, end: Token) -> ast.PathEdge:
        """`-/…/->`."""
        return _path_edge(start, path, end, forward=True)

    def backward_path(self, start: Token, path: graph_ast.PathNode | ast.PathEdge, end: Token) -> ast.PathEdge:
        """`<-/…/-`."""
        return _path_edge(start, path, end, forward=False)

    def named_path(self, name: _Token, _less: Token, expression: graph_ast.PathNode, more: Token) -> ast.PathEdge:
        """`p<…>`."""
        return ast.PathEdge(optional_name(name), expression, forward=True, location=locate(more))

    def choice(self, *parts: graph_ast.PathNode | Token) -> graph_ast.PathNode:
        """`a | b`."""
        return graph_ast.Choice(tuple(part for part in parts if not isinstance(part, Token)))

    def sequence(self, *parts: graph_ast.PathNode) -> graph_ast.PathNode:
        """`a b`."""
        return graph_ast.Sequence(parts)

    def repeated(self, operand: graph_ast.PathNode, times: Token) -> graph_ast.PathNode:
        """`a*`."""
        return graph_ast.Repeated(operand, times[-1])

    def label_step(self, caret: _Token, sign: Token, name: Token, minus: _Token) -> graph_ast.Step:
        """`^:label-`."""
        is_inverse = (caret is None) != (minus is None)
        place = span(locate(sign), locate(name))
        return graph_ast.Step(name_of(name), str(sign), is_inverse, place)

    def inverse_group(self, _caret: Token, _bracket: Token, operand: graph_ast.PathNode) -> graph_ast.PathNode:
        """`^(a b)`."""
        return graph_ast.Inverse(operand)

    def path_group(self, _bracket: Token, operand: graph_ast.PathNode) -> graph_ast.PathNode:
        """`(a b)`."""
        return operand


def _path_edge(start: Token, path: graph_ast.PathNode | ast.PathEdge, end: Token, *, forward: bool) -> ast.PathEdge:
    place = span(locate(start), locate(end))
    if isinstance(path, ast.PathEdge):
        return ast.PathEdge(path.name, path.expression, forward, place)
    return ast.PathEdge(None, path, forward, place)
