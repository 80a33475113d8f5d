"""The one place where the job is put together."""

from __future__ import annotations

import logging
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError
from graphtide_core.ids import StreamName
from graphtide_core.time import Duration
from graphtide_log.kafka import KafkaLog
from graphtide_log.kafka.errors import LOGGER
from graphtide_ordering.lateness import lateness_of
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.raw_decoding import Ahead
from graphtide_wire.topics import Topics, check_stream

from graphtide_preprocess.adapters.metrics import BatchMetrics
from graphtide_preprocess.adapters.query import ordering_query
from graphtide_preprocess.adapters.raw_source import Reading
from graphtide_preprocess.adapters.session import session
from graphtide_preprocess.application.divided import make_parts, read_division
from graphtide_preprocess.application.micro_batch import Counting, OrderingTask
from graphtide_preprocess.application.offsets import Pace
from graphtide_preprocess.application.status import read_status
from graphtide_preprocess.domain.registered import ordered_names
from graphtide_preprocess.entrypoints.stream_query import StreamQuery
from graphtide_preprocess.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from graphtide_preprocess.application.status import StreamStatus

NAME: Final = "graphtide-preprocess"
"""What Kafka, Spark and telemetry call the job."""


def bootstrap(settings: Settings) -> tuple[SparkSession, list[StreamQuery]]:
    """Return the session and a query for each stream.

    Raises:
        InvalidQueryError: a stream has an invalid name.
        FatalError: no streams or no checkpoint are set.
    """
    if not settings.streams or not settings.checkpoint:
        message = "set GRAPHTIDE_PREPROCESS_STREAMS and GRAPHTIDE_PREPROCESS_CHECKPOINT"
        raise FatalError(message)
    for name in settings.streams:
        check_stream(name)
    spark = session(settings.master, settings.spark)
    spark.streams.addListener(BatchMetrics())
    folder = Path(tempfile.mkdtemp(prefix=f"{NAME}-"))
    return spark, [stream_query(spark, settings, StreamName(name), folder / name) for name in settings.streams]


def read_statuses(streams: Sequence[str]) -> Iterator[StreamStatus]:
    """Yield how far the job is with streams and their parts, by default those of its settings, which the environment has.

    Raises:
        InvalidQueryError: a stream has an invalid name.
        FatalError: no stream is named, or a topic has no mark of this job but another.
        TransientError: the log does not answer.
    """
    settings = Settings()
    asked = streams or settings.streams
    if not asked:
        message = "no stream is named, and GRAPHTIDE_PREPROCESS_STREAMS is not set"
        raise FatalError(message)
    # A log that cannot be reached is an error of its own, with one message.
    LOGGER.setLevel(logging.CRITICAL)
    log, topics = KafkaLog(settings.kafka.connection(f"{NAME}-status")), Topics(settings.prefix)
    for name in asked:
        check_stream(name)
        stream = StreamName(name)
        for ordered in ordered_names(stream, read_division(log, topics, stream)):
            yield read_status(log, topics, ordered, settings.topic_of.get(name))


def stream_query(spark: SparkSession, settings: Settings, stream: StreamName, stop_file: Path) -> StreamQuery:
    """Return the query of one stream, which has its checkpoint in a folder of its own.

    Whenever it starts, the last statement says how the stream is divided. Each number of parts has a checkpoint.
    """
    topics = Topics(settings.prefix)
    pace = Pace(settings.most_records, settings.most_bytes, int(settings.idle_seconds * 1000))
    connection = settings.kafka.connection(NAME)
    ahead = Ahead(settings.unit, settings.max_ahead_seconds_of.get(stream, settings.max_ahead_seconds))
    most_ticks = Duration(settings.longest_window_seconds, "s").ticks_at_least(settings.unit)
    task = OrderingTask(
        topics,
        stream,
        unit=settings.unit,
        ordering=Ordering(lateness_of(settings.lateness, settings.unit), settings.idle_seconds, settings.most_pending, ahead),
        heartbeat_seconds=settings.heartbeat_seconds,
        remember=settings.remember,
        projects=settings.projection,
        counting=Counting(most_ticks, settings.publish_seconds) if settings.statistics else None,
        foreign=settings.topic_of.get(stream),
    )
    reading = Reading(
        connection, topics, stream, task.source, pace, settings.tasks,
        stop_file=str(stop_file), ahead=ahead, tables=settings.tables,
    )  # fmt: skip
    checkpoint = f"{settings.checkpoint.rstrip('/')}/{stream}"
    interval = f"{settings.trigger_seconds} seconds"
    log = KafkaLog(connection)

    def prepared() -> DataStreamWriter:
        division = read_division(log, topics, stream)
        folder = checkpoint
        if division is not None:
            make_parts(log, topics, division, settings.retention_ms)
            # No name of a stream has a dot.
            folder = f"{checkpoint}.p{division.parts}"
        query = ordering_query(spark, replace(reading, division=division), task, folder, settings.telemetry)
        return query.trigger(processingTime=interval)

    return StreamQuery(f"{settings.prefix}.preprocess.{stream}", prepared, stop_file)
