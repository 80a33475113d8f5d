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
        streams: that are put in order; each is a query of its own.
        checkpoint: folder of the checkpoints, of any file system that Spark knows (`file:`, `s3a:`, `hdfs:`).
        master: Spark's master; unset takes that of `spark-submit`.
        spark: more settings of Spark.
        unit: what one tick of a time counts.
        lateness: how many ticks after a newer edge an edge may come; not set is one second.
        idle_seconds: a producer that is silent for so long is not waited for.
        heartbeat_seconds: how long a stream may be quiet before matchers get a heartbeat; `inf` is for ever.
        most_pending: edges of a stream that may wait.
        max_ahead_seconds: how far ahead of the clock an edge may be; `inf` is any time.
        max_ahead_seconds_of: the same for single streams.
        remember: ids are remembered for so many ticks at least; patterns with longer windows lengthen it.
        projection: only labels and attributes that patterns use go out.
        statistics: whether streams are counted; then the statistics service must not count them.
        longest_window_seconds: bound on the window that is counted, in the stream's time.
        publish_seconds: time between two snapshots of a stream.
        trigger_seconds: time between the starts of two batches.
        most_records: raw records of a batch.
        most_bytes: of raw records in a batch, by the size of the first of each partition.
        tasks: that read and decode a stream's batch at once.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHTIDE_PREPROCESS_", env_nested_delimiter="__", nested_model_default_partial_update=True
    )

    health: HealthSettings = HealthSettings(port=8086)
    streams: tuple[str, ...] = ()
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
    tasks: int = Field(default=2, ge=1)
