"""Names of streams that services make of others: merged ones, and the parts of a divided one.

* A merged stream has the names of its streams in order, with dots between: `payments.logins`.
* Part 3 of 8 of a stream is `payments#3/8`. It has its own order and its own time.
* All 8 parts, merged, are `payments#8`. It may be merged with others: `logins.payments#8`.

A stream that edges are sent to has no dot and no `#` in its name, so these distinguish the kinds. The pattern of a name that
runs in part 3 of 8 by itself is called as a part is: `scan#3/8`. No pattern that users register has `/` in its name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from graphtide_core.ids import StreamName

if TYPE_CHECKING:
    from collections.abc import Iterable

NameT = TypeVar("NameT", bound=str)

_BETWEEN = "."
_PART = re.compile(r"(.*)#(0|[1-9][0-9]{0,3})/([1-9][0-9]{0,3})", re.DOTALL)
_PARTS = re.compile(r"(.*)#([1-9][0-9]{0,3})")


class NamedPart(NamedTuple):
    """A part of a stream, or a pattern that runs in it.

    Attributes:
        whole: the name without the part.
        number: of the part, from 0.
        parts: how many there are.
    """

    whole: str
    number: int
    parts: int


def merge(streams: Iterable[StreamName]) -> StreamName:
    """Return the stream that these are merged to, each of them once; one alone is that stream itself."""
    return StreamName(_BETWEEN.join(sorted(set(streams))))


def sources(stream: StreamName) -> tuple[StreamName, ...]:
    """Return the streams that a stream is merged from, in the order of their names; or the stream itself.

    Complexity: O(length of the name, and parts).
    """
    found: list[StreamName] = []
    for name in stream.split(_BETWEEN):
        divided = _PARTS.fullmatch(name)
        if divided is None:
            found.append(StreamName(name))
        else:
            found += parts_of(StreamName(divided[1]), int(divided[2]))
    return tuple(sorted(found))


def is_merged(stream: str) -> bool:
    """Whether the stream consists of others."""
    return _BETWEEN in stream or _PARTS.fullmatch(stream) is not None


def name_part(name: NameT, number: int, parts: int) -> NameT:
    """Return the name of a part of a stream, or of a pattern that runs in it."""
    return type(name)(f"{name}#{number}/{parts}")


def parts_of(stream: StreamName, parts: int) -> tuple[StreamName, ...]:
    """Return the parts of a stream, in the order of their numbers."""
    return tuple(name_part(stream, number, parts) for number in range(parts))


def merge_parts(stream: StreamName, parts: int) -> StreamName:
    """Return the stream that all parts of a stream are merged to."""
    return StreamName(f"{stream}#{parts}")


def part_in(name: str) -> NamedPart | None:
    """Return the part that a name is of; None if it is of none."""
    found = _PART.fullmatch(name)
    return None if found is None else NamedPart(found[1], int(found[2]), int(found[3]))


def has_parts(stream: str) -> bool:
    """Whether the stream is a part of another, or consists of parts, maybe among others."""
    return "#" in stream


def whole_of(name: NameT) -> NameT:
    """Return the name without the part that it is of."""
    part = part_in(name)
    return name if part is None else type(name)(part.whole)


def logical_stream(stream: StreamName) -> StreamName:
    """Return the stream as patterns name it: without the parts of those that it consists of."""
    found = ((name, _PART.fullmatch(name) or _PARTS.fullmatch(name)) for name in stream.split(_BETWEEN))
    return merge(StreamName(name if divided is None else divided[1]) for name, divided in found)


def most_parts(stream: StreamName) -> int:
    """Return the greatest number of parts of a stream that it consists of, or is a part of; 1 if there are none."""
    found = (_PART.fullmatch(name) or _PARTS.fullmatch(name) for name in stream.split(_BETWEEN))
    return max((int(divided[divided.lastindex or 0]) for divided in found if divided is not None), default=1)
