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
from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

Clock = Literal["data", "live"]
"""What lets the time of a stream pass."""


class Settings(AccessSettings):
    """Settings of the service.

    Attributes:
        kafka: connection to Kafka.
        prefix: prefix of topic names.
        host: address to listen on.
        port: port to listen on.
        roles: parts of the service that this process runs; without `replicated` one process of a deployment runs sequencers.
        replicated: several processes run sequencers; they share the streams, and take over those of one that is lost.
        elsewhere: streams that another program orders, such as the Spark job; this process runs no sequencer for them.
        streams: streams to create at the start.
        create_streams: create an unknown stream when edges for it arrive.
        partitions: partitions of a new stream's raw topic.
        retention_ms: retention of a new stream's topics, in milliseconds; unset keeps records forever.
        unit: time unit of ticks.
        lateness: ticks by which an edge may be older than the newest one; unset is one second, and 0 with the profile
            `low-latency`.
        idle_seconds: silence after which a producer no longer holds back the watermark.
        heartbeat_seconds: silence of a stream after which matchers get a watermark heartbeat; `inf` sends none.
        most_pending: edges of a stream that may wait for the watermark.
        clock: clock of streams: `data`, or `live`, which also advances by the wall clock while all producers are idle.
        clock_of: `clock` of single streams.
        max_ahead_seconds: most seconds that an edge may be ahead of the wall clock; `inf` accepts any time.
        max_ahead_seconds_of: `max_ahead_seconds` of single streams.
        schema_registry: URL of the registry that keeps the schemas of Avro messages, such as `https://user:password@host`. It
            is asked for messages of streams whose statement states no schema.
        tables: folder of the reference tables that statements join; a statement names a file by its path in it. Unset has none.
        profile: `low-latency` batches edges for at most 5 ms, `throughput` for 50 ms.
        raw_form: form of edges in the raw topic: `batches`, already decoded, or `text`, which older
            sequencers read too.
        most_body_bytes: bytes of a request's body.
        answers_seconds: time for which answers are kept by idempotency key.
        most_answers: answers that are kept by idempotency key.
    """

    model_config = SettingsConfigDict(env_prefix="GRAPHTIDE_INGESTION_", env_nested_delimiter="__", frozen=True)

    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    prefix: str = DEFAULT_PREFIX
    host: str = "127.0.0.1"
    port: int = Field(default=8081, ge=0, le=65535)
    roles: frozenset[Literal["http", "sequencer"]] = frozenset({"http", "sequencer"})
    replicated: bool = False
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
    schema_registry: SecretStr | None = None
    tables: str | None = None
    profile: Profile = Profile.THROUGHPUT
    raw_form: Literal["batches", "text"] = "batches"
    most_body_bytes: int = Field(default=256 * 1024 * 1024, ge=1)
    answers_seconds: float = Field(default=600.0, gt=0)
    most_answers: int = Field(default=10_000, ge=1)
