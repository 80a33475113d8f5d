"""The stateful operator: handles every micro-batch, and commits it to the log; its state is in Spark's state store.

A micro-batch is committed before its state is. If the process ends between the two, Spark takes the micro-batch again from the
state before it, and the log has it already (`application.committing`).
Spark gives the rows of a key, which are those of a stream or a part of one, to one task. Its process keeps a copy of the state
in memory from batch to batch (`StreamOrder`). If another process gets the next batch, that one reads the state store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from graphtide_core.ports.log import TopicPartition
from graphtide_telemetry.setup import set_up
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from graphtide_preprocess.adapters import rows
from graphtide_preprocess.adapters.log_ranges import log_of, records_between
from graphtide_preprocess.application.committing import MicroBatchWriter
from graphtide_preprocess.application.micro_batch import Arrived, OrderingTask, StreamOrder
from graphtide_preprocess.domain.registered import statement_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Record
    from graphtide_log.kafka import KafkaConnection
    from graphtide_telemetry.settings import TelemetrySettings
    from graphtide_wire.topics import Topics
    from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle, TimerValues, ValueState

_ORDERS: dict[OrderingTask, StreamOrder] = {}
"""Copies of states, by what is done; a copy that is not the last is not used."""

_WRITERS: dict[tuple[KafkaConnection, Topics, StreamName], MicroBatchWriter] = {}
"""Writers of the process: opening one takes longer than a small batch."""


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
    """Orders one stream, or each part of it."""

    def __init__(
        self,
        connection: KafkaConnection,
        tasks: Mapping[str, OrderingTask],
        telemetry: TelemetrySettings | None = None,
        tables: str | None = None,
    ) -> None:
        """Keep what to do for each key, where log and tables are, and how traces are recorded; this travels to executors."""
        self._connection, self._tasks, self._telemetry, self._tables = connection, tasks, telemetry, tables

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        if self._telemetry is not None:
            set_up("graphtide-preprocess", self._telemetry)
        self._kept = _Kept(handle)

    def handleInputRows(self, key: tuple[str], rows_of_key: Iterable[Row], timer_values: TimerValues) -> Iterator[Row]:  # noqa: ARG002 - Spark's name
        """Take the micro-batch of a batch, and commit it."""
        task = self._tasks[key[0]]
        order = _ORDERS.get(task)
        if order is None:
            order = _ORDERS[task] = StreamOrder(task)
        given = order.micro_batch(self._kept, self._read_arrived(task, rows_of_key))
        if given is not None:
            with order.measured.stage("commit"):
                self._writer(task).commit(*given)
        yield Row(measured=msgspec.json.encode(order.measured).decode())

    def close(self) -> None:
        """Do nothing: the state is Spark's."""

    def _read_arrived(self, task: OrderingTask, given: Iterable[Row]) -> Arrived:
        source = task.source
        instant = rows.Instant(0, None)
        blocks, patterns = [], []
        records: dict[int, Iterable[Record]] = {}
        for each in given:
            row = rows.ReadRow(
                each.stream, each.kind, each.place, bytes(each.head), None if each.body is None else bytes(each.body)
            )
            match row.kind:
                case rows.BLOCK:
                    blocks.append(rows.block_of(row))
                case rows.PATTERN:
                    patterns.append((row.place, row.head.decode(errors="replace"), row.body))
                case rows.RANGE:
                    place = TopicPartition(source.name, row.place)
                    found = records_between(self._connection, place, *rows.range_of(row))
                    records[row.place] = source.records(found)
                case _:
                    instant = rows.instant_of(row)
        changes = [(name, value) for _, name, value in sorted(patterns, key=lambda change: change[0])]
        return Arrived(instant.at, instant.as_of, blocks, changes, statement_of(instant.statement, self._tables), records)

    def _writer(self, task: OrderingTask) -> MicroBatchWriter:
        key = self._connection, task.topics, task.stream
        found = _WRITERS.get(key)
        if found is None:
            found = _WRITERS[key] = MicroBatchWriter(log_of(self._connection), task.topics, task.stream, task.source.name)
        return found


def _value(state: ValueState) -> bytes | None:
    found = state.get()
    return None if found is None else bytes(found[0])
