"""Predicates over the attributes of matched edges and vertices: a small expression tree.

Operators are generic in their operands: those of a text, whose names are not resolved yet, are the same classes over other
leaves (`graphtide_query.language.ast`).

Three-valued logic, as in SQL and GQL. A missing attribute, or a comparison of values of different kinds, is unknown. `AND`,
`OR` and `NOT` follow Kleene's tables. A match needs its predicates to be true. Numbers compare with numbers by their exact
values, whether integer or floating point. Texts compare with texts, by code points. Truth values compare with truth values by
`=` and `<>` alone. `+ - *` and `%` of two integers give an integer, unknown where it leaves 64 bits. `/`, and any operation on
a floating-point number, works in floating point (`7 / 2` is `3.5`). It is unknown where the result is not finite. Division and
remainder by zero are unknown; `%` takes the sign of the dividend. Functions are those of `graphtide_core.functions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Generic, TypeVar, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from graphtide_core.edge import Value
    from graphtide_core.errors import Location

_X = TypeVar("_X")
_Y = TypeVar("_Y")
_V = TypeVar("_V")
_X_co = TypeVar("_X_co", covariant=True)
_V_co = TypeVar("_V_co", covariant=True)

RECORD_FIELDS: Final = frozenset({"ts", "id", "src", "dst", "label", "src_label", "dst_label"})
"""What is read of an edge's record itself."""

EVENT_FIELDS: Final = frozenset({"ts", "id", "type"})
"""What is read of an event's record itself; the ends and labels of an edge are attributes of the event that it is."""


class Comparison(Enum):
    """How two values are compared."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


class Arithmetic(Enum):
    """How two numbers are combined."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"


class Aggregation(Enum):
    """A function over the values of an attribute of all events of an iteration."""

    COUNT = "count"
    """How many are not missing."""

    SUM = "sum"
    """Their sum: of integers an integer, unknown where it leaves 64 bits; else in floating point, in the order of time."""

    AVERAGE = "avg"
    """Their sum through their number, in floating point."""

    LEAST = "min"
    GREATEST = "max"

    FIRST = "first"
    """That of the earliest event, missing where it is missing there."""

    LAST = "last"
    """That of the latest event, missing where it is missing there."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Value


@dataclass(frozen=True, slots=True)
class Attribute:
    """`variable.name`: an attribute of the edge, the vertex or the event bound to `variable`.

    A vertex has one attribute, `id`. The names in `RECORD_FIELDS` of an edge, and those in `EVENT_FIELDS` of an event, are
    always the fields of its record, whatever attributes it carries. Every other name is an attribute. The record's operation
    cannot be read. Of an iteration, outside an `Aggregate`, it reads one event after the other: a predicate is true if it is
    for each.
    """

    variable: str
    name: str
    location: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`function(variable.name)` over the events of an iteration; `count(variable)` counts their times, which none is without.

    Missing values are left out but by `first` and `last`; `sum`, `avg`, `min` and `max` of no values are missing, `count` is 0.
    `sum` and `avg` are unknown if a value is not a number; `min` and `max` if values are truth values, or numbers and texts.
    """

    function: Aggregation
    operand: Attribute


@dataclass(frozen=True, slots=True)
class Compare(Generic[_X_co]):
    """`left comparison right`."""

    comparison: Comparison
    left: _X_co
    right: _X_co


@dataclass(frozen=True, slots=True)
class Compute(Generic[_X_co]):
    """`left operator right`, over numbers."""

    operator: Arithmetic
    left: _X_co
    right: _X_co


@dataclass(frozen=True, slots=True)
class Negate(Generic[_X_co]):
    """`-operand`."""

    operand: _X_co


@dataclass(frozen=True, slots=True)
class Conjunction(Generic[_X_co]):
    """Every operand is true."""

    operands: tuple[_X_co, ...]


@dataclass(frozen=True, slots=True)
class Disjunction(Generic[_X_co]):
    """Some operand is true."""

    operands: tuple[_X_co, ...]


@dataclass(frozen=True, slots=True)
class Negation(Generic[_X_co]):
    """The operand is false."""

    operand: _X_co


@dataclass(frozen=True, slots=True)
class In(Generic[_X_co, _V_co]):
    """The operand equals one of the constants."""

    operand: _X_co
    options: tuple[_V_co, ...]


@dataclass(frozen=True, slots=True)
class StartsWith(Generic[_X_co]):
    """The operand is a text that starts with `prefix`."""

    operand: _X_co
    prefix: str


@dataclass(frozen=True, slots=True)
class IsNull(Generic[_X_co]):
    """The operand is missing; never unknown."""

    operand: _X_co


