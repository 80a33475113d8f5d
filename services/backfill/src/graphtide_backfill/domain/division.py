"""History divided by a key: which rows of a batch each part needs, and which patterns and matches are its own.

A pattern that is local to a key (`graphtide_query.locality`) finds in the parts together what it finds in the whole. So history
is cut by key as it is by time, and no window is read again. A part gets the insertions of its keys, and every deletion, since
that has an id alone. By vertex an insertion goes to the parts of both its ends, and the part that owns a match's vertex reports
the match.

Times do not need the records of other parts. What time alone brings about is detected at its bound, in whichever record or
slice time passes it. A deletion is in every part, so it comes after the same bounds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from itertools import compress
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from graphtide_core.errors import InvalidPatternError
from graphtide_core.part_key import PartKey, check_parts, part_of
from graphtide_core.stream_partition import check_windows
from graphtide_query.families import family_of

from graphtide_backfill.domain.key_columns import parts_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.stream_windows import StreamWindows
    from graphtide_query.locality import Locality
    from numpy.typing import NDArray

_ENDS: Final = ("src", "dst")
_FIELDS: Final = (*_ENDS, "label", "src_label", "dst_label")
_NO_KEYS: Final = ("id", "ts", "op")
"""Fields that a deletion or a tie needs in one part."""


class SliceKey(NamedTuple):
    """What history is to be divided by: a key, and how many parts; None is a few for each core."""

    key: PartKey
    parts: int | None = None


class PartRows(NamedTuple):
    """Rows of a batch that a part needs, ascending, and which of them an earlier part has, too."""

    part: int
    rows: NDArray[np.int64]
    are_copies: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Division:
    """A key, and how many parts there are."""

    key: PartKey
    parts: int

    def __post_init__(self) -> None:
        """Refuse a key that cannot divide records, and a number of parts that there cannot be.

        Raises:
            InvalidPatternError: it is so.
        """
        check_parts(self.parts)
        if self.key.field in _NO_KEYS:
            message = f"history is not divided by {self.key}"
            raise InvalidPatternError(message, hint="divide it by src, dst, VERTEX or an attribute")

    def __str__(self) -> str:
        """Return it as people read it."""
        return f"{self.parts} parts by {self.key}"

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attribute that the key is; none if it is a field of every record."""
        return () if self.key.field is None or self.key.field in _FIELDS else (self.key.field,)

    def used(self, patterns: Sequence[AnyPattern]) -> tuple[int, ...]:
        """Return the parts that match a pattern: all, unless each pattern has a constant key."""
        return tuple(part for part in range(self.parts) if self.matched(patterns, part))

    def matched(self, patterns: Sequence[AnyPattern], part: int) -> tuple[AnyPattern, ...]:
        """Return the patterns that a part matches: one with a constant key is matched by the part of the constant alone."""
        localities = (family_of(each).locality(each, self.key) for each in patterns)
        return tuple(compress(patterns, (self._is_matched(each, part) for each in localities)))

    def _is_matched(self, locality: Locality, part: int) -> bool:
        return locality.constant is None or part_of(locality.constant[0], self.parts) == part

    def rows(self, batch: pa.RecordBatch, used: Sequence[int]) -> Iterator[PartRows]:
        """Yield the rows of each part, given a batch as `EdgeBatch.to_arrow` writes it; a part without rows is left out.

        Complexity: O(bytes of the keys), and a comparison for each row and part.
        """
        fields = _ENDS if self.key.field is None else (self.key.field,)
        of_fields = [parts_of_rows(batch, field, self.parts) for field in fields]
        deletes = _deletions(batch)
        seen = np.zeros(batch.num_rows, np.bool_)
        for part in used:
            own = reduce(np.logical_or, (each == part for each in of_fields), deletes)
            rows = np.flatnonzero(own)
            if len(rows):
                yield PartRows(part, rows, seen[rows])
            seen |= own

    def loads(self, batch: pa.RecordBatch) -> NDArray[np.int64]:
        """Return how many rows of a batch each part needs. Complexity: as `rows`."""
        found = np.zeros(self.parts, np.int64)
        for each in self.rows(batch, range(self.parts)):
            found[each.part] = len(each.rows)
        return found


class Owners:
    """Knows which matches a part reports: by a vertex key those whose vertex it owns, else all."""

    def __init__(self, division: Division | None, part: int) -> None:
        """Take the part of a division; None is the whole."""
        self._division = division
        self._part = part
        self._localities: dict[str, Locality] = {}

    def report(self, pattern: AnyPattern, record: bytes) -> bool:
        """Return whether the part reports a match record of a pattern. Complexity: O(length of the record)."""
        if self._division is None or not self._division.key.is_vertex:
            return True
        family, locality = family_of(pattern), self._localities.get(pattern.name)
        if locality is None:
            locality = self._localities[pattern.name] = family.locality(pattern, self._division.key)
        if not locality.owners:
            return True
        return part_of(family.owner(pattern, locality, json.loads(record)), self._division.parts) == self._part


def refuse_not_local(patterns: Sequence[AnyPattern], key: PartKey, windows: StreamWindows) -> None:
    """Do nothing if the parts of history can be matched by themselves.

    Raises:
        InvalidPatternError: a pattern is not local to the key, or a feature or EMIT counts records of several parts.
    """
    for pattern in patterns:
        locality = family_of(pattern).locality(pattern, key)
        if not locality.is_local:
            message = f"pattern {pattern.name!r} is not local by {key}: {locality.obstacle}"
            raise InvalidPatternError(message, hint=locality.remedy)
    check_windows(windows, key)


def _deletions(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    if "op" not in batch.schema.names:
        return np.zeros(batch.num_rows, np.bool_)
    return np.asarray(pc.equal(batch.column("op").cast(pa.utf8()), "delete").fill_null(False))
