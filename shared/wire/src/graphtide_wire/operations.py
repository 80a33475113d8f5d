"""Operations: work that takes long, asked for by users and done by a service, as JSON in a compacted topic.

Records of five kinds share the topic, by their keys. The control plane writes what is asked for (`{id}`). The worker of it
writes how far it is (`{id}@status`). A run writes into which pieces it is cut (`{run}@cut`), before its results. It writes
markers of pieces whose results are written (`{run}@slice-{number}`), in one transaction with the results. It writes that
somebody begins to write a run (`{run}@opened`, without a value): a reader of that has read all that was written before. Nobody
overwrites what another says. An id holds no `@`.
"""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from graphtide_wire.control import LimitsForm
from graphtide_wire.json_form import Count, Instant, Int64, Name, decode, encode

_OF_RUN: Final = re.compile(rb"[0-9a-f]{8,64}@(cut|opened|slice-[0-9]+)")
_CUT: Final = "@cut"
_STATUS: Final = "@status"


class OperationRecord(msgspec.Struct, frozen=True):
    """A backfill that a user asked for.

    `start` and `end` bound the times of detection in the stream's ticks, `end` itself left out; null is where history begins or
    ends. `desired` is changed to `cancelled` by a caller who wants it to end. `by_vertex` is true where the parts of the stream
    have an edge in the parts of both its ends.
    """

    id: Name
    pattern: Name
    version: Count
    text: str
    stream: Name
    desired: Literal["done", "cancelled"]
    created_at: Instant
    kind: Literal["backfill"] = "backfill"
    start: Int64 | None = None
    end: Int64 | None = None
    engine: str = "auto"
    limits: LimitsForm = LimitsForm()
    by_vertex: bool | msgspec.UnsetType = msgspec.UNSET


class OperationStatus(msgspec.Struct, frozen=True):
    """How far an operation is: slices finished of all, their edges and matches, edges a second; why it failed."""

    id: Name
    state: Literal["running", "done", "failed", "cancelled"]
    at: Instant
    slices_done: Count = 0
    slices: Count = 0
    edges: Count = 0
    matches: Count = 0
    edges_per_second: float = 0.0
    reason: str | None = None


class RunCut(msgspec.Struct, frozen=True):
    """Where the slices of a run begin, and where the last one ends: a process that continues the run cuts it as before.

    `parts` is how many parts of a key each stretch of time has; absent without a key. `by` is the field that is the key; it is
    null by vertex.
    """

    run: Name
    bounds: tuple[Int64, ...]
    by: str | msgspec.UnsetType | None = msgspec.UNSET
    parts: Count | msgspec.UnsetType = msgspec.UNSET


class SliceMarker(msgspec.Struct, frozen=True):
    """The results of a slice of a run are written; so many records."""

    run: Name
    slice: Count
    records: Count


def is_of_run(key: bytes) -> bool:
    """Return whether a record of this key is what is said of a run by who writes it."""
    return _OF_RUN.fullmatch(key) is not None


def is_cut(key: bytes) -> bool:
    """Return whether a record of this key, which is of a run, is its cut."""
    return key.endswith(_CUT.encode())


def is_status(key: bytes) -> bool:
    """Return whether a record of this key says how far an operation is."""
    return key.endswith(_STATUS.encode())


def operation_key(id: str) -> bytes:
    """Return the key of what is asked for."""
    return id.encode()


def status_key(id: str) -> bytes:
    """Return the key of how far it is."""
    return f"{id}{_STATUS}".encode()


def cut_key(run: str) -> bytes:
    """Return the key of a run's cut."""
    return f"{run}{_CUT}".encode()


def marker_key(marker: SliceMarker) -> bytes:
    """Return the key of a marker."""
    return f"{marker.run}@slice-{marker.slice}".encode()


def encode_operation(record: OperationRecord) -> bytes:
    """Return the operation as JSON."""
    return encode(record)


def decode_operation(value: bytes | None) -> OperationRecord:
    """Return the operation.

    Raises:
        PoisonRecordError: the value is none.
    """
    return decode(value, OperationRecord, "operation")


def encode_status(record: OperationStatus) -> bytes:
    """Return how far it is, as JSON."""
    return encode(record)


def decode_status(value: bytes | None) -> OperationStatus:
    """Return how far it is.

    Raises:
        PoisonRecordError: the value does not say.
    """
    return decode(value, OperationStatus, "status of an operation")


def opened_key(run: str) -> bytes:
    """Return the key of the record, without a value, that marks the start of writing a run."""
    return f"{run}@opened".encode()


def encode_cut(record: RunCut) -> bytes:
    """Return the cut as JSON."""
    return encode(record)


def decode_cut(value: bytes | None) -> RunCut:
    """Return the cut.

    Raises:
        PoisonRecordError: the value is none.
    """
    return decode(value, RunCut, "cut of a run")


def encode_marker(record: SliceMarker) -> bytes:
    """Return the marker as JSON."""
    return encode(record)


def decode_marker(value: bytes | None) -> SliceMarker:
    """Return the marker.

    Raises:
        PoisonRecordError: the value is none.
    """
    return decode(value, SliceMarker, "marker of a slice")
