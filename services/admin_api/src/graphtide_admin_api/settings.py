"""What an operator says of the API, by variables of the environment: `GRAPHTIDE_ADMIN_API_KAFKA__BOOTSTRAP` and so on."""

from __future__ import annotations

from graphtide_runtime.kafka.settings import KafkaSettings
from graphtide_wire.topics import DEFAULT_PREFIX
from pydantic import BaseModel, Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class KeySettings(BaseModel):
    """An API key: a name for logs, the hash of the key (`graphtide-admin-api new-key NAME SCOPE…` makes both), its scopes."""

    name: str
    hash: str = Field(pattern="^[0-9a-fA-F]{64}$")
    scopes: list[str]


class OidcSettings(BaseModel):
    """An OpenID Connect provider: its name in tokens, whom tokens are for, where its keys are, the claim with the scopes."""

    issuer: str
    audience: str
    jwks_url: str
    claim: str = "scope"


class AdminApiSettings(BaseSettings):
    """Settings of the API.

    Attributes:
        kafka: where the log is.
        prefix: what names of topics begin with.
        host: address to listen on.
        port: of that address.
        api_keys: callers by keys, as a JSON list.
        oidc: callers by tokens.
        insecure: let everyone do everything: for development alone.
        most_body_bytes: bytes of a request's body.
        requests_per_second: of one caller, over a while.
        burst: requests of one caller at once.
    """

    model_config = SettingsConfigDict(env_prefix="GRAPHTIDE_ADMIN_API_", env_nested_delimiter="__")

    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    prefix: str = DEFAULT_PREFIX
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    api_keys: list[KeySettings] = Field(default_factory=list)
    oidc: OidcSettings | None = None
    insecure: bool = False
    most_body_bytes: int = Field(default=8 * 1024 * 1024, gt=0)
    requests_per_second: float = Field(default=50.0, gt=0)
    burst: int = Field(default=100, gt=0)
