"""Matches as rows of the table of their patterns, as the engine gives them: without an object of Python for each match.

Only values that are written as texts and were not all texts become objects.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
from graphtide_native.match_tables import MatchTables
from graphtide_query.families import family_of

from graphtide.field_types import FieldTypes, arrow_type, as_texts, is_exact_as, name_type
from graphtide.matches import columns_of_patterns, schema_of, write_as_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import MatchBatch


class MatchRows:
    """Makes matches rows. Columns of words have the same words in every batch: an Arrow file has one list of them.

    Attributes:
        fields: names of what the patterns return, each once.
    """

    def __init__(self, patterns: Sequence[AnyPattern], unit: TimeUnit) -> None:
        """Take the patterns of all matches; `unit` is what times of the stream count."""
        columns = columns_of_patterns(patterns)
        outputs = [output for each in patterns for output in family_of(each).layout(each).outputs]
        self.fields = columns.fields
        self._columns, self._unit = columns, unit
        self._tables = MatchTables(
            unit.value,
            columns.named,
            (columns.changes, columns.counts, columns.results),
            columns.fields,
            [*dict.fromkeys(output.label for output in outputs)],
        )

    def schema(self, types: Sequence[str]) -> pa.Schema:
        """Return the columns, fields with these types."""
        return schema_of(self._columns, self._unit, [arrow_type(name) for name in types])

    def kinds(self, matches: MatchBatch) -> list[int]:
        """Return what kinds of values each field has, as bits."""
        return self._tables.kinds(matches)

    def rows(self, matches: MatchBatch, kinds: Sequence[int], types: Sequence[str], start: int = 0) -> pa.RecordBatch:
        """Return matches from a place on as rows.

        Args:
            matches: the matches.
            kinds: of their fields, as bits.
            types: of the columns of fields.
            start: place of the first match.
        """
        own = [_own_type(found, type) for found, type in zip(kinds, types, strict=True)]
        found = self._tables.rows(matches, own, start)
        if own == [*types]:
            return found
        first = found.num_columns - sum(name is not None for name in own)
        returned = iter(found.columns[first:])
        fields = [
            write_as_texts([match.fields.get(name) for match in islice(matches, start, None)])
            if own_type is None
            else _as_type(next(returned), type, own_type)
            for name, type, own_type in zip(self.fields, types, own, strict=True)
        ]
        return pa.record_batch([*found.columns[:first], *fields], schema=self.schema(types))

    def table(self, parts: Iterable[tuple[MatchBatch, int]]) -> pa.Table:
        """Return matches of batches, of each from a place on, as one table."""
        types, kinds = FieldTypes(len(self.fields)), []
        held = [*parts]
        for matches, _ in held:
            kinds.append(self.kinds(matches))
            types.widen(kinds[-1])
        names = types.names
        batches = [self.rows(matches, found, names, start) for (matches, start), found in zip(held, kinds, strict=True)]
        return pa.Table.from_batches(batches, self.schema(names))


def _own_type(kinds: int, type: str) -> str | None:
    """Return the type in which the engine gives the values of a field; None if it cannot give what is to be written."""
    if type != "text":
        return type
    own = name_type(kinds)
    return "text" if own == "null" else own if is_exact_as(own, kinds) else None


def _as_type(column: pa.Array, type: str, own: str) -> pa.Array:
    return column if type == own else as_texts(column)
