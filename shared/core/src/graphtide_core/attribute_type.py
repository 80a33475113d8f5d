"""Types that can be declared of a stream's attributes, and the form of such a declaration."""

from __future__ import annotations

import difflib
from enum import Enum
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidQueryError
from graphtide_core.predicate import RECORD_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping


class AttributeType(Enum):
    """The type of every value of an attribute; any value may be missing."""

    STRING = "string"
    INTEGER = "integer"
    """Of 64 bits."""
    NUMBER = "number"
    """An integer or a floating-point number."""
    BOOLEAN = "boolean"


def declared_types(names: Mapping[str, object]) -> dict[str, AttributeType]:
    """Read types by the names of attributes.

    Raises:
        InvalidQueryError: a type is none, or a name is a field of every record, whose type is given.
    """
    return {name: _declare(name, kind) for name, kind in names.items()}


def _declare(name: str, kind: object) -> AttributeType:
    if not name or name in RECORD_FIELDS or name == "op":
        message = f"{name!r} is not an attribute: a record's own fields have fixed types"
        raise InvalidQueryError(message)
    known = [each.value for each in AttributeType]
    if kind not in known:
        close = difflib.get_close_matches(str(kind), known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        message = f"there is no type {kind!r} for {name!r}, but {', '.join(known)}{hint}"
        raise InvalidQueryError(message)
    return AttributeType(kind)
