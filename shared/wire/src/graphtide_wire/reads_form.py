"""What a pattern reads, as JSON."""

from __future__ import annotations

from typing import Annotated

import msgspec
from graphtide_core.ids import StreamName
from graphtide_core.reads import Reach, Reads
from graphtide_core.time import DURATION_UNITS, Duration
from msgspec import Meta

from graphtide_wire.json_form import Name

Length = Annotated[str, Meta(pattern=f"^[0-9]{{1,19}}({'|'.join(DURATION_UNITS)})?$")]
"""A length of event time as patterns write it: `10m`, or a number of the stream's own ticks."""
Streams = Annotated[tuple[Name, ...], Meta(min_length=1)]


class ReachForm(msgspec.Struct, frozen=True):
    """A `Reach`. It keeps the unit it was written in: how long a tick is, only the stream knows."""

    length: Length
    closed: bool = False


class ReadsForm(msgspec.Struct, frozen=True):
    """A `Reads`; `labels` null is every label."""

    streams: Streams
    reach: ReachForm
    labels: tuple[str, ...] | None
    attributes: tuple[str, ...]


def form_of(reads: Reads) -> ReadsForm:
    """Return what is read in its wire form."""
    reach = ReachForm(str(reads.reach.length), reads.reach.is_closed)
    return ReadsForm(reads.streams, reach, reads.labels, reads.attributes)


def reads_of(form: ReadsForm) -> Reads:
    """Return what the form says."""
    streams = tuple(StreamName(stream) for stream in form.streams)
    reach = Reach(Duration.of(form.reach.length), form.reach.closed)
    return Reads(streams, reach, form.labels, form.attributes)
