"""The ordered streams that a pattern is matched on: those that its text names, or what became of them in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.any_pattern import ordered_stream
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import merge, merge_parts
from graphtide_query.parts import localities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_wire.control import PatternRecord


class Placement(NamedTuple):
    """Where a pattern is matched.

    Attributes:
        stream: the ordered stream; of a divided stream that of all its parts.
        is_local: whether each part matches the pattern by itself, so that nothing is merged.
        by_vertex: whether the parts have an edge in the parts of both its ends.
    """

    stream: StreamName
    is_local: bool = False
    by_vertex: bool = False


def place(pattern: AnyPattern, divided: Mapping[str, StreamDefinition]) -> Placement:
    """Return where a pattern is matched, given the definitions of the streams that are divided.

    A view is one stream, which one host writes, so its pattern reads the parts merged.
    """
    streams = [merge_parts(each, _parts(divided[each])) if each in divided else each for each in pattern.streams]
    locality = localities([pattern], divided.values()).get(pattern.name)
    is_local = len(streams) == 1 and not pattern.is_view and locality is not None and locality.is_local
    by_vertex = any(each.partition is not None and each.partition.by is None for each in divided.values())
    return Placement(merge(streams), is_local, by_vertex) if divided else Placement(ordered_stream(pattern))


def placement_of(record: PatternRecord) -> Placement:
    """Return where a registered pattern is matched."""
    return Placement(StreamName(record.stream), record.local is True, record.by_vertex is True)


def _parts(definition: StreamDefinition) -> int:
    return 1 if definition.partition is None else definition.partition.parts
