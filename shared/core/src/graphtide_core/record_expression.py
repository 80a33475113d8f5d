"""Expressions over a record of a stream: paths into it, constants, the operators of predicates, and functions.

They follow the three-valued logic of `graphtide_core.predicate`. A path to nothing, to a list or to an object is missing, also
for `IS NULL`: only texts, numbers and truth values are values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Union

from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import FunctionCall, Literal, operands

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

MOST_CUTS: Final = 6
"""Places where a name may be cut into the steps of a path, so that every way to do it is tried."""

_CUT: Final = re.compile(r"[.\[]")
_POSITION: Final = re.compile(r"\[(0|[1-9][0-9]{0,9})\]")


@dataclass(frozen=True, slots=True)
class ItemWhere:
    """`[key = 'text']`: of a list, the first item that is an object whose field is the text."""

    field: str
    text: str


PathStep = str | int | ItemWhere
"""A name into an object; a position, from 0, or a condition into a list."""


@dataclass(frozen=True, slots=True)
class FieldPath:
    """`a.b[0].c`: steps into a record. `OUTER.a` begins at the object around it, which `UNNEST` took it from.

    A name is the whole name of a field, also where it has dots: one step never means two fields.

    Attributes:
        steps: into the record, or into the object around it.
        outer: how many objects further out the path begins: 0 for the record itself.
    """

    steps: tuple[PathStep, ...]
    outer: int = 0

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
            if step == "" or (isinstance(step, ItemWhere) and not step.field):
                message = "the name of a field is empty"
                raise InvalidPatternError(message)
        if not 0 <= self.outer <= MOST_STEPS:
            message = f"a path begins at most {MOST_STEPS} objects further out"
            raise InvalidPatternError(message)

    def __str__(self) -> str:
        """Return the name of the attribute that holds what is there, if a statement has no SET: names without backticks."""
        first, *others = self.steps
        return "OUTER." * self.outer + f"{first}" + "".join(map(_show_step, others))


def _show_step(step: PathStep) -> str:
    match step:
        case ItemWhere(field, text):
            return f"[{field} = '{text}']"
        case int():
            return f"[{step}]"
        case str():  # pragma: no branch - mypy knows that no case is left
            return f".{step}"


RecordExpression = Union[Literal, FieldPath, "Operator[RecordExpression, Value]"]


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


def named_zones(expression: RecordExpression) -> Iterator[str]:
    """Yield the zones of time that an expression names."""
    match expression:
        case FunctionCall("date_part", (_, _, Literal(str() as zone))):
            yield zone
        case _:
            pass
    for each in operands_of(expression):
        yield from named_zones(each)


def paths_named(name: str) -> list[FieldPath]:
    """Return the paths that a name may mean, which all are written so: `a.b[0]` is `a`, `b`, 0, and also the field `a.b[0]`.

    Those of fewer steps come first, of equally many that with the longer step first. A name that can be cut at more than
    `MOST_CUTS` places is cut at all of them, or at none. It must not mean paths without bound.
    """
    is_cut_anywhere = len(_CUT.findall(name, 1)) <= MOST_CUTS
    found: list[list[str | int]] = list(_cut(name)) if is_cut_anywhere else [[name], *_cut_everywhere(name)]
    fitting = [each for each in found if len(each) <= MOST_STEPS and "" not in each]
    ordered = sorted(fitting, key=lambda steps: (len(steps), [-len(step) if isinstance(step, str) else 0 for step in steps]))
    return [FieldPath(tuple(steps)) for steps in ordered]


def _cut(name: str) -> Iterator[list[str | int]]:
    """Yield the steps of each way to read a name that begins with that of a field."""
    for end in (*(found.start() for found in _CUT.finditer(name, 1)), len(name)):
        for rest in _behind(name[end:]):
            yield [name[:end], *rest]


def _behind(rest: str) -> Iterator[list[str | int]]:
    if not rest:
        yield []
    elif rest[0] == ".":
        yield from _cut(rest[1:])
    elif (found := _POSITION.match(rest)) and int(found[1]) <= LARGEST_POSITION:
        for more in _behind(rest[found.end() :]):
            yield [int(found[1]), *more]


def _cut_everywhere(name: str) -> list[list[str | int]]:
    """Return the one way to cut a name at every place, if it is one."""
    steps: list[str | int] = []
    while True:
        found = _CUT.search(name, 1)
        end = found.start() if found else len(name)
        steps.append(name[:end])
        name = name[end:]
        while (position := _POSITION.match(name)) and int(position[1]) <= LARGEST_POSITION:
            steps.append(int(position[1]))
            name = name[position.end() :]
        if not name:
            return [steps]
        if name[0] != "." or len(name) == 1:
            return []
        name = name[1:]
