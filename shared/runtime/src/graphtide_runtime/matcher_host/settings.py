"""What an operator says of a matcher service, and the host that follows from it; each service adds its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_wire.topics import DEFAULT_PREFIX, Topics
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from graphtide_runtime.checkpoints.redis import RedisCheckpoints
from graphtide_runtime.clock import SystemClock
from graphtide_runtime.kafka import KafkaLog
from graphtide_runtime.kafka.settings import KafkaSettings
from graphtide_runtime.matcher_host.host import HostSettings, MatcherHost
from graphtide_runtime.matcher_host.wire_records import WireRecords
from graphtide_runtime.profile import Profile

if TYPE_CHECKING:
    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.log import Log


class MatcherSettings(BaseSettings):
    """Settings of one shard of a matcher service.

    Attributes:
        kafka: where the log is.
        redis: URL of the Redis that keeps checkpoints; it may hold a password.
        prefix: what names of topics, groups and keys begin with.
        shard: 0-based; no two processes at once have one.
        profile: `low-latency` or `throughput`, as for ingestion.
        linger_seconds: how long a round waits for records.
        most_records: ordered records that a round takes at most.
        checkpoint_seconds: time between two checkpoints of a stream.
        figures_seconds: time between two reports of counts.
    """

    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    redis: SecretStr = SecretStr("redis://localhost:6379/0")
    prefix: str = DEFAULT_PREFIX
    shard: int = Field(default=0, ge=0)
    profile: Profile = Profile.THROUGHPUT
    linger_seconds: float = Field(default=0.2, ge=0, le=10)
    most_records: int = Field(default=16, ge=1, le=1000)
    checkpoint_seconds: float = Field(default=5.0, ge=0)
    figures_seconds: float = Field(default=2.0, ge=0)


def host(
    service: str, settings: MatcherSettings, log: Log | None = None, checkpoints: CheckpointStore | None = None
) -> MatcherHost:
    """Return the host of a shard, on the log and the checkpoints that the settings name unless others are given."""
    clock = SystemClock()
    working = HostSettings(
        linger_seconds=settings.linger_seconds,
        most_records=settings.most_records,
        checkpoint_seconds=settings.checkpoint_seconds,
        figures_seconds=settings.figures_seconds,
    )
    return MatcherHost(
        log or KafkaLog(settings.kafka.connection(f"graphtide-{service}-{settings.shard}", settings.profile)),
        checkpoints or RedisCheckpoints(settings.redis.get_secret_value(), prefix=settings.prefix),
        WireRecords(Topics(settings.prefix), service, settings.shard, clock),
        clock,
        working,
    )
