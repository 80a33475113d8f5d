"""Snapshots of statistics: the core's JSON, with the stream, its number and the drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.statistics import json_form as core_form
from msgspec import Meta

from graphtide_wire.json_form import Count, Int64, Name, decode, encode

if TYPE_CHECKING:
    from graphtide_core.statistics.snapshot import StatisticsSnapshot

_Way = Literal["out", "in"]


class DegreeForm(msgspec.Struct, frozen=True):
    """Moments of a degree."""

    vertices: Count
    total: Count
    squares: Annotated[int, Meta(ge=0)]
    most: Count


class StatisticsForm(msgspec.Struct, frozen=True):
    """The content of a record of statistics; paths name types by their places in `types`."""

    stream: Name
    snapshot_version: Count
    drift: float | None
    schema: Literal[1]
    version: Count
    window: tuple[Int64, Int64] | None
    first_ts: Int64 | None
    last_ts: Int64 | None
    edges: Count
    vertices: Count
    types: tuple[tuple[str | None, str, str | None, Count, Count | None], ...]
    paths: tuple[tuple[Count, _Way, Count, _Way, Count], ...] | None
    out_degrees: DegreeForm
    in_degrees: DegreeForm
    attributes: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StatisticsRecord:
    """A snapshot of a stream, and how far the stream has moved since what plans were made from; None if nobody measured.

    Attributes:
        stream: its name.
        snapshot_version: number of the snapshot among those that were published.
        snapshot: the statistics.
        drift: see above.
        attributes: names of the attributes that edges of the window had; None where nobody looked, or they are too many.
        labels: of edges and vertices that snapshots of the stream ever had, with this one; the first where they are many.
    """

    stream: str
    snapshot_version: int
    snapshot: StatisticsSnapshot
    drift: float | None = None
    attributes: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()


def encode_statistics(record: StatisticsRecord) -> bytes:
    """Return the record as JSON; the snapshot's own part is the core's text, unchanged."""
    beside: dict[str, object] = {"stream": record.stream, "snapshot_version": record.snapshot_version, "drift": record.drift}
    if record.attributes is not None:
        beside["attributes"] = record.attributes
    if record.labels:
        beside["labels"] = record.labels
    return encode(beside)[:-1] + b"," + core_form.to_json(record.snapshot).encode()[1:]


def decode_statistics(value: bytes | None) -> StatisticsRecord:
    """Return the record.

    Raises:
        PoisonRecordError: the value is none, or its counts contradict each other.
    """
    form = decode(value, StatisticsForm, "snapshot of statistics")
    try:
        snapshot = core_form.from_json(value or b"")
    except UnicodeDecodeError as error:
        reason = f"no snapshot of statistics: {error}"
        raise PoisonRecordError(reason, value or b"") from error
    return StatisticsRecord(form.stream, form.snapshot_version, snapshot, form.drift, form.attributes, form.labels)
