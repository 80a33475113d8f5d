"""What a match record says beside the ids of a match: `RETURN` in the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_core.predicate import Expression


@dataclass(frozen=True, slots=True)
class Field:
    """`value AS name`; an unknown or missing value is null. A plain attribute of an iteration is the list of its values."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Returns:
    """Computed fields; with `everything` (`RETURN *`) also all that the matched records state, by the pattern's names."""

    fields: tuple[Field, ...] = ()
    everything: bool = False
