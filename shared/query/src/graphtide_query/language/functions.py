"""Bind functions over a list: the events of an iteration, or the edges or vertices that a component has for a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from graphtide_core import predicate
from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import Aggregation
from graphtide_core.suggestion import show

from graphtide_query.language import ast
from graphtide_query.language.spelling import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FUNCTIONS: Final = {function.value: function for function in Aggregation}
_OF_ONE: Final = (Aggregation.FIRST, Aggregation.LAST)
"""Functions that take one item of the list: `first(a).x` is `first(a.x)`."""


class Lists(Protocol):
    """Names that stand for lists; see `Names`."""

    def read(self, attribute: ast.Attribute) -> predicate.Attribute:
        """See `Names`."""
        ...

    def refuse_unknown(self, variable: ast.Name) -> None:
        """Check that a name is known.

        Raises:
            InvalidPatternError: it is unknown.
        """
        ...


def function_of_lists(name: ast.Name) -> Aggregation | None:
    """Return the function over a list that has the name, in any case; None if none has."""
    return _FUNCTIONS.get(name.text.lower())


def no_lists(name: ast.Name, what: str) -> InvalidPatternError:
    """Word the error of a function where nothing is a list; `what` has none."""
    if function_of_lists(name) is None:
        return _unknown(name)
    message = f"{show(name.text)} cannot be computed: {what} has no lists"
    hint = "count, sum and other functions of lists need an iteration, in a pattern of events: SEQ(a:A+)"
    return InvalidPatternError(message, name.location, hint=hint)


def _unknown(name: ast.Name, of_lists: Iterable[Aggregation] = ()) -> InvalidPatternError:
    from graphtide_query.language.calls import unknown_function  # noqa: PLC0415 - most patterns call no function

    return unknown_function(name, of_lists)


def bind_function(
    aggregate: ast.Aggregate, names: Lists, whole: Callable[[ast.Name], predicate.Attribute]
) -> predicate.Aggregate:
    """Return what a function computes; `whole` is the attribute that every item has, for `count(a)`.

    Raises:
        InvalidPatternError: there is no such function, name or attribute, or it needs one.
    """
    stated, variable, name = aggregate.function, aggregate.variable, aggregate.attribute
    function = _FUNCTIONS.get(stated.text.lower())
    if function is None:
        raise _unknown(stated, Aggregation)
    names.refuse_unknown(variable)
    if aggregate.takes_one and function not in _OF_ONE:
        message = f"{function.value} needs an attribute"
        hint = f"write {function.value}(a.x) in place of {function.value}(a).x"
        raise InvalidPatternError(message, stated.location, hint=hint)
    if name is not None:
        return predicate.Aggregate(function, names.read(ast.Attribute(variable, name)))
    if function is Aggregation.COUNT:
        return predicate.Aggregate(function, whole(variable))
    message = f"{function.value} needs an attribute"
    hint = f"write {function.value}({shorten(variable.text)}.bytes), or another of its attributes"
    raise InvalidPatternError(message, variable.location, hint=hint)
