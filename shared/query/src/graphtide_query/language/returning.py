"""Bind and print RETURN: the fields of a match, named as they are written or by AS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import Aggregate, Attribute
from graphtide_core.returns import Field, Returns

from graphtide_query.language import ast
from graphtide_query.language.clauses import require_text
from graphtide_query.language.expression_printer import write_value
from graphtide_query.language.expressions import bind_expression, first_place
from graphtide_query.language.spelling import write_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_query.language.expressions import Names


def bind_returns(returning: ast.Returning, names: Names) -> Returns:
    """Return the fields of the clause.

    Raises:
        InvalidPatternError: as `bind_expression`; a second `*`, a computed field without a name.
    """
    stars = [item for item in returning.items if isinstance(item, ast.Everything)]
    if len(stars) > 1:
        message = "RETURN has a second *"
        raise InvalidPatternError(message, stars[1].location)
    fields = [_bind_field(item, names) for item in returning.items if isinstance(item, ast.Returned)]
    return Returns(tuple(fields), everything=bool(stars))


def _bind_field(item: ast.Returned, names: Names) -> Field:
    value = bind_expression(item.value, names)
    if item.name is not None:
        require_text(item.name)
        return Field(item.name.text, value)
    if not isinstance(value, Attribute | Aggregate):
        message = "a computed field needs a name"
        raise InvalidPatternError(message, first_place(item.value), hint="write … AS name")
    # Its name is its text.
    return Field(write_value(value), value)


def write_returns(returns: Returns) -> str:
    """Spell the clause, without its keyword."""
    return ", ".join(_write_items(returns))


def _write_items(returns: Returns) -> Iterator[str]:
    if returns.everything:
        yield "*"
    yield from map(_write_field, returns.fields)


def _write_field(field: Field) -> str:
    value = write_value(field.value)
    is_called_so = isinstance(field.value, Attribute | Aggregate) and field.name == value
    return value if is_called_so else f"{value} AS {write_name(field.name)}"
