"""A stream in parts: which records each part gets, and what else moves its time.

A part gets the insertions of its keys and every deletion. Where another part gets a record, this one gets the time alone: here
a deletion of an id that no record has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId
from graphtide_core.part_key import part_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.event import Event
    from graphtide_core.part_key import PartKey

RecordT = TypeVar("RecordT", "Edge", "Event")


def read_key(record: Edge | Event, field: str) -> Value:
    """Return the key of a record."""
    if isinstance(record, Edge):
        own: dict[str, Value] = {"src": record.source, "dst": record.target, "label": record.label, "id": record.id}
    else:
        own = {"type": record.type, "label": record.type, "id": record.id}
    return own[field] if field in own else record.attributes.get(field)


def parts_of(record: Edge | Event, key: PartKey, parts: int) -> frozenset[int]:
    """Return the parts that get a record."""
    if record.operation is Operation.DELETE:
        return frozenset(range(parts))
    fields = ("src", "dst") if key.field is None else (key.field,)
    return frozenset(part_of(read_key(record, field), parts) for field in fields)


def divide(records: Sequence[RecordT], key: PartKey, parts: int) -> list[list[RecordT]]:
    """Return, for each record, what each part gets; records that repeat an id under another key are left out."""
    return [[each if part in own else _tick(each) for part in range(parts)] for each, own in _place(records, key, parts)]


def one_key_an_id(records: Sequence[RecordT], key: PartKey, parts: int) -> list[RecordT]:
    """Return the records without those that repeat an id under another key."""
    return [each for each, _ in _place(records, key, parts)]


def _place(records: Sequence[RecordT], key: PartKey, parts: int) -> Iterator[tuple[RecordT, frozenset[int]]]:
    known: dict[EdgeId, frozenset[int]] = {}
    for record in records:
        own = parts_of(record, key, parts)
        if record.operation is Operation.DELETE or record.made or known.setdefault(record.id, own) == own:
            yield record, own


def _tick(record: RecordT) -> RecordT:
    return replace(record, id=EdgeId("nothing has this id"), operation=Operation.DELETE, attributes={}, made=False)
