"""Which records are duplicates, decided for all of history.

The rule is that of the stream (`docs/reference/semantics.md`): an insertion is dropped if one of its id was let through less
than a window before and not deleted since. Only ids that are inserted more than once can be concerned, which are few; of them
alone every record is looked at, in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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
