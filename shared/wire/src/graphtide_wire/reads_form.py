"""The reads of a pattern as JSON."""

from __future__ import annotations

from typing import Annotated

import msgspec
from graphtide_core.ids import StreamName
from graphtide_core.reads import Lookback, Reads
from graphtide_core.time import DURATION_UNITS, Duration
from graphtide_core.window import MOST_EDGES, EdgeCount
from msgspec import Meta

from graphtide_wire.json_form import Name

Length = Annotated[str, Meta(pattern=f"^[0-9]{{1,19}}({'|'.join(DURATION_UNITS)})?$")]
"""A length of event time as patterns write it: `10m`, or a number of the stream's own ticks."""
Edges = Annotated[int, Meta(ge=1, le=MOST_EDGES)]
Streams = Annotated[tuple[Name, ...], Meta(min_length=1)]


class LookbackForm(msgspec.Struct, frozen=True):
    """A `Lookback`. It keeps the unit it was written in: how long a tick is, only the stream knows.

    Where so many `edges` are read, the length is 0; if the lookback is a time, the field is absent. `rounded_up` is true
    where a part of a tick counts as a whole one, and not there elsewhere.
    """

    length: Length
    closed: bool = False
    edges: Edges | msgspec.UnsetType = msgspec.UNSET
    rounded_up: bool | msgspec.UnsetType = msgspec.UNSET


class ReadsForm(msgspec.Struct, frozen=True, rename={"lookback": "reach"}):
    """A `Reads`; `labels` null is every label."""

    streams: Streams
    lookback: LookbackForm
    labels: tuple[str, ...] | None
    attributes: tuple[str, ...]


def form_of(reads: Reads) -> ReadsForm:
    """Return what is read in its wire form."""
    length = reads.lookback.length
    if isinstance(length, EdgeCount):
        lookback = LookbackForm("0", reads.lookback.is_closed, length.edges)
    else:
        rounded_up = reads.lookback.is_rounded_up or msgspec.UNSET
        lookback = LookbackForm(str(length), reads.lookback.is_closed, rounded_up=rounded_up)
    return ReadsForm(reads.streams, lookback, reads.labels, reads.attributes)


def reads_of(form: ReadsForm) -> Reads:
    """Return what the form says."""
    streams = tuple(StreamName(stream) for stream in form.streams)
    edges = form.lookback.edges
    length = Duration.of(form.lookback.length) if edges is msgspec.UNSET else EdgeCount(edges)
    lookback = Lookback(length, form.lookback.closed, form.lookback.rounded_up is True)
    return Reads(streams, lookback, form.labels, form.attributes)
