"""The nodes of a parsed event pattern, each with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.language import ast
from graphtide_query.language.node import node

if TYPE_CHECKING:
    from graphtide_core import event_expression
    from graphtide_core.errors import Location
    from graphtide_core.event_pattern import Selection

    from graphtide_query.language.ast import Name, Property


@node
class Repeat:
    """`+`, `{2}`, `{2,}` or `{2,5}`; at the place of the first number."""

    least: int
    most: int | None
    location: Location


@node
class Event:
    """`name:type`, with its repetition and the values of its attributes."""

    name: Name | None
    type: Name | None
    repeat: Repeat | None
    properties: tuple[Property, ...]
    location: Location


@node
class EventGroup:
    """`SEQ(…)`, `AND(…)` or `OR(…)`."""

    kind: type[event_expression.Group]
    parts: tuple[Part, ...]
    location: Location


@node
class Not:
    """`NOT part`."""

    part: Part
    location: Location


Part = Event | EventGroup | Not


@node
class Partition:
    """`PARTITION BY attributes`."""

    attributes: tuple[Name, ...]
    location: Location


class Within(ast.Period):
    """`WITHIN time`."""

    __slots__ = ()


@node
class Skip:
    """`SKIP TILL selection`."""

    selection: Selection
    location: Location


@node
class OnTimeout:
    """`ON TIMEOUT`."""

    location: Location


Clause = ast.Where | Partition | Skip | ast.Reporting | ast.Returning | ast.On | Within | OnTimeout | ast.Annotation


@node
class EventPatternNode:
    """One event pattern of a file, with its clauses in the order of the text."""

    name: Name
    root: EventGroup
    clauses: tuple[Clause, ...]
