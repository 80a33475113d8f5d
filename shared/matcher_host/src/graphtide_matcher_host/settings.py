"""Settings of a matcher service, and the host that follows from them; each service adds its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_log.checkpoints.redis import RedisCheckpoints, RedisLogin
from graphtide_log.deployment_topics import topics_on
from graphtide_log.profile import Profile
from graphtide_serving.clock import SystemClock
from graphtide_serving.former_names import FormerNames
from graphtide_serving.service import ServiceSettings
from pydantic import Field, SecretStr

from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.records import HostRecords

if TYPE_CHECKING:
    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.log import Log
    from pydantic_settings import BaseSettings, PydanticBaseSettingsSource


class MatcherSettings(ServiceSettings):
    """Settings of one shard of a matcher service.

    Attributes:
        redis: URL of the Redis for checkpoints: `redis://`, `redis+cluster://` or `redis+sentinel://`, or with TLS
            `rediss…`; it may contain a user name and a password.
        redis_username: ACL user name; unset is the default user.
        redis_password: password of the user; empty does not log in.
        redis_authorities: PEM file of trusted certificate authorities, for `rediss://`; unset uses the system's.
        redis_certificate: PEM file of the client's certificate.
        redis_key: PEM file of the client's key.
        redis_sentinel_username: ACL user name for sentinels, for `redis+sentinel://`; unset is the default user.
        redis_sentinel_password: password of the sentinel user; empty does not log in.
        shard: number of the shard, from 0; two processes must not run the same shard.
        profile: `low-latency` or `throughput`, as for ingestion.
        linger_seconds: longest wait for records of one round.
        most_records: most ordered records of one round.
        checkpoint_seconds: seconds between two checkpoints of a stream.
        counts_seconds: seconds between two reports of counts; formerly `…FIGURES_SECONDS`.
    """

    redis: SecretStr = SecretStr("redis://localhost:6379/0")
    redis_username: str | None = None
    redis_password: SecretStr = SecretStr("")
    redis_authorities: str | None = None
    redis_certificate: str | None = None
    redis_key: str | None = None
    redis_sentinel_username: str | None = None
    redis_sentinel_password: SecretStr = SecretStr("")
    shard: int = Field(default=0, ge=0)
    profile: Profile = Profile.THROUGHPUT
    linger_seconds: float = Field(default=0.2, ge=0, le=10)
    most_records: int = Field(default=16, ge=1, le=1000)
    checkpoint_seconds: float = Field(default=5.0, ge=0)
    counts_seconds: float = Field(default=2.0, ge=0)

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource, **others: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the former name of `counts_seconds` too."""
        return (*sources, *others.values(), FormerNames(settings_cls, {"counts_seconds": "figures_seconds"}))

    def checkpoints(self) -> CheckpointStore:
        """Return where checkpoints are kept."""
        login = RedisLogin(
            self.redis_username,
            self.redis_password.get_secret_value() or None,
            self.redis_authorities,
            self.redis_certificate,
            self.redis_key,
            self.redis_sentinel_username,
            self.redis_sentinel_password.get_secret_value() or None,
        )
        return RedisCheckpoints(self.redis.get_secret_value(), prefix=self.prefix, login=login)


def host(service: str, settings: MatcherSettings, log: Log, checkpoints: CheckpointStore | None = None) -> MatcherHost:
    """Return the host of a shard on a log, and on the checkpoints that the settings name unless others are given."""
    clock = SystemClock()
    working = HostSettings(
        linger_seconds=settings.linger_seconds,
        most_records=settings.most_records,
        checkpoint_seconds=settings.checkpoint_seconds,
        counts_seconds=settings.counts_seconds,
    )
    return MatcherHost(
        log,
        checkpoints or settings.checkpoints(),
        HostRecords(topics_on(log, settings.prefix), service, settings.shard, clock),
        clock,
        working,
    )
