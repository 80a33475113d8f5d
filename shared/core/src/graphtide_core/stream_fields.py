"""What a program that runs a `STREAM` statement needs to know ahead: fields that it reads, columns that it gives."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from graphtide_core.predicate import EVENT_FIELDS, RECORD_FIELDS
from graphtide_core.record_expression import FieldPath, field_paths
from graphtide_core.stream_definition import EdgeClause
from graphtide_core.stream_joins import joined_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.stream_definition import StreamDefinition

_OWN_FIELDS: Final = (*sorted(RECORD_FIELDS | EVENT_FIELDS), "op")

_SHOWN: Final = 40
"""Columns that an error names."""

_LONGEST: Final = 100
"""Characters of a name that a similar one is looked for."""


def attributes_of(definition: StreamDefinition) -> tuple[str, ...] | None:
    """Return the names of the attributes that a definition gives; None where a clause has no SET and gives all fields."""
    stated = tuple(each.name for each in definition.sets)
    own = [tuple(each.name for each in clause.sets) for clause in definition.clauses]
    if not stated and not (own and all(own)):
        return None
    return tuple(dict.fromkeys((*stated, *(name for names in own for name in names), *joined_attributes(definition))))


def joined_attributes(definition: StreamDefinition) -> tuple[str, ...]:
    """Return the names of the attributes that JOIN clauses add, also to all fields of a definition without another SET."""
    return tuple(each.name for join in definition.joins for each in join.sets)


def paths_of(definition: StreamDefinition) -> frozenset[FieldPath]:
    """Return the paths of all that the expressions of a definition read of a record; columns of tables are none of it."""
    read = frozenset(path for each in definition.expressions() for path in field_paths(each))
    return read - joined_paths(definition).keys()


def columns_of(definition: StreamDefinition) -> list[str] | None:
    """Return the columns of what a definition gives, as patterns name them; None where they are the fields of the records."""
    given = attributes_of(definition)
    return None if given is None else [*_OWN_FIELDS, *given, *definition.windows.names]


def fields_read(definition: StreamDefinition, attributes: Sequence[str], fields: Sequence[str]) -> list[str]:
    """Return those of a record's fields that a definition reads for these attributes, in their order."""
    read = {str(path.steps[0]) for path in paths_of(definition) if not path.outer}
    if not definition.clauses:
        read |= {*_OWN_FIELDS}
    wanted = () if attributes_of(definition) is not None else attributes
    return [field for field in fields if field in read or any(_is_inside(name, field) for name in wanted)]


def fields_needed(definition: StreamDefinition) -> dict[str, str]:
    """Return the fields without which every record is rejected, by what a definition reads from them."""
    parts: dict[str, RecordExpression] = {"the time": definition.time.value}
    for clause in definition.clauses:
        if clause.where is not None:
            continue
        if isinstance(clause, EdgeClause):
            parts |= {"a source": clause.source.value, "a target": clause.target.value}
        else:
            parts["a type"] = clause.type
    joined = joined_paths(definition)
    return {
        part: str(value.steps[0])
        for part, value in parts.items()
        if isinstance(value, FieldPath) and not value.outer and value not in joined
    }


def explain_lacking(needed: Mapping[str, str], fields: Sequence[str]) -> str | None:
    """Return which of the needed fields records with these fields lack, and which they have; None if they have all.

    `needed` are fields by what is read from them, as of `fields_needed`.
    """
    for part, field in needed.items():
        if field not in fields:
            there = ", ".join(map(repr, fields[:_SHOWN])) + (", …" if len(fields) > _SHOWN else "")
            meant = difflib.get_close_matches(field[:_LONGEST], fields, n=1)
            hint = f"; did you mean {meant[0]!r}?" if meant else ""
            return f"no column {field!r} (for {part}); the columns are {there}{hint}"
    return None


def _is_inside(name: str, field: str) -> bool:
    """Return whether an attribute without a SET is a field or in it, by its name."""
    return name == field or name.startswith((f"{field}.", f"{field}["))
