"""A sign or word that the grammar did not expect, as the hints of each family see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lark import Token


@dataclass(frozen=True, slots=True)
class Unexpected:
    """What was found where something else was expected.

    Attributes:
        kind: its terminal; empty if it has none.
        found: its text.
        names: the terminals that were expected.
        last: the token before.
    """

    kind: str
    found: str
    names: frozenset[str]
    last: Token | None

    @property
    def before(self) -> str:
        """The terminal of the token before; empty at the beginning."""
        return "" if self.last is None else self.last.type
