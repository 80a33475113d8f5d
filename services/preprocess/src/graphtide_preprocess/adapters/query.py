"""One stream as a streaming query: source and operator, one shuffle in between, and a sink that takes nothing.

The operator commits to the log itself, so that the ordered records do not travel through Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions

from graphtide_preprocess.adapters import rows
from graphtide_preprocess.adapters.ordering_operator import OrderingOperator
from graphtide_preprocess.adapters.raw_source import RawSource, Reading

if TYPE_CHECKING:
    from graphtide_telemetry.settings import TelemetrySettings
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from graphtide_preprocess.application.micro_batch import Task


def ordering_query(
    session: SparkSession, reading: Reading, task: Task, checkpoint: str, telemetry: TelemetrySettings | None = None
) -> DataStreamWriter:
    """Return the query, to be given a trigger and started; its progress has what it measured, as `rows.MEASURED`."""
    source = RawSource.of(reading)
    session.dataSource.register(source)
    arrived = session.readStream.format(source.name()).load()
    operator = OrderingOperator(reading.connection, task, telemetry)
    committed = arrived.groupBy("stream").transformWithState(operator, rows.COMMITTED, "Append", "None")
    measured = committed.observe(rows.MEASURED, functions.max("measured").alias("measured"))
    written = measured.writeStream.format("noop").queryName(f"{task.topics.prefix}.preprocess.{task.stream}")
    return written.outputMode("append").option("checkpointLocation", checkpoint)
