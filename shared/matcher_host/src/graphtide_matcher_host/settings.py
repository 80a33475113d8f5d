"""Settings of a matcher service, and the host that follows from them; each service adds its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_log.checkpoints.redis import RedisCheckpoints
from graphtide_log.deployment_topics import topics_on
from graphtide_log.partial_matches.redis import RedisPartialMatches
from graphtide_log.profile import Profile
from graphtide_log.redis_settings import RedisLoginSettings
from graphtide_serving.clock import SystemClock
from graphtide_serving.former_names import FormerNames
from graphtide_serving.service import ServiceSettings
from pydantic import Field, SecretStr

from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.partial_matches import ViewSettings
from graphtide_matcher_host.records import HostRecords

if TYPE_CHECKING:
    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.log import Log
    from graphtide_core.ports.partial_matches import PartialMatchStore
    from pydantic_settings import BaseSettings, PydanticBaseSettingsSource


class MatcherSettings(RedisLoginSettings, ServiceSettings):
    """Settings of one shard of a matcher service.

    Attributes:
        redis: URL of the Redis for checkpoints and views of partial matches: `redis://`, `redis+cluster://` or
            `redis+sentinel://`, with TLS `rediss…`. It may contain a user name and a password.
        shard: number of the shard, from 0; two processes must not run the same shard.
        profile: `low-latency` or `throughput`, as for ingestion.
        linger_seconds: longest wait for records of one round.
        most_records: most ordered records of one round.
        checkpoint_seconds: seconds between two checkpoints of a stream.
        counts_seconds: seconds between two reports of counts; formerly `…FIGURES_SECONDS`.
        partial_matches_seconds: seconds between two views of a pattern's partial matches in Redis; 0 publishes none.
        partial_matches_share: share of a processor's time that these views may take.
        partial_matches_most: partial matches that a view shows.
    """

    redis: SecretStr = SecretStr("redis://localhost:6379/0")
    shard: int = Field(default=0, ge=0)
    profile: Profile = Profile.THROUGHPUT
    linger_seconds: float = Field(default=0.2, ge=0, le=10)
    most_records: int = Field(default=16, ge=1, le=1000)
    checkpoint_seconds: float = Field(default=5.0, ge=0)
    counts_seconds: float = Field(default=2.0, ge=0)
    partial_matches_seconds: float = Field(default=2.0, ge=0, le=3600)
    partial_matches_share: float = Field(default=0.02, gt=0, le=1)
    partial_matches_most: int = Field(default=100, ge=0, le=1000)

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource, **others: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the former name of `counts_seconds` too."""
        return (*sources, *others.values(), FormerNames(settings_cls, {"counts_seconds": "figures_seconds"}))

    def checkpoints(self) -> CheckpointStore:
        """Return where checkpoints are kept."""
        return RedisCheckpoints(self.redis.get_secret_value(), prefix=self.prefix, login=self.redis_login())

    def partial_matches(self) -> PartialMatchStore:
        """Return where views of partial matches are shared."""
        return RedisPartialMatches(self.redis.get_secret_value(), prefix=self.prefix, login=self.redis_login())


def host(
    service: str,
    settings: MatcherSettings,
    log: Log,
    checkpoints: CheckpointStore | None = None,
    partial_matches: PartialMatchStore | None = None,
) -> MatcherHost:
    """Return the host of a shard on a log, and on the stores that the settings name unless others are given.

    With checkpoints elsewhere, views of partial matches are published only in a store that is given.
    """
    clock = SystemClock()
    working = HostSettings(
        linger_seconds=settings.linger_seconds,
        most_records=settings.most_records,
        checkpoint_seconds=settings.checkpoint_seconds,
        counts_seconds=settings.counts_seconds,
    )
    views = ViewSettings(settings.partial_matches_seconds, settings.partial_matches_share, settings.partial_matches_most)
    if checkpoints is None:
        checkpoints, partial_matches = settings.checkpoints(), partial_matches or settings.partial_matches()
    return MatcherHost(
        log,
        checkpoints,
        HostRecords(topics_on(log, settings.prefix), service, settings.shard, clock),
        clock,
        working,
        partial_matches=None if partial_matches is None else (partial_matches, views),
    )
