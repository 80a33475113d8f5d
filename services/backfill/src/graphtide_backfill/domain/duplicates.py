"""Which records are duplicates, decided for all of history.

The rule is that of the stream (`docs/reference/semantics.md`). An insertion is dropped if one of its id was let through less
than a window before and not deleted since. Only ids that are inserted more than once can be concerned, which are few; of them
alone every record is looked at, in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_native.records import EdgeBatch
    from numpy.typing import NDArray

ROWS_OF_A_RECORD: Final = 128
"""Rows that a record gives at most, by a statement: 64 clauses, and a deletion for each."""


def arrivals_of(batch: EdgeBatch) -> NDArray[np.int64]:
    """Return numbers of the rows of a batch that ascend in the order of arrival: rows of one record have one ordinal."""
    ordinals = np.array(batch.ordinals, np.int64)
    places = np.arange(len(ordinals))
    begins = np.r_[True, ordinals[1:] != ordinals[:-1]][: len(ordinals)]
    return ordinals * ROWS_OF_A_RECORD + places - np.maximum.accumulate(np.where(begins, places, 0))


class Occurrence(NamedTuple):
    """A record of an id: its place in the order of arrival, its time, and whether it deletes."""

    id: str
    ts: int
    arrival: int
    deletes: bool


def drop(occurrences: Iterable[Occurrence], window: int) -> Iterator[int]:
    """Yield the arrivals of the duplicates among records in the order (ts, arrival); all records of an id are among them.

    Complexity: O(1) a record, memory O(ids).
    """
    let_through: dict[str, int] = {}
    for each in occurrences:
        if each.deletes:
            let_through.pop(each.id, None)
            continue
        before = let_through.get(each.id)
        if before is not None and before > each.ts - window:
            yield each.arrival
        else:
            let_through[each.id] = each.ts
