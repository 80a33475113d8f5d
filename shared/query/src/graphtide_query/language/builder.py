"""The grammar's reductions: one method a rule, from tokens and nodes to a node.

The parser calls it bottom-up while it reads, so that no parse tree is ever built, and the nodes of one pattern are bound before
those of the next are made: a file of 10,000 patterns holds the nodes of one.
"""

from __future__ import annotations

from graphtide_core.errors import Location
from graphtide_core.pattern import Morphism, Report, SubgraphPattern
from graphtide_core.predicate import Arithmetic, Comparison
from lark import Token, Transformer, v_args

from graphtide_query.language import ast
from graphtide_query.language.binder import bind_pattern, refuse_duplicates
from graphtide_query.language.spelling import read_float, read_integer, read_name, read_string

_COMPARISONS = {comparison.value: comparison for comparison in Comparison} | {"!=": Comparison.NOT_EQUAL}
_OPERATORS = {operator.value: operator for operator in Arithmetic}

_Token = Token | None
_Properties = tuple[ast.Property, ...] | None
_Times = ast.Constant | None


def locate(token: Token) -> Location:
    """Return where a token stands."""
    return Location(token.line or 1, token.column or 1, max(1, len(token)))


def _span(first: Location, last: Location) -> Location:
    """Cover both, which stand on one line; otherwise the first."""
    if first.line != last.line:
        return first
    return Location(first.line, first.column, last.column + last.length - first.column)


def _name(token: Token) -> ast.Name:
    return ast.Name(read_name(token), locate(token))


def _optional_name(token: Token | None) -> ast.Name | None:
    return None if token is None else _name(token)


def _number(token: Token) -> int | float:
    return read_integer(token, locate(token)) if token.type == "INTEGER" else read_float(token, locate(token))


def _constant(token: Token) -> ast.Constant:
    return ast.Constant(_number(token), locate(token))


def _negated(minus: Token, number: int | float, location: Location) -> ast.Constant:
    return ast.Constant(-number, _span(locate(minus), location))


def _edge(
    ends: tuple[Token, Token], name: _Token, label: _Token, times: _Times, properties: _Properties, *, forward: bool
) -> ast.Edge:
    place = _span(locate(ends[0]), locate(ends[1]))
    return ast.Edge(_optional_name(name), _optional_name(label), properties or (), forward, place, times)


