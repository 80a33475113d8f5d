"""Resolve the names in the conditions of a rule: the ids of its variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core import predicate
from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language.functions import no_lists
from graphtide_query.language.spelling import list_names, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_query.language import ast


class VertexNames:
    """The variables of a rule; see `graphtide_query.language.expressions.Names`."""

    def __init__(self, names: Iterable[str]) -> None:
        """Take the names."""
        self._names = frozenset(names)

    def read(self, attribute: ast.Attribute) -> predicate.Attribute:
        """See `Names`."""
        variable, name = attribute.variable, attribute.name
        if variable.text not in self._names:
            message = f"no atom of the rule has the vertex {show(variable.text)}"
            hint = did_you_mean(variable.text, self._names) or f"it has {list_names(self._names)}"
            raise InvalidPatternError(message, variable.location, hint=hint)
        if name.text != "id":
            message = f"vertex {show(variable.text)} has no attribute {show(name.text)}"
            hint = (
                "write conditions on edges in an INPUT: INPUT pays = ()-[e:pays]->() ON stream WINDOW(24h) WHERE e.amount > 5"
            )
            raise InvalidPatternError(message, name.location, hint=hint)
        return predicate.Attribute(variable.text, name.text, variable.location)

    def compute(self, aggregate: ast.Aggregate) -> predicate.Aggregate:
        """See `Names`; a rule has no lists, and atoms are no conditions."""
        error = no_lists(aggregate.function, "a streaming graph query")
        raise InvalidPatternError(error.reason, error.location, hint="separate atoms by commas, before WHERE")

    def not_a_value(self, name: ast.Name) -> InvalidPatternError:
        """See `Names`."""
        spelled = shorten(name.text)
        if name.text in self._names:
            message = f"{show(name.text)} is a vertex, not a value"
            return InvalidPatternError(message, name.location, hint=f"write {spelled}.id; one vertex has one variable")
        message = f"{show(name.text)} is not a value: a rule reads the ids of its vertices"
        return InvalidPatternError(message, name.location, hint="put quotes around a string")
