"""Records of matches of subgraphs, as the engine writes them, read as columns: without an object of Python for each match.

Cost: what pyarrow takes to read the JSON, and an object for each match that returns fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import msgspec
import pyarrow as pa
import pyarrow.json as pj
from graphtide_core.match import Completeness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.returns import FieldValue

    from graphtide.matches import Columns


class SubgraphColumns:
    """Reads records of some patterns."""

    @classmethod
    def of(cls, columns: Columns) -> Self | None:
        """Return what reads the records with these columns; None where some are not of one edge for each query edge."""
        is_other = columns.changes or columns.counts or columns.results or columns.events
        return None if is_other or any(has_lists for _, _, has_lists in columns.named) else cls(columns)

    def __init__(self, columns: Columns) -> None:
        """Prepare to read."""
        parts = {"edges": [*columns.edges], "vertices": [*columns.vertices]}
        structs = {name: pa.struct([pa.field(each, pa.string()) for each in own]) for name, own in parts.items()}
        words = ("match_id", "query", "kind", "completeness")
        times = ("detected_at", "first_ts", "last_ts")
        # All types are given: a text is not to be taken for a time.
        schema = pa.schema({**dict.fromkeys(words, pa.string()), **dict.fromkeys(times, pa.int64()), **structs})
        self._parts = parts
        self._fields = columns.fields
        self._parsing = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        self._decoder = msgspec.json.Decoder(_Returned)

    def read(self, lines: bytes) -> Mapping[str, pa.Array]:
        """Return the columns of records, one a line, by the names of a table of matches."""
        reading = pj.ReadOptions(use_threads=False, block_size=len(lines) + 1)
        table = pj.read_json(pa.BufferReader(lines), reading, self._parsing).combine_chunks()
        found = {name: table[name].combine_chunks() for name in table.column_names}
        found["completeness"] = found["completeness"].fill_null(Completeness.EXACT.value)
        for name, own in self._parts.items():
            columns = found.pop(name).flatten()
            found |= {f"{name}.{each}": column for each, column in zip(own, columns, strict=True)}
        return found

    def read_fields(self, lines: bytes) -> Mapping[str, Sequence[FieldValue]]:
        """Return what the same records return, by fields."""
        if not self._fields:
            return {}
        each = [record.fields for record in self._decoder.decode_lines(lines)]
        return {name: [fields.get(name) for fields in each] for name in self._fields}


class _Returned(msgspec.Struct):
    """What a record returns."""

    fields: dict[str, Any] = {}