@dataclass(frozen=True, slots=True)
class FunctionCall(Generic[_X_co]):
    """`function(arguments)`; see `graphtide_core.functions`."""

    function: str
    arguments: tuple[_X_co, ...]

    def __post_init__(self) -> None:
        """Refuse an unknown function, and arguments that it does not take."""
        from graphtide_core.functions import check_call  # noqa: PLC0415 - most patterns call none, and constants are ours

        check_call(self.function, self.arguments)


Operator = (
    Compare[_X]
    | Compute[_X]
    | Negate[_X]
    | Conjunction[_X]
    | Disjunction[_X]
    | Negation[_X]
    | In[_X, _V]
    | StartsWith[_X]
    | IsNull[_X]
    | FunctionCall[_X]
)
"""What has operands of one kind; the options of `In` are values of another."""

Expression = Union[Literal, Attribute, Aggregate, "Operator[Expression, Value]"]


def operands(operator: Operator[_X, _V]) -> tuple[_X, ...]:
    """Return what an operator is applied to, from left to right."""
    match operator:
        case Compare(_, left, right) | Compute(_, left, right):
            return (left, right)
        case Conjunction(several) | Disjunction(several) | FunctionCall(_, several):
            return several
        case (  # pragma: no branch - mypy knows that no case is left
            Negate(operand) | Negation(operand) | In(operand) | StartsWith(operand) | IsNull(operand)
        ):
            return (operand,)


def map_operands(operator: Operator[_X, _V], new: Callable[[_X], _Y]) -> Operator[_Y, _V]:
    """Return the same operator over other operands."""
    match operator:
        case Compare(comparison, left, right):
            return Compare(comparison, new(left), new(right))
        case Compute(sign, left, right):
            return Compute(sign, new(left), new(right))
        case Conjunction(several):
            return Conjunction(tuple(map(new, several)))
        case Disjunction(several):
            return Disjunction(tuple(map(new, several)))
        case Negate(operand):
            return Negate(new(operand))
        case Negation(operand):
            return Negation(new(operand))
        case In(operand, options):
            return In(new(operand), options)
        case StartsWith(operand, prefix):
            return StartsWith(new(operand), prefix)
        case IsNull(operand):
            return IsNull(new(operand))
        case FunctionCall(function, arguments):  # pragma: no branch - mypy knows that no case is left
            return FunctionCall(function, tuple(map(new, arguments)))


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct operands."""
    match expression:
        case Literal() | Attribute():
            return ()
        case Aggregate(_, operand):
            return (operand,)
        case _:
            return operands(expression)


def attributes(expression: Expression) -> Iterator[Attribute]:
    """Yield every attribute the expression reads, from left to right."""
    if isinstance(expression, Attribute):
        yield expression
    for child in children(expression):
        yield from attributes(child)


def aggregates(expression: Expression) -> Iterator[Aggregate]:
    """Yield every aggregate in the expression, from left to right."""
    if isinstance(expression, Aggregate):
        yield expression
    else:
        for child in children(expression):
            yield from aggregates(child)


def plain_attributes(expression: Expression) -> Iterator[Attribute]:
    """Yield every attribute the expression reads outside an aggregate, from left to right."""
    match expression:
        case Attribute():
            yield expression
        case Aggregate():
            return
        case _:
            for child in children(expression):
                yield from plain_attributes(child)


def variables(expression: Expression) -> frozenset[str]:
    """Return the edges, vertices and events the expression speaks of."""
    if isinstance(expression, Compare) and isinstance(expression.left, Attribute) and isinstance(expression.right, Literal):
        # Nearly all predicates are such, and thousands of patterns are looked at at a time.
        return frozenset((expression.left.variable,))
    return frozenset(attribute.variable for attribute in attributes(expression))


def rename(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Return the expression over other edges, vertices and events; those that `names` lacks keep theirs."""
    if isinstance(expression, Compare) and isinstance(expression.left, Attribute) and isinstance(expression.right, Literal):
        # As above.
        read = expression.left
        own = Attribute(names.get(read.variable, read.variable), read.name, read.location)
        return Compare(expression.comparison, own, expression.right)

    def new(operand: Expression) -> Expression:
        return rename(operand, names)

    match expression:
        case Literal():
            return expression
        case Attribute(variable, name, location):
            return Attribute(names.get(variable, variable), name, location)
        case Aggregate(function, Attribute(variable, name, location)):
            return Aggregate(function, Attribute(names.get(variable, variable), name, location))
        case _:
            return map_operands(expression, new)


def calls(expression: Expression) -> Iterator[FunctionCall[Expression]]:
    """Yield every call of a function in the expression, from left to right."""
    if isinstance(expression, FunctionCall):
        yield expression
    for child in children(expression):
        yield from calls(child)


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """Split at the outermost `AND`s: each part can be checked as soon as its variables are bound."""
    if isinstance(expression, Conjunction):
        return tuple(part for operand in expression.operands for part in conjuncts(operand))
    return (expression,)
