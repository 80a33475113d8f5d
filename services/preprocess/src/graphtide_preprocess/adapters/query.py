"""One stream as a streaming query: source and operator, one shuffle in between, and a sink that takes nothing.

The operator commits to the log itself, so that the ordered records do not travel through Spark.

A stream that its statement divides has a key for each part, and one task of the operator for each, up to `MOST_TASKS`. Spark
gives a key to a task by its hash, so keys are chosen whose hashes give each task as many. They follow from the names and the
number of tasks alone: a checkpoint has both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions

from graphtide_preprocess.adapters import rows
from graphtide_preprocess.adapters.ordering_operator import OrderingOperator
from graphtide_preprocess.adapters.raw_source import RawSource, Reading
from graphtide_preprocess.domain.registered import ordered_names

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_telemetry.settings import TelemetrySettings
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from graphtide_preprocess.application.micro_batch import OrderingTask

MOST_TASKS: Final = 64
"""Tasks that order parts of a stream; with more parts, each task orders several."""

_CANDIDATES: Final = 64
"""For each key: that no task gets one of them has a chance below exp(-64)."""


def ordering_query(
    session: SparkSession, reading: Reading, task: OrderingTask, checkpoint: str, telemetry: TelemetrySettings | None = None
) -> DataStreamWriter:
    """Return the query, to be given a trigger and started; its progress has what it measured, as `rows.MEASURED`.

    Start it before another is made: the session has the number of its tasks.
    """
    names = ordered_names(task.stream, reading.division)
    tasks = min(len(names), MOST_TASKS)
    session.conf.set("spark.sql.shuffle.partitions", str(tasks))
    keys = spread_keys(session, task.stream, len(names), tasks)
    source = RawSource.of(replace(reading, keys=keys))
    session.dataSource.register(source)
    arrived = session.readStream.format(source.name()).load()
    by_key = {key: replace(task, stream=name) for key, name in zip(keys, names, strict=True)}
    operator = OrderingOperator(reading.connection, by_key, telemetry, reading.tables)
    committed = arrived.groupBy("stream").transformWithState(operator, rows.COMMITTED, "Append", "None")
    measured = committed.observe(rows.MEASURED, functions.collect_list("measured").alias("measured"))
    written = measured.writeStream.format("noop").queryName(f"{task.topics.prefix}.preprocess.{task.stream}")
    return written.outputMode("append").option("checkpointLocation", checkpoint)


def spread_keys(session: SparkSession, stream: StreamName, count: int, tasks: int) -> tuple[str, ...]:
    """Return so many keys, the first for task 0, the next for task 1, and so on; one alone is the stream.

    Complexity: O(count), with a small job of Spark.
    """
    if count == 1:
        return (stream,)
    key = functions.concat(functions.lit(f"{stream}/"), functions.col("id").cast("string"))
    candidates = session.range(0, _CANDIDATES * count, 1, 1)
    hashed = candidates.select(key.alias("key"), functions.pmod(functions.hash(key), functions.lit(tasks)).alias("task"))
    found: dict[int, list[str]] = {}
    for row in hashed.collect():
        found.setdefault(row.task, []).append(row.key)
    return tuple(found[number % tasks][number // tasks] for number in range(count))
