"""The stateful operator: handles every micro-batch, its state in Spark's state store.

Spark gives a key's rows to one task. Its process keeps a copy of the state in memory from batch to batch (`StreamOrder`). If
another process gets the next batch, that one reads the state store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from graphtide_preprocess.adapters import rows
from graphtide_preprocess.application.micro_batch import Arrived, StreamOrder, Task
from graphtide_preprocess.domain.registered import statement_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle, TimerValues, ValueState

_ORDERS: dict[Task, StreamOrder] = {}
"""Copies of states, by what is done; a copy that is not the last is not used."""


class _Blocks:
    """A `KeptBlocks` on a map of the state store."""

    def __init__(self, state: MapState) -> None:
        self._state = state

    def get(self, number: int) -> bytes:
        found = self._state.getValue((number,))
        if found is None:
            message = f"the state has no block {number}"
            raise KeyError(message)
        return bytes(found[0])

    def put(self, number: int, block: bytes) -> None:
        self._state.updateValue((number,), (block,))

    def remove(self, number: int) -> None:
        self._state.removeKey((number,))


class _Kept:
    """A `Kept` on the state store."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self.waiting = _Blocks(handle.getMapState("waiting", "number long", "block binary"))
        self.sent = _Blocks(handle.getMapState("sent", "number long", "block binary"))
        self._head = handle.getValueState("head", "text binary")
        self._published = handle.getValueState("published", "text binary")

    def head(self) -> bytes | None:
        return _value(self._head)

    def keep_head(self, head: bytes) -> None:
        self._head.update((head,))

    def published(self) -> bytes | None:
        return _value(self._published)

    def keep_published(self, record: bytes) -> None:
        self._published.update((record,))


class OrderingOperator(StatefulProcessor):
    """Orders one stream."""

    def __init__(self, task: Task) -> None:
        """Keep what to do; this travels to executors."""
        self._task = task

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._kept = _Kept(handle)

    def handleInputRows(self, key: object, rows_of_key: Iterable[Row], timer_values: TimerValues) -> Iterator[Row]:  # noqa: ARG002 - Spark's name
        """Take the micro-batch of a batch."""
        order = _ORDERS.setdefault(self._task, StreamOrder(self._task))
        given = order.micro_batch(self._kept, _read_arrived(rows_of_key))
        if given is not None:
            for place, text in rows.write_rows(*given):
                yield Row(place=place, text=text)

    def close(self) -> None:
        """Do nothing: the state is Spark's."""


def _read_arrived(given: Iterable[Row]) -> Arrived:
    instant = rows.Instant(0, None)
    blocks, patterns = [], []
    for each in given:
        row = rows.ReadRow(each.kind, each.place, bytes(each.head), None if each.body is None else bytes(each.body))
        match row.kind:
            case rows.BLOCK:
                blocks.append(rows.block_of(row))
            case rows.PATTERN:
                patterns.append((row.place, row.head.decode(errors="replace"), row.body))
            case _:
                instant = rows.instant_of(row)
    changes = [(name, value) for _, name, value in sorted(patterns, key=lambda change: change[0])]
    return Arrived(instant.at, instant.as_of, blocks, changes, statement_of(instant.statement))


def _value(state: ValueState) -> bytes | None:
    found = state.get()
    return None if found is None else bytes(found[0])
