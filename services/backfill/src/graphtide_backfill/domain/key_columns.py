"""The part of each row of a batch by its key, column by column: `graphtide_core.part_key.part_of` of many rows at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from graphtide_core.part_key import key_text
from graphtide_wire.ordered_body import EVENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_MULTIPLIER: Final = np.uint32(0x5BD1E995)
_SEED: Final = 0x9747B28C
_SHIFTS: Final = (8, 16)
_IN_JSON: Final = (b"graphtide.encoding", b"json")
"""Metadata of a column whose values are texts of JSON, since they are of several types."""


def parts_of_rows(batch: pa.RecordBatch, field: str, parts: int) -> NDArray[np.int64]:
    """Return the part of each row, given a batch as `EdgeBatch.to_arrow` writes it and the field that is the key.

    Complexity: O(bytes of the keys), and O(distinct keys) in Python where they are neither texts nor integers.
    """
    return parts_of_texts(_read_keys(batch, field), parts)


def parts_of_texts(texts: pa.Array, parts: int) -> NDArray[np.int64]:
    """Return the part of each text; a missing one is empty. Texts of one length are hashed together."""
    filled = pc.fill_null(texts, "").cast(pa.large_utf8())
    _, offsets, data = filled.buffers()
    ends = np.frombuffer(offsets, np.int64)[filled.offset : filled.offset + len(filled) + 1]
    content = np.frombuffer(data if data is not None else b"", np.uint8)
    lengths = np.diff(ends)
    hashed = np.zeros(len(filled), np.uint32)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        hashed[rows] = _murmur2(content[ends[rows, None] + np.arange(length)])
    return (hashed & np.uint32(0x7FFFFFFF)).astype(np.int64) % parts


def _murmur2(texts: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return MurmurHash2 of rows of equally many bytes."""
    count, length = texts.shape
    whole = length & ~3
    hashed = np.full(count, _SEED ^ length, np.uint32)
    for start in range(0, whole, 4):
        word = np.ascontiguousarray(texts[:, start : start + 4]).view("<u4")[:, 0] * _MULTIPLIER
        hashed = hashed * _MULTIPLIER ^ (word ^ word >> np.uint32(24)) * _MULTIPLIER
    if whole < length:
        rest = texts[:, whole].astype(np.uint32)
        for place, shift in zip(range(whole + 1, length), _SHIFTS, strict=False):
            rest |= texts[:, place].astype(np.uint32) << np.uint32(shift)
        hashed = (hashed ^ rest) * _MULTIPLIER
    hashed = (hashed ^ hashed >> np.uint32(13)) * _MULTIPLIER
    return hashed ^ hashed >> np.uint32(15)


def _read_keys(batch: pa.RecordBatch, field: str) -> pa.Array:
    """Return the texts of the keys of a batch's rows."""
    if field == "type" and EVENT in batch.schema.names:
        # The type of an event is in the column of labels; of an edge it is an attribute.
        labels = batch.column("label").cast(pa.utf8())
        return pc.if_else(batch.column(EVENT), labels, _read_texts(batch, field))
    return _read_texts(batch, field)


def _read_texts(batch: pa.RecordBatch, field: str) -> pa.Array:
    place = batch.schema.get_field_index(field)
    if place < 0:
        return pa.nulls(batch.num_rows, pa.utf8())
    column = batch.column(place)
    if _IN_JSON in (batch.schema.field(place).metadata or {}).items():
        return _map_values(column, lambda text: key_text(json.loads(text)))
    if pa.types.is_floating(column.type):
        return _map_values(column, key_text)
    return column.cast(pa.utf8())


def _map_values(column: pa.Array, text_of: Callable[[Any], str]) -> pa.Array:
    """Return the texts of a column's values, each distinct value looked at once."""
    coded = column.dictionary_encode()
    texts = pa.array([text_of(each) for each in coded.dictionary.to_pylist()], pa.utf8())
    return texts.take(coded.indices)