@v_args(inline=True)
class Builder(Transformer[Token, tuple[SubgraphPattern, ...]]):
    """Makes nodes, and a pattern of the nodes of one as soon as it is complete; holds no state."""

    def start(self, *named: tuple[ast.Name, SubgraphPattern]) -> tuple[SubgraphPattern, ...]:
        """File."""
        refuse_duplicates(name for name, _ in named)
        return tuple(pattern for _, pattern in named)

    def pattern(self, token: Token, paths: tuple[ast.Path, ...], *clauses: ast.Clause) -> tuple[ast.Name, SubgraphPattern]:
        """`PATTERN name MATCH paths clauses`."""
        name = _name(token)
        return name, bind_pattern(ast.Pattern(name, paths, clauses))

    # ---- the graph

    def matching(self, *paths: ast.Path) -> tuple[ast.Path, ...]:
        """Paths behind MATCH."""
        return paths

    def path(self, start: ast.Vertex, *steps: tuple[ast.Edge, ast.Vertex]) -> ast.Path:
        """Chain of vertices and edges."""
        return ast.Path(start, steps)

    def step(self, edge: ast.Edge, vertex: ast.Vertex) -> tuple[ast.Edge, ast.Vertex]:
        """Edge and the vertex it leads to."""
        return edge, vertex

    def vertex(self, bracket: Token, name: _Token, label: _Token, properties: _Properties) -> ast.Vertex:
        """`(name:label {properties})`."""
        return ast.Vertex(_optional_name(name), _optional_name(label), properties or (), locate(name or bracket))

    def forward(  # noqa: PLR0917 - one for each place of the rule
        self, start: Token, name: _Token, label: _Token, times: _Times, properties: _Properties, end: Token
    ) -> ast.Edge:
        """`-[…]->`."""
        return _edge((start, end), name, label, times, properties, forward=True)

    def backward(  # noqa: PLR0917 - one for each place of the rule
        self, start: Token, name: _Token, label: _Token, times: _Times, properties: _Properties, end: Token
    ) -> ast.Edge:
        """`<-[…]-`."""
        return _edge((start, end), name, label, times, properties, forward=False)

    def times(self, _star: Token, number: Token) -> ast.Constant:
        """`*4`."""
        return _constant(number)

    def bare_forward(self, arrow: Token) -> ast.Edge:
        """`-->`."""
        return ast.Edge(None, None, (), forward=True, location=locate(arrow))

    def bare_backward(self, arrow: Token) -> ast.Edge:
        """`<--`."""
        return ast.Edge(None, None, (), forward=False, location=locate(arrow))

    def properties(self, *properties: ast.Property | None) -> tuple[ast.Property, ...]:
        """`{…}`."""
        return tuple(each for each in properties if each is not None)

    def property(self, name: Token, value: ast.Constant) -> ast.Property:
        """`name: value`."""
        return ast.Property(_name(name), value)

    # ---- the clauses

    def where(self, keyword: Token, condition: ast.Expression) -> ast.Where:
        """`WHERE condition`."""
        return ast.Where(condition, locate(keyword))

    def order(self, keyword: Token, *chains: tuple[ast.Name, ...]) -> ast.Order:
        """`ORDER chains`."""
        return ast.Order(chains, locate(keyword))

    def chain(self, *tokens: Token) -> tuple[ast.Name, ...]:
        """`a < b < c`."""
        return tuple(_name(token) for token in tokens[::2])

    def under(self, keyword: Token, edge: Token | None) -> ast.Under:
        """`UNDER [EDGE] ISOMORPHISM`."""
        return ast.Under(Morphism.ISOMORPHISM if edge is None else Morphism.EDGE_ISOMORPHISM, locate(keyword))

    def under_simulation(self, keyword: Token) -> ast.Under:
        """`UNDER DUAL SIMULATION`."""
        return ast.Under(Morphism.DUAL_SIMULATION, locate(keyword))

    def report(self, keyword: Token, what: Token) -> ast.Reporting:
        """`REPORT MAXIMAL` and the others."""
        return ast.Reporting(Report(what.lower()), _span(locate(keyword), locate(what)))

    def on(self, keyword: Token, stream: Token) -> ast.On:
        """`ON stream`."""
        return ast.On(_name(stream), locate(keyword))

    def window(self, keyword: Token, minus: Token | None, amount: Token, unit: Token | None) -> ast.Window:
        """`WINDOW amount unit`."""
        number = _constant(amount) if minus is None else self.negative(minus, amount)
        return ast.Window(number, _optional_name(unit), locate(keyword))

    # ---- expressions

    def disjunction(self, *operands: ast.Expression) -> ast.Or:
        """`a OR b`."""
        return ast.Or(operands)

    def conjunction(self, *operands: ast.Expression) -> ast.And:
        """`a AND b`."""
        return ast.And(operands)

    def inversion(self, _keyword: Token, operand: ast.Expression) -> ast.Not:
        """`NOT a`."""
        return ast.Not(operand)

    def compare(self, left: ast.Expression, sign: Token, right: ast.Expression) -> ast.Compare:
        """`a < b`."""
        return ast.Compare(_COMPARISONS[sign], left, right)

    def among(self, operand: ast.Expression, options: tuple[ast.Constant, ...]) -> ast.In:
        """`a IN […]`."""
        return ast.In(operand, options)

    def not_among(self, operand: ast.Expression, _keyword: Token, options: tuple[ast.Constant, ...]) -> ast.Not:
        """`a NOT IN […]`."""
        return ast.Not(ast.In(operand, options))

    def starts_with(self, operand: ast.Expression, prefix: Token) -> ast.StartsWith:
        """`a STARTS WITH "b"`."""
        return ast.StartsWith(operand, read_string(prefix, locate(prefix)))

    def is_null(self, operand: ast.Expression, _null: Token) -> ast.IsNull:
        """`a IS NULL`."""
        return ast.IsNull(operand)

    def is_not_null(self, operand: ast.Expression, _keyword: Token, _null: Token) -> ast.Not:
        """`a IS NOT NULL`."""
        return ast.Not(ast.IsNull(operand))

    def compute(self, left: ast.Expression, sign: Token, right: ast.Expression) -> ast.Compute:
        """`a + b` and the other operators."""
        return ast.Compute(_OPERATORS[sign], left, right)

    def negate(self, minus: Token, operand: ast.Expression) -> ast.Expression:
        """`-a`; the sign before a number becomes part of the number."""
        match operand:
            case ast.Constant(bool()):
                return ast.Negate(operand)
            case ast.Constant(int() | float() as value, location):
                return _negated(minus, value, location)
            case _:
                return ast.Negate(operand)

    def attribute(self, variable: Token, name: Token) -> ast.Attribute:
        """`variable.name`."""
        return ast.Attribute(_name(variable), _name(name))

    def bare_name(self, name: Token) -> ast.BareName:
        """Name that no dot follows."""
        return ast.BareName(_name(name))

    def group(self, _bracket: Token, operand: ast.Expression) -> ast.Group:
        """`(a)`."""
        return ast.Group(operand)

    # ---- constants

    def options(self, *parts: ast.Constant | Token | None) -> tuple[ast.Constant, ...]:
        """`[1, 2]` or `(1, 2)`."""
        return tuple(part for part in parts if isinstance(part, ast.Constant))

    def negative(self, minus: Token, number: Token) -> ast.Constant:
        """`-1`."""
        return _negated(minus, _number(number), locate(number))

    def integer(self, token: Token) -> ast.Constant:
        """`10`."""
        return _constant(token)

    def float(self, token: Token) -> ast.Constant:
        """`1.5`."""
        return _constant(token)

    def string(self, token: Token) -> ast.Constant:
        """`"text"`."""
        location = locate(token)
        return ast.Constant(read_string(token, location), location)

    def true(self, token: Token) -> ast.Constant:
        """`TRUE`."""
        return ast.Constant(value=True, location=locate(token))

    def false(self, token: Token) -> ast.Constant:
        """`FALSE`."""
        return ast.Constant(value=False, location=locate(token))

    def null(self, token: Token) -> ast.Constant:
        """`NULL`."""
        return ast.Constant(None, locate(token))
