"""Expressions over a record of a stream: paths into it, constants, the operators of predicates, and functions.

They follow the three-valued logic of `graphtide_core.predicate`. A path to nothing, to a list or to an object is missing, also
for `IS NULL`: only texts, numbers and truth values are values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Union

from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import Literal, operands
from graphtide_core.record_functions import check_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.edge import Value
    from graphtide_core.predicate import Operator

MOST_STEPS: Final = 64
"""Steps of a path."""

WITHOUT_QUOTATION: Final = "a quoted text is a constant; write the name of a field as it is, or in backticks: `id.orig_h`"
"""What to do where a constant stands in the place of a field."""

MOST_LEVELS: Final = 200
"""Levels of an expression."""

LARGEST_POSITION: Final = 2**31 - 1
"""The largest position in a list that a path may name."""


@dataclass(frozen=True, slots=True)
class FieldPath:
    """`a.b[0].c`: steps into a record, a name into an object and a position, from 0, into a list.

    A name is the whole name of a field, also where it has dots: one step never means two fields.
    """

    steps: tuple[str | int, ...]

    def __post_init__(self) -> None:
        """Refuse what is not a path."""
        if not self.steps or not isinstance(self.steps[0], str):
            message = "a path begins with the name of a field"
            raise InvalidPatternError(message)
        if len(self.steps) > MOST_STEPS:
            message = f"a path has at most {MOST_STEPS} steps"
            raise InvalidPatternError(message)
        for step in self.steps:
            if isinstance(step, int) and not 0 <= step <= LARGEST_POSITION:
                message = f"a position in a list is from 0 to {LARGEST_POSITION:,}"
                raise InvalidPatternError(message)
            if step == "":
                message = "the name of a field is empty"
                raise InvalidPatternError(message)

    def __str__(self) -> str:
        """Return the name of the attribute that holds what is there, if a statement has no SET: names without backticks."""
        first, *others = self.steps
        return f"{first}" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in others)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """`function(arguments)`; see `graphtide_core.record_functions`."""

    function: str
    arguments: tuple[RecordExpression, ...]

    def __post_init__(self) -> None:
        """Refuse an unknown function, and arguments that it does not take."""
        check_call(self.function, self.arguments)


RecordExpression = Union[Literal, FieldPath, FunctionCall, "Operator[RecordExpression, Value]"]


def check_levels(expression: RecordExpression) -> None:
    """Check that an expression is no deeper than the language allows, so that no walk over it overflows the stack.

    Raises:
        InvalidPatternError: it is.
    """
    level = [expression]
    for _ in range(MOST_LEVELS):
        level = [each for one in level for each in operands_of(one)]
        if not level:
            return
    message = f"the expression is nested more than {MOST_LEVELS} levels deep"
    raise InvalidPatternError(message)


def operands_of(expression: RecordExpression) -> tuple[RecordExpression, ...]:
    """Return the direct operands and arguments."""
    match expression:
        case Literal() | FieldPath():
            return ()
        case FunctionCall(_, arguments):
            return arguments
        case _:
            return operands(expression)


def reads_a_field(expression: RecordExpression) -> bool:
    """Return whether an expression depends on the record at all."""
    return next(field_paths(expression), None) is not None


def field_paths(expression: RecordExpression) -> Iterator[FieldPath]:
    """Yield every path that an expression reads, from left to right."""
    if isinstance(expression, FieldPath):
        yield expression
    for each in operands_of(expression):
        yield from field_paths(each)
