"""What an operator says of the API, by variables of the environment: `GRAPHTIDE_ADMIN_API_KAFKA__BOOTSTRAP` and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.time import TimeUnit
from graphtide_log.kafka.settings import KafkaSettings
from graphtide_log.partial_matches.redis import RedisPartialMatches
from graphtide_log.redis_settings import RedisLoginSettings
from graphtide_serving.access.settings import AccessSettings
from graphtide_wire.topics import DEFAULT_PREFIX
from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from graphtide_admin_api.entrypoints.console import ConsoleSettings

if TYPE_CHECKING:
    from graphtide_core.ports.partial_matches import PartialMatchStore


class AdminApiSettings(RedisLoginSettings, AccessSettings):
    """Settings of the API.

    Attributes:
        kafka: connection to Kafka.
        prefix: prefix of topic names.
        host: address to listen on.
        port: port to listen on.
        most_body_bytes: bytes of a request's body.
        redis: URL of the Redis in which matchers share views of partial matches; unset shows none.
        most_series: time series kept in memory, at 11 KiB each; further ones are left out.
        allowed_addresses: networks and hosts that are not public and that targets of alerts may name, as JSON.
        unit: time unit of ticks, as in ingestion; statements of streams must have it. Plans of patterns show it, too.
        console_client_id: what the console is called at the OpenID provider, where people log in by it.
        console_scope: what the console asks the provider for.
    """

    model_config = SettingsConfigDict(env_prefix="GRAPHTIDE_ADMIN_API_", env_nested_delimiter="__")

    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    prefix: str = DEFAULT_PREFIX
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    most_body_bytes: int = Field(default=8 * 1024 * 1024, gt=0)
    redis: SecretStr | None = None
    most_series: int = Field(default=2_000, ge=0)
    allowed_addresses: tuple[str, ...] = ()
    unit: TimeUnit = TimeUnit.MILLISECOND
    console_client_id: str | None = None
    console_scope: str = "openid"

    def console(self) -> ConsoleSettings:
        """Return what the console reads at its start."""
        issuer = None if self.oidc is None else self.oidc.issuer
        return ConsoleSettings(self.unit, not self.insecure, issuer, self.console_client_id, self.console_scope)

    def partial_matches(self) -> PartialMatchStore | None:
        """Return where views of partial matches are shared; None if that is not set."""
        if self.redis is None:
            return None
        return RedisPartialMatches(self.redis.get_secret_value(), prefix=self.prefix, login=self.redis_login())
