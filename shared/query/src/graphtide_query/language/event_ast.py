"""The nodes of a parsed event pattern, each with its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_query.language import ast

if TYPE_CHECKING:
    from graphtide_core import event_expression
    from graphtide_core.errors import Location
    from graphtide_core.event_pattern import Selection

    from graphtide_query.language.ast import Name, Property


@dataclass(frozen=True, slots=True)
class Repeat:
    """`+`, `{2}`, `{2,}` or `{2,5}`; at the place of the first number."""

    least: int
    most: int | None
    location: Location


@dataclass(frozen=True, slots=True)
class Event:
    """`name:type`, with its repetition and the values of its attributes."""

    name: Name | None
    type: Name | None
    repeat: Repeat | None
    properties: tuple[Property, ...]
    location: Location


@dataclass(frozen=True, slots=True)
class EventGroup:
    """`SEQ(…)`, `AND(…)` or `OR(…)`."""

    kind: type[event_expression.Group]
    parts: tuple[Part, ...]
    location: Location


@dataclass(frozen=True, slots=True)
class Not:
    """`NOT part`."""

    part: Part
    location: Location


Part = Event | EventGroup | Not


@dataclass(frozen=True, slots=True)
class Partition:
    """`PARTITION BY attributes`."""

    attributes: tuple[Name, ...]
    location: Location


class Within(ast.Period):
    """`WITHIN time`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Skip:
    """`SKIP TILL selection`."""

    selection: Selection
    location: Location


@dataclass(frozen=True, slots=True)
class OnTimeout:
    """`ON TIMEOUT`."""

    location: Location


Clause = ast.Where | Partition | Skip | ast.Reporting | ast.Returning | ast.On | Within | OnTimeout


@dataclass(frozen=True, slots=True)
class EventPatternNode:
    """One event pattern of a file, with its clauses in the order of the text."""

    name: Name
    root: EventGroup
    clauses: tuple[Clause, ...]
