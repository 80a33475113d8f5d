"""The grammar's reductions: one method for each rule, from tokens and nodes to a node.

The parser calls them bottom-up while it reads, so no parse tree is built. The nodes of one pattern are bound before those of
the next are built: a file of 10,000 patterns holds the nodes of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core import predicate
from graphtide_core.pattern import Morphism
from graphtide_core.predicate import Arithmetic, Comparison
from lark import Token, v_args

from graphtide_query.language import ast
from graphtide_query.language.binder import bind_pattern, check_names
from graphtide_query.language.graph_builder import GraphRules
from graphtide_query.language.reporting import build_reporting
from graphtide_query.language.spelling import read_string
from graphtide_query.language.tokens import constant_of, locate, name_of, negate_number, number_of, optional_name, span
from graphtide_query.views import refuse_view_cycles

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.pattern import SubgraphPattern

_COMPARISONS = {comparison.value: comparison for comparison in Comparison} | {"!=": Comparison.NOT_EQUAL}
_OPERATORS = {operator.value: operator for operator in Arithmetic}

_Token = Token | None
_Properties = tuple[ast.Property, ...] | None
_Times = ast.Constant | None


_Named = tuple[ast.Name, "AnyPattern"]


def _edge(
    ends: tuple[Token, Token], name: _Token, label: _Token, times: _Times, properties: _Properties, *, forward: bool
) -> ast.Edge:
    place = span(locate(ends[0]), locate(ends[1]))
    return ast.Edge(optional_name(name), optional_name(label), properties or (), forward, place, times)


@v_args(inline=True)
class Builder(GraphRules):
    """Builds nodes, and binds the nodes of a pattern as soon as it is complete; holds no state."""

    def start(self, earlier: list[_Named], last: _Named) -> tuple[AnyPattern, ...]:
        """File."""
        named = [*earlier, last]
        check_names(named)
        patterns = tuple(pattern for _, pattern in named)
        refuse_view_cycles(patterns)
        return patterns

    def no_pattern(self) -> list[_Named]:
        """Start of a file."""
        return []

    def more_patterns(self, earlier: list[_Named], pattern: _Named) -> list[_Named]:
        """One pattern after others."""
        earlier.append(pattern)
        return earlier

    def subgraph_pattern(
        self, token: Token, paths: tuple[ast.Path, ...], *clauses: ast.Clause
    ) -> tuple[ast.Name, SubgraphPattern]:
        """`PATTERN name MATCH paths clauses`."""
        name = name_of(token)
        return name, bind_pattern(ast.PatternNode(name, paths, clauses))

    # ---- the graph

    def matching(self, *paths: ast.Path) -> tuple[ast.Path, ...]:
        """Paths behind MATCH."""
        return paths

    def path(self, start: ast.Vertex, *steps: tuple[ast.Edge | ast.PathEdge, ast.Vertex]) -> ast.Path:
        """Chain of vertices and edges."""
        return ast.Path(start, steps)

    def step(self, edge: ast.Edge | ast.PathEdge, vertex: ast.Vertex) -> tuple[ast.Edge | ast.PathEdge, ast.Vertex]:
        """Edge or path, and the vertex it leads to."""
        return edge, vertex

    def vertex(self, bracket: Token, name: _Token, label: _Token, properties: _Properties) -> ast.Vertex:
        """`(name:label {properties})`."""
        return ast.Vertex(optional_name(name), optional_name(label), properties or (), locate(name or bracket))

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
        return constant_of(number)

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
        return ast.Property(name_of(name), value)

    # ---- the clauses

    def where(self, keyword: Token, condition: ast.Expression) -> ast.Where:
        """`WHERE condition`."""
        return ast.Where(condition, locate(keyword))

    def order(self, keyword: Token, *chains: tuple[ast.Name, ...]) -> ast.Order:
        """`ORDER chains`."""
        return ast.Order(chains, locate(keyword))

    def chain(self, *tokens: Token) -> tuple[ast.Name, ...]:
        """`a < b < c`."""
        return tuple(name_of(token) for token in tokens[::2])

    def under(self, keyword: Token, edge: Token | None) -> ast.Under:
        """`UNDER [EDGE] ISOMORPHISM`."""
        return ast.Under(Morphism.ISOMORPHISM if edge is None else Morphism.EDGE_ISOMORPHISM, locate(keyword))

    def under_simulation(self, keyword: Token) -> ast.Under:
        """`UNDER DUAL SIMULATION`."""
        return ast.Under(Morphism.DUAL_SIMULATION, locate(keyword))

    def report(self, keyword: Token, *said: Token | ast.OnePer) -> ast.Reporting:
        """`REPORT DISTINCT MAXIMAL ONE PER …`."""
        return build_reporting(keyword, said)

    def on(self, keyword: Token, stream: Token) -> ast.On:
        """`ON stream`."""
        return ast.On(name_of(stream), locate(keyword))

    def window(self, keyword: Token, minus: Token | None, amount: Token, unit: Token | None) -> ast.Window:
        """`WINDOW amount unit`."""
        number = constant_of(amount) if minus is None else self.negative(minus, amount)
        return ast.Window(number, optional_name(unit), locate(keyword))

    # ---- expressions

    def disjunction(self, *parts: ast.Expression | Token) -> predicate.Disjunction[ast.Expression]:
        """`a OR b`."""
        return predicate.Disjunction(tuple(part for part in parts if not isinstance(part, Token)))

    def conjunction(self, *parts: ast.Expression | Token) -> predicate.Conjunction[ast.Expression]:
        """`a AND b`."""
        return predicate.Conjunction(tuple(part for part in parts if not isinstance(part, Token)))

    def inversion(self, _keyword: Token, operand: ast.Expression) -> predicate.Negation[ast.Expression]:
        """`NOT a`."""
        return predicate.Negation(operand)

    def compare(self, left: ast.Expression, sign: Token, right: ast.Expression) -> predicate.Compare[ast.Expression]:
        """`a < b`."""
        return predicate.Compare(_COMPARISONS[sign], left, right)

    def among(self, operand: ast.Expression, options: tuple[ast.Constant, ...]) -> predicate.In[ast.Expression, ast.Constant]:
        """`a IN […]`."""
        return predicate.In(operand, options)

    def not_among(
        self, operand: ast.Expression, _keyword: Token, options: tuple[ast.Constant, ...]
    ) -> predicate.Negation[ast.Expression]:
        """`a NOT IN […]`."""
        return predicate.Negation(predicate.In(operand, options))

    def starts_with(self, operand: ast.Expression, prefix: Token) -> predicate.StartsWith[ast.Expression]:
        """`a STARTS WITH "b"`."""
        return predicate.StartsWith(operand, read_string(prefix, locate(prefix)))

    def is_null(self, operand: ast.Expression, _null: Token) -> predicate.IsNull[ast.Expression]:
        """`a IS NULL`."""
        return predicate.IsNull(operand)

    def is_not_null(self, operand: ast.Expression, _keyword: Token, _null: Token) -> predicate.Negation[ast.Expression]:
        """`a IS NOT NULL`."""
        return predicate.Negation(predicate.IsNull(operand))

    def compute(self, left: ast.Expression, sign: Token, right: ast.Expression) -> predicate.Compute[ast.Expression]:
        """`a + b` and the other operators."""
        return predicate.Compute(_OPERATORS[sign], left, right)

    def negate(self, minus: Token, operand: ast.Expression) -> ast.Expression:
        """`-a`; the sign before a number becomes part of the number."""
        match operand:
            case ast.Constant(bool()):
                return predicate.Negate(operand)
            case ast.Constant(int() | float() as value, location):
                return negate_number(minus, value, location)
            case _:
                return predicate.Negate(operand)

    def attribute(self, variable: Token, name: Token) -> ast.Attribute:
        """`variable.name`."""
        return ast.Attribute(name_of(variable), name_of(name))

    def aggregate(self, function: Token, _bracket: Token, variable: Token, name: _Token) -> ast.Aggregate:
        """`sum(variable.name)`, `count(variable)`."""
        return ast.Aggregate(name_of(function), name_of(variable), optional_name(name))

    def aggregate_before(self, function: Token, _bracket: Token, variable: Token, name: Token) -> ast.Aggregate:
        """`first(variable).name`, which is `first(variable.name)`."""
        return ast.Aggregate(name_of(function), name_of(variable), name_of(name), takes_one=True)

    def call(self, function: Token, _bracket: Token, *arguments: ast.Expression | None) -> ast.Call[ast.Expression]:
        """`f(a.x, 1)`."""
        return ast.Call(name_of(function), tuple(each for each in arguments if each is not None))

    def bare_name(self, name: Token) -> ast.BareName:
        """Name that no dot follows."""
        return ast.BareName(name_of(name))

    def group(self, _bracket: Token, operand: ast.Expression) -> ast.Parenthesized[ast.Expression]:
        """`(a)`."""
        return ast.Parenthesized(operand)

    # ---- constants

    def options(self, *parts: ast.Constant | Token | None) -> tuple[ast.Constant, ...]:
        """`[1, 2]` or `(1, 2)`."""
        return tuple(part for part in parts if isinstance(part, ast.Constant))

    def negative(self, minus: Token, number: Token) -> ast.Constant:
        """`-1`."""
        return negate_number(minus, number_of(number), locate(number))

    def integer(self, token: Token) -> ast.Constant:
        """`10`."""
        return constant_of(token)

    def float(self, token: Token) -> ast.Constant:
        """`1.5`."""
        return constant_of(token)

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
