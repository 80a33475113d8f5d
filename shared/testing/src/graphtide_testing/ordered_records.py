"""Edges as a sequencer writes them: records of an ordered topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_wire import ordered

from graphtide_testing.records import to_json_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.edge import Edge
    from graphtide_core.ports.log import Message


def ordered_records(topic: str, edges: Sequence[Edge], most: int = 40) -> Iterator[Message]:
    """Yield edges, which are in their order and have no attributes, as records of at most so many; times in milliseconds."""
    decoder = JsonLinesDecoder(Symbols(), (), {})
    for start in range(0, len(edges), most):
        part = edges[start : start + most]
        first, last = part[0].ts, part[-1].ts
        header = ordered.OrderedHeader(first, last, len(part), start, EventTime(last), TimeUnit.MILLISECOND, number=start)
        yield ordered.encode(topic, header, decoder.decode(to_json_lines(part)).to_arrow())
