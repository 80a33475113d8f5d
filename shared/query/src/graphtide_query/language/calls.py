"""Bind calls of the functions that patterns and statements share; loaded by the first text that calls one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from graphtide_core.errors import InvalidPatternError
from graphtide_core.functions import FUNCTIONS
from graphtide_core.predicate import Aggregation, FunctionCall, Literal
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language.clauses import place_errors
from graphtide_query.language.known_zones import refuse_unknown_zone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_query.language import ast

_X = TypeVar("_X")


def is_function(name: ast.Name) -> bool:
    """Return whether a function of values has the name, in any case."""
    return name.text.lower() in FUNCTIONS


def bind_call(function: ast.Name, arguments: tuple[_X, ...]) -> FunctionCall[_X]:
    """Return the call of a function, in any case, of arguments that are bound.

    Raises:
        InvalidPatternError: there is no such function, or it does not take the arguments; at its name.
    """
    with place_errors(function.location):
        bound = FunctionCall(function.text.lower(), arguments)
        if bound.function == "date_part" and len(arguments) > 2:
            zone = arguments[2]
            refuse_unknown_zone(str(zone.value) if isinstance(zone, Literal) else "")
    return bound


def unknown_function(name: ast.Name, of_lists: Iterable[Aggregation] = ()) -> InvalidPatternError:
    """Word the error of a function that is not there; `of_lists` are those that the place has beside functions of values."""
    known = [*(each.value for each in of_lists), *FUNCTIONS]
    message = f"there is no function {show(name.text)}"
    hint = did_you_mean(name.text.lower(), known) or f"the functions are {', '.join(known)}"
    return InvalidPatternError(message, name.location, hint=hint)
