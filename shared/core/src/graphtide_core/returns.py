"""What a match record says beside the ids of a match: `RETURN` in the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.edge import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.predicate import Attribute, Expression

FieldValue = Value | tuple[Value, ...]
"""What a field of a match is: a value, or a list of them."""


@dataclass(frozen=True, slots=True)
class Field:
    """`value AS name`; an unknown or missing value is null. A plain attribute of an iteration is the list of its values."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Returns:
    """Computed fields; with `everything` (`RETURN *`) also what the pattern reads of all matched records, by its names."""

    fields: tuple[Field, ...] = ()
    everything: bool = False

    def expanded(self, everything: Iterable[Attribute]) -> tuple[Field, ...]:
        """Return the fields of a match: those that are named, then `everything` if it is asked for, called as it is written.

        What has the name of a field that is named gives way to it.
        """
        if not self.everything:
            return self.fields
        named = {each.name for each in self.fields}
        spelled = (Field(f"{each.variable}.{each.name}", each) for each in everything)
        return (*self.fields, *(each for each in spelled if each.name not in named))
