"""The layout of a match, and its returned values (`RETURN` in the language)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from graphtide_core.edge import Value
from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import attributes
from graphtide_core.suggestion import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.predicate import Attribute, Expression


class MatchLayout(Enum):
    """How the parts of a match lie in a row of the extension; each pattern says which its matches have."""

    ASSIGNMENT = "assignment"
    """An edge and a vertex for each name: `SubgraphMatch`."""

    COMPONENT = "component"
    """Several for each name: `ComponentMatch`."""

    OCCURRENCE = "occurrence"
    """Events by name: `OccurrenceMatch`."""

    INTERVAL = "interval"
    """Vertices with the time at which they are a result: `IntervalMatch`."""


FieldValue = Value | tuple[Value, ...]
"""What a field of a match is: a value, or a list of them."""


@dataclass(frozen=True, slots=True)
class Field:
    """`value AS name`; an unknown or missing value is null.

    A plain attribute of an iteration, or of what a pattern under dual simulation names, is the list of its values.
    """

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


def refuse_fields(returns: Returns) -> None:
    """Refuse what no record could carry.

    Raises:
        InvalidPatternError: no field, or two of one name.
    """
    if not returns.fields and not returns.everything:
        message = "RETURN names at least one field"
        raise InvalidPatternError(message)
    seen: set[str] = set()
    for each in returns.fields:
        if each.name in seen:
            message = f"RETURN has two fields called {show(each.name)}"
            place = next((read.location for read in attributes(each.value)), None)
            raise InvalidPatternError(message, place, hint="give one another name: … AS name")
        seen.add(each.name)
