"""Resolve the names in expressions of a pattern of events: its events, and functions of iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core import predicate
from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language.functions import bind_function
from graphtide_query.language.spelling import list_names, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_query.language import ast


class EventNames:
    """The names of the events of a pattern; see `graphtide_query.language.expressions.Names`."""

    def __init__(self, names: Iterable[str]) -> None:
        """Take the names: at least one."""
        self._names = frozenset(names)

    def read(self, attribute: ast.Attribute) -> predicate.Attribute:
        """See `Names`."""
        self.refuse_unknown(attribute.variable)
        return _attribute(attribute.variable, attribute.name)

    def compute(self, aggregate: ast.Aggregate) -> predicate.Aggregate:
        """See `Names`."""
        return bind_function(aggregate, self, lambda variable: predicate.Attribute(variable.text, "ts", variable.location))

    def not_a_value(self, name: ast.Name) -> InvalidPatternError:
        """See `Names`."""
        spelled = shorten(name.text)
        if name.text in self._names:
            message = f"{show(name.text)} is an event, not a value"
            return InvalidPatternError(message, name.location, hint=f"write {spelled}.ts, or another of its attributes")
        message = f"{show(name.text)} is not a value: attributes belong to an event"
        hint = f"write {shorten(min(self._names))}.{spelled} for an attribute, or put quotes around a string"
        return InvalidPatternError(message, name.location, hint=hint)

    def refuse_unknown(self, variable: ast.Name) -> None:
        """See `Lists`."""
        if variable.text not in self._names:
            message = f"the pattern has no event {show(variable.text)}"
            hint = did_you_mean(variable.text, sorted(self._names)) or f"it has {list_names(self._names)}"
            raise InvalidPatternError(message, variable.location, hint=hint)


def _attribute(variable: ast.Name, name: ast.Name) -> predicate.Attribute:
    if name.text == "op":
        message = "`op` cannot be read"
        hint = "matches have only inserted events; a deletion retracts the matches that have its event"
        raise InvalidPatternError(message, name.location, hint=hint)
    return predicate.Attribute(variable.text, name.text, variable.location)
