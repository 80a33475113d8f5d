"""The decorator of nodes of a parsed text.

A text is read into nodes once, and they are bound at once: nothing changes, compares or prints them. So a type checker takes
them for frozen, and Python makes no methods of them but the one that fills them. Loading the classes of all nodes takes a
quarter of the time that frozen dataclasses take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[T]) -> type[T]:
    """Make a class a node."""
    return dataclass(slots=True, eq=False, repr=False)(cls)
