"""A pattern that each part of a stream matches by itself, as one registration a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import name_part, part_in, sources
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_wire.control import PatternRecord


def part_records(record: PatternRecord) -> Iterator[PatternRecord]:
    """Yield the registrations to plan: one for each part of a local pattern, under the part's name; else the record.

    Complexity: O(parts).
    """
    if record.local is not True:
        yield record
        return
    streams = sources(StreamName(record.stream))
    ends = (None,) * len(streams) if isinstance(record.source_ends, UnsetType) else record.source_ends
    for stream, end in zip(streams, ends, strict=False):
        part = part_in(stream)
        if part is not None:
            name = name_part(record.name, part.number, part.parts)
            yield replace(record, name=name, stream=stream, start=end, source_ends=UNSET, local=UNSET)
