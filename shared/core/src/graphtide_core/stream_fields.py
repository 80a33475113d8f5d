"""What a program that runs a `STREAM` statement needs to know ahead: fields that it reads, attributes that it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.record_expression import field_paths

if TYPE_CHECKING:
    from graphtide_core.record_expression import FieldPath
    from graphtide_core.stream_definition import StreamDefinition


def attributes_of(definition: StreamDefinition) -> tuple[str, ...] | None:
    """Return the names of the attributes that a definition gives; None where a clause has no SET and gives all fields."""
    stated = tuple(each.name for each in definition.sets)
    own = [tuple(each.name for each in clause.sets) for clause in definition.clauses]
    if not stated and not (own and all(own)):
        return None
    return tuple(dict.fromkeys((*stated, *(name for names in own for name in names))))


def paths_of(definition: StreamDefinition) -> frozenset[FieldPath]:
    """Return the paths of all that the expressions of a definition read."""
    return frozenset(path for each in definition.expressions() for path in field_paths(each))
