"""The plan of a streaming graph query: what of the algebra is computed, and by which operators.

Operators are numbered in an order in which each comes after its operands. Equal expressions are one operator, so what parts of
a query share is computed once.

Reference: paper 001, sections 5.2 and 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Self

from graphtide_core.plans.assigned import AssignedPlan, Bounds
from graphtide_core.plans.engines import PathEngine

if TYPE_CHECKING:
    from graphtide_core.algebra import Algebra
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.ids import VertexId
    from graphtide_core.predicate import Expression
    from graphtide_core.stream_window import StreamWindow

OperatorIndex = int
"""Position of an operator in `AlgebraPlan.operators`."""


@dataclass(frozen=True, slots=True)
class ScanOperator:
    """The edges of a window that have the labels and fulfil the conditions, over the edge `e`; equal ones are one tuple."""

    window: StreamWindow
    label: str | None
    source_label: str | None = None
    target_label: str | None = None
    conditions: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class UnionOperator:
    """The tuples of all operands."""

    operands: tuple[OperatorIndex, ...]
    label: str


@dataclass(frozen=True, slots=True)
class JoinPart:
    """An operand of a join, with the variable of each of its columns."""

    operand: OperatorIndex
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JoinOperator:
    """The tuples of all parts that agree in their variables, projected to `columns`.

    `constants` are variables that are known vertices; `conditions` read `variable.id` alone.
    """

    parts: tuple[JoinPart, ...]
    columns: tuple[str, ...]
    label: str
    constants: tuple[tuple[str, VertexId], ...] = ()
    conditions: tuple[Expression, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables, each once, in the order of the parts."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.variables))


@dataclass(frozen=True, slots=True)
class Automaton:
    """States and transitions of an expression; 0 is the start, which no transition leads to and which does not accept.

    A transition is from a state, by a symbol, to a state. It is deterministic where that has not too many states.
    """

    states: int
    transitions: tuple[tuple[int, int, int], ...]
    accepting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PathOperator:
    """Pairs of vertices between which a path of the operands' tuples spells a word of the automaton.

    Attributes:
        symbols: the operand of each symbol, and whether its tuples are walked backwards.
        automaton: over the symbols.
        label: of the pairs.
        engine: what runs it.
        root: the one vertex at which paths begin, if they begin at one alone.
        is_reversed: whether paths are walked from their ends: then the root is where they end.
    """

    symbols: tuple[tuple[OperatorIndex, bool], ...]
    automaton: Automaton
    label: str
    engine: PathEngine = PathEngine.S_PATH
    root: VertexId | None = None
    is_reversed: bool = False


Operator = ScanOperator | UnionOperator | JoinOperator | PathOperator
"""What computes an expression of the algebra."""


@dataclass(frozen=True, slots=True)
class TracedPath:
    """Where the path that is reported with a result is found.

    Attributes:
        operator: whose tuple it is; a PATH, or what else gives edges.
        join: the join whose variables are its ends; None where the ends are the columns of what is reported.
        ends: names of those.
        is_edge: whether it is one edge, that tuple itself, though a PATH derive it.
    """

    operator: OperatorIndex
    join: OperatorIndex | None = None
    ends: tuple[str, str] = ("", "")
    is_edge: bool = False


@dataclass(frozen=True, slots=True)
class ReportedOperator:
    """An output of the query: the operator whose tuples are emitted, and the ways to their paths, if those are reported."""

    operator: OperatorIndex
    paths: tuple[TracedPath, ...] = ()


@dataclass(frozen=True, slots=True)
class AlgebraPlan:
    """How a query is answered.

    Attributes:
        operators: each after its operands.
        outputs: what is reported, in the order of the query's outputs.
        logical: the expression of each output that the operators compute.
        engine: what runs its PATHs.
        rules: names of the transformation rules that led here from the canonical plan.
        estimates: tuples, or nodes of paths, that each operator is estimated to hold; none where nothing was estimated.
    """

    operators: tuple[Operator, ...]
    outputs: tuple[ReportedOperator, ...]
    logical: tuple[Algebra, ...]
    engine: PathEngine = PathEngine.S_PATH
    rules: tuple[str, ...] = ()
    estimates: tuple[float | None, ...] = ()

    @property
    def name(self) -> str:
        """Name of the engine that runs the plan."""
        return self.engine.value


MOST_REWRITINGS: Final = 256
"""Rewritings that may lead from a query to a plan: a plan that is sent is bounded in size."""

_MOST: Final = 2**16
Number = Annotated[int, Bounds(0, _MOST - 1)]
"""Number of a plan, a PATTERN or a part of one; bounded, as there are that many of what is sent."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A step from one plan of a query to another.

    It is a rule, and the place of a plan among those that it makes of the first.
    """

    rule: Annotated[str, Bounds(1, 100)]
    number: Number


@dataclass(frozen=True, slots=True)
class JoinSteps:
    """How the parts of a PATTERN are joined, where that is not all at once.

    Attributes:
        pattern: its number among the PATTERNs of a plan, each counted once, operands first.
        groups: numbers of its parts, each once; a group is joined with what came before.
    """

    pattern: Number
    groups: Annotated[tuple[Annotated[tuple[Number, ...], Bounds(most=_MOST)], ...], Bounds(most=_MOST)]


@dataclass(frozen=True, slots=True)
class Derivation(AssignedPlan):
    """How a plan follows from its query: with the query, a process can make exactly that plan.

    Invariant: whatever it says, the plan that follows answers the query, for it is made by rules that keep its meaning.

    Attributes:
        engine: what runs PATHs.
        rewritings: that led to the plan, one after the other; None, or missing, for the query as it is written.
        joins: of PATTERNs of the plan that they led to.
        estimates: tuples, or nodes of paths, that each operator was estimated to hold; none where nothing was estimated. Two
            derivations that differ in them alone are equal.
    """

    engine: PathEngine = PathEngine.S_PATH
    rewritings: Annotated[tuple[Rewriting, ...], Bounds(most=MOST_REWRITINGS)] | None = None
    joins: Annotated[tuple[JoinSteps, ...], Bounds(most=_MOST)] = ()
    estimates: Annotated[tuple[float | None, ...], Bounds(most=_MOST)] = field(default=(), compare=False)
    engines: ClassVar[tuple[str, ...]] = tuple(each.value for each in PathEngine)
    is_terse: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Name of the engine that runs the plan."""
        return self.engine.value

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules that led to the plan, in their order."""
        return tuple(each.rule for each in self.rewritings or ())


@dataclass(frozen=True, slots=True)
class ConsideredPlan:
    """A plan that the search considered, with its estimated cost.

    Attributes:
        logical: an expression for each output.
        nanoseconds: for an edge of the stream.
        held: tuples and nodes of paths that operators keep.
        rules: names of the transformation rules that led there from the canonical plan.
    """

    logical: tuple[Algebra, ...]
    nanoseconds: float
    held: float
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsideredEngine:
    """An engine that could run the PATHs of what is computed, with the nanoseconds that an edge of the stream would cost."""

    engine: PathEngine
    nanoseconds: float


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """A streaming graph query and how it is answered.

    Attributes:
        query: the query.
        physical: what is computed, and by which engine.
        considered: what could be computed, cheapest first; none where that was not searched.
        engines: what could run it, cheapest first; none if one was requested.
        derivation: how it follows from the query, if that is known.
    """

    query: GraphQuery
    physical: AlgebraPlan
    considered: tuple[ConsideredPlan, ...] = ()
    engines: tuple[ConsideredEngine, ...] = ()
    derivation: Derivation | None = field(default=None, compare=False)
    kind: ClassVar[Literal["query"]] = "query"

    @property
    def native(self) -> Self:
        """The plan itself."""
        return self

    @property
    def pattern(self) -> GraphQuery:
        """The query."""
        return self.query

    @property
    def engine(self) -> str:
        """Name of the engine that runs the plan."""
        return self.physical.name
