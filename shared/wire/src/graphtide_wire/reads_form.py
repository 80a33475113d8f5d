"""What a pattern reads, as JSON."""

from __future__ import annotations

from typing import Annotated

import msgspec
from graphtide_core.ids import StreamName
from graphtide_core.reads import Reads
from graphtide_core.time import DURATION_UNITS, Duration
from msgspec import Meta

from graphtide_wire.json_form import Name

Length = Annotated[str, Meta(pattern=f"^[0-9]{{1,19}}({'|'.join(DURATION_UNITS)})?$")]
"""A length of event time as patterns write it: `10m`, or a number of the stream's own ticks."""
Streams = Annotated[tuple[Name, ...], Meta(min_length=1)]


class ReadsForm(msgspec.Struct, frozen=True):
    """A `Reads`; `labels` null is every label.

    `reach` keeps the unit it was written in: how long a tick is, only the stream knows.
    """

    streams: Streams
    reach: Length
    labels: tuple[str, ...] | None
    attributes: tuple[str, ...]


def form_of(reads: Reads) -> ReadsForm:
    """Return what is read in its wire form."""
    return ReadsForm(reads.streams, str(reads.reach), reads.labels, reads.attributes)


def reads_of(form: ReadsForm) -> Reads:
    """Return what the form says."""
    streams = tuple(StreamName(stream) for stream in form.streams)
    return Reads(streams, Duration.of(form.reach), form.labels, form.attributes)
