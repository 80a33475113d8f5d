"""What an operator says of the job, by variables of the environment: `GRAPHTIDE_PREPROCESS_KAFKA__BOOTSTRAP` and so on."""

from __future__ import annotations

from typing import Annotated

from graphtide_core.time import TimeUnit
from graphtide_ordering.heartbeats import DEFAULT_HEARTBEAT_SECONDS
from graphtide_ordering.raw_decoding import MAX_AHEAD_SECONDS
from graphtide_serving.health_server import HealthSettings
from graphtide_serving.service import ServiceSettings
from pydantic import Field
from pydantic_settings import SettingsConfigDict


class Settings(ServiceSettings):
    """Settings of the job.

    Attributes:
        streams: streams to order; each runs as its own streaming query.
        topic_of: Kafka topics that streams are read from in place of their raw topics, by stream; the stream's statement says
            how their records are read.
        checkpoint: folder of the checkpoints, on any file system of Spark (`file:`, `s3a:`, `hdfs:`).
        master: Spark master; unset takes that of `spark-submit`.
        spark: further Spark settings.
        unit: time unit of ticks.
        lateness: ticks by which an edge may be older than the newest one; unset is one second.
        idle_seconds: silence after which a producer no longer holds back the watermark.
        heartbeat_seconds: silence of a stream after which matchers get a watermark heartbeat; `inf` sends none.
        most_pending: edges of a stream that may wait for the watermark.
        max_ahead_seconds: most seconds that an edge may be ahead of the wall clock; `inf` accepts any time.
        max_ahead_seconds_of: `max_ahead_seconds` of single streams.
        remember: fewest ticks for which ids are kept to find duplicates; longer windows of patterns extend it.
        projection: write only the labels and attributes that patterns use.
        statistics: count streams here; then the statistics service must not count them.
        longest_window_seconds: longest window that is counted, in the stream's time.
        publish_seconds: seconds between two snapshots of a stream.
        trigger_seconds: seconds between the starts of two batches.
        most_records: most raw records of a batch.
        most_bytes: most bytes of raw records in a batch, estimated from the first record of each partition.
        tables: folder of the reference tables that statements join, which every machine sees; unset has none.
        tasks: Spark tasks that read and decode a stream's batch in parallel; with 0 the task that orders it does. A stream in
            parts has as many as parts.
        retention_ms: retention of the topics that are made for parts of a stream, in milliseconds; unset keeps records forever.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHTIDE_PREPROCESS_", env_nested_delimiter="__", nested_model_default_partial_update=True
    )

    health: HealthSettings = HealthSettings(port=8086)
    streams: tuple[str, ...] = ()
    topic_of: dict[str, str] = Field(default_factory=dict)
    checkpoint: str = ""
    master: str | None = None
    spark: dict[str, str] = Field(default_factory=dict)
    unit: TimeUnit = TimeUnit.MILLISECOND
    lateness: int | None = Field(default=None, ge=0, le=2**62)
    idle_seconds: float = Field(default=5.0, gt=0)
    heartbeat_seconds: float = Field(default=DEFAULT_HEARTBEAT_SECONDS, gt=0)
    most_pending: int = Field(default=1 << 20, ge=1)
    max_ahead_seconds: float = Field(default=MAX_AHEAD_SECONDS, ge=0)
    max_ahead_seconds_of: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    remember: int = Field(default=0, ge=0)
    projection: bool = False
    statistics: bool = True
    longest_window_seconds: int = Field(default=600, gt=0)
    publish_seconds: float = Field(default=5.0, ge=0)
    trigger_seconds: float = Field(default=0.2, ge=0)
    most_records: int = Field(default=400_000, ge=1)
    most_bytes: int = Field(default=64 * 1024 * 1024, ge=1)
    tables: str | None = None
    tasks: int = Field(default=0, ge=0)
    retention_ms: int | None = Field(default=None, ge=1)
