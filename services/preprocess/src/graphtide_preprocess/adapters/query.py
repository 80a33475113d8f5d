"""One stream as a streaming query: source, operator, sink, one shuffle in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_preprocess.adapters import rows
from graphtide_preprocess.adapters.ordered_sink import OrderedSink, Writing
from graphtide_preprocess.adapters.ordering_operator import OrderingOperator
from graphtide_preprocess.adapters.raw_source import RawSource, Reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from graphtide_preprocess.application.micro_batch import Task


def ordering_query(session: SparkSession, reading: Reading, task: Task, checkpoint: str) -> DataStreamWriter:
    """Return the query, to be given a trigger and started."""
    make_active(session)
    source = RawSource.of(reading)
    sink = OrderedSink.of(Writing(reading.connection, reading.topics, reading.stream))
    session.dataSource.register(source)
    session.dataSource.register(sink)
    blocks = session.readStream.format(source.name()).load()
    micro_batches = blocks.groupBy("stream").transformWithState(OrderingOperator(task), rows.WRITTEN, "Append", "None")
    named = micro_batches.writeStream.format(sink.name()).queryName(f"{task.topics.prefix}.preprocess.{task.stream}")
    return named.outputMode("append").option("checkpointLocation", checkpoint)


def make_active(session: SparkSession) -> None:
    """Make the session that of this thread.

    Spark looks for sinks in the active session alone, and threads start without one; `createDataFrame` sets it.
    """
    session.createDataFrame([], "none int")
