"""The sharing between sub-patterns: each has as children those whose matches contain its own. Builders turn it into plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_query.families.events.forms import bits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_query.families.events.forms import Form, Key

SAME: Final[Mapping[Key, Key]] = {}
"""Where every key of a parent is the same of its child."""


class Link(NamedTuple):
    """A parent of a sub-pattern, with those keys of it that are others in the child."""

    parent: int
    keys: Mapping[Key, Key] = SAME


@dataclass(slots=True)
class Sharing:
    """Sub-patterns, those of the patterns first, and the parents of each."""

    forms: list[Form]
    parents: list[list[Link]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Give no parents to those who have none yet."""
        self.parents += [[] for _ in range(len(self.forms) - len(self.parents))]

    def add(self, form: Form) -> int:
        """Add a sub-pattern, and return its number."""
        self.forms.append(form)
        self.parents.append([])
        return len(self.forms) - 1

    def filled(self, link: Link) -> int:
        """Return the keys of the child that a parent fills."""
        slots = self.forms[link.parent].slots
        return slots if not link.keys else sum(1 << link.keys.get(key, key) for key in bits(slots))

    def residual(self, vertex: int) -> int:
        """Return the keys of a sub-pattern that no parent fills: its differential part."""
        left = self.forms[vertex].slots
        for link in self.parents[vertex]:
            left &= ~self.filled(link)
        return left
