"""What an operator says of ingestion, by variables of the environment: `GRAPHTIDE_INGESTION_KAFKA__BOOTSTRAP` and so on."""

from __future__ import annotations

from typing import Annotated, Literal

from graphtide_core.time import TimeUnit
from graphtide_log.kafka.settings import KafkaSettings
from graphtide_log.profile import Profile
from graphtide_ordering.heartbeats import DEFAULT_HEARTBEAT_SECONDS
from graphtide_ordering.raw_decoding import MAX_AHEAD_SECONDS
from graphtide_serving.access.settings import AccessSettings
from graphtide_wire.topics import DEFAULT_PARTITIONS, DEFAULT_PREFIX
from pydantic import Field
from pydantic_settings import SettingsConfigDict

Clock = Literal["data", "live"]
"""What lets the time of a stream pass."""


class Settings(AccessSettings):
    """Settings of the service.

    Attributes:
        kafka: where the log is.
        prefix: of topics.
        host: address that HTTP listens on.
        port: of HTTP.
        roles: what this process does; the sequencers of a deployment run in one process at a time.
        elsewhere: streams that something else puts in order, such as the Spark job; no sequencer here runs for them.
        streams: streams that are made at the start.
        create_streams: whether edges for a stream that is not there make it.
        partitions: of a new stream's raw topic.
        retention_ms: how long a new stream's records are kept; not set is for ever.
        unit: what one tick of a time counts.
        lateness: how many ticks after a newer edge an edge may come; not set is one second, and 0 with the profile
            `low-latency`.
        idle_seconds: a producer that is silent for so long is not waited for.
        heartbeat_seconds: how long a stream may be quiet before matchers get a heartbeat; `inf` is for ever.
        most_pending: edges of a stream that may wait.
        clock: what lets the time of streams pass: `data` alone, or where all producers are idle also the `live` clock.
        clock_of: the same for single streams.
        max_ahead_seconds: how far ahead of the clock an edge may be; `inf` is any time.
        max_ahead_seconds_of: the same for single streams.
        profile: `low-latency` lets edges wait for 5 ms at most, `throughput` for 50 ms.
        raw_form: how edges over HTTP go to the raw topic: in `batches`, which need no decoding, or as `text`, which older
            sequencers read, too.
        most_body_bytes: of a request.
        answers_seconds: how long answers are kept for idempotency keys.
        most_answers: how many.
    """

    model_config = SettingsConfigDict(env_prefix="GRAPHTIDE_INGESTION_", env_nested_delimiter="__", frozen=True)

    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    prefix: str = DEFAULT_PREFIX
    host: str = "127.0.0.1"
    port: int = Field(default=8081, ge=0, le=65535)
    roles: frozenset[Literal["http", "sequencer"]] = frozenset({"http", "sequencer"})
    elsewhere: frozenset[str] = frozenset()
    streams: tuple[str, ...] = ()
    create_streams: bool = False
    partitions: int = Field(default=DEFAULT_PARTITIONS, ge=1)
    retention_ms: int | None = Field(default=None, ge=1)
    unit: TimeUnit = TimeUnit.MILLISECOND
    lateness: int | None = Field(default=None, ge=0, le=2**62)
    idle_seconds: float = Field(default=5.0, gt=0)
    heartbeat_seconds: float = Field(default=DEFAULT_HEARTBEAT_SECONDS, gt=0)
    most_pending: int = Field(default=1 << 20, ge=1)
    clock: Clock = "data"
    clock_of: dict[str, Clock] = Field(default_factory=dict)
    max_ahead_seconds: float = Field(default=MAX_AHEAD_SECONDS, ge=0)
    max_ahead_seconds_of: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    profile: Profile = Profile.THROUGHPUT
    raw_form: Literal["batches", "text"] = "batches"
    most_body_bytes: int = Field(default=256 * 1024 * 1024, ge=1)
    answers_seconds: float = Field(default=600.0, gt=0)
    most_answers: int = Field(default=10_000, ge=1)
