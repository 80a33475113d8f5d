"""Names of merged streams: the names of their streams in order, with dots between.

A stream that edges are sent to has no dot in its name, so a dot distinguishes the two kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.ids import StreamName

if TYPE_CHECKING:
    from collections.abc import Iterable

_BETWEEN = "."


def merge(streams: Iterable[StreamName]) -> StreamName:
    """Return the stream that these are merged to, each of them once; one alone is that stream itself."""
    return StreamName(_BETWEEN.join(sorted(set(streams))))


def sources(stream: StreamName) -> tuple[StreamName, ...]:
    """Return the streams that a stream is merged from, in the order of their names; or the stream itself."""
    return tuple(StreamName(name) for name in stream.split(_BETWEEN))


def is_merged(stream: str) -> bool:
    """Whether the stream consists of others."""
    return _BETWEEN in stream
