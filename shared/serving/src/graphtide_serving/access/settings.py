"""Settings of access to a service over HTTP; each service adds its own prefix of variables."""

from __future__ import annotations

from typing import Annotated

import jwt
import structlog
from graphtide_core.errors import FatalError
from graphtide_telemetry import events
from graphtide_telemetry.health import STUCK_SECONDS
from graphtide_telemetry.settings import TelemetrySettings
from pydantic import AfterValidator, BaseModel, Field, SecretStr
from pydantic_settings import BaseSettings

from graphtide_serving.access.callers import Anyone, Authentication, Caller
from graphtide_serving.access.guard import Guard
from graphtide_serving.access.keys import ApiKeys
from graphtide_serving.access.rate import RateLimit
from graphtide_serving.access.rights import check
from graphtide_serving.access.several import Several
from graphtide_serving.access.tickets import LEAST_SECRET, Tickets
from graphtide_serving.access.tokens import Tokens
from graphtide_serving.clock import SystemClock
from graphtide_serving.protection.hosts import Hosts, checked_origin
from graphtide_serving.protection.protecting import Protection

_LOG = structlog.get_logger()
_KEYS_SECONDS = 5


class KeySettings(BaseModel):
    """An API key: a name for logs, the hash of the key (`graphtide-admin-api new-key NAME SCOPE…` makes both), its scopes."""

    name: str
    hash: str = Field(pattern="^[0-9a-fA-F]{64}$")
    scopes: list[str]


class OidcSettings(BaseModel):
    """An OpenID Connect provider.

    Attributes:
        issuer: issuer of accepted tokens.
        audience: audience of accepted tokens.
        jwks_url: URL of the issuer's keys.
        claim: name of the token's claim that lists the scopes.
    """

    issuer: str
    audience: str
    jwks_url: str
    claim: str = "scope"


class AccessSettings(BaseSettings):
    """Settings of a service over HTTP: who may call, and its health and telemetry.

    Attributes:
        api_keys: callers with their hashed keys and scopes.
        oidc: provider of bearer tokens.
        insecure: allow every call without a key or token; for development only.
        requests_per_second: sustained request rate of one caller.
        burst: requests that one caller may send at once.
        hosts: accepted host names, besides loopback and cluster names; `*` accepts any.
        cors_origins: sites whose pages may call the API from browsers, such as `https://ui.example`.
        ticket_secret: key that signs tickets, the same for all processes of an API; by default each process has its own.
        most_bytes_in_flight: bytes of request bodies in memory at once; one caller may use half of them.
        telemetry: traces and metrics.
        stuck_seconds: time without progress after which a worker counts as stuck.
    """

    api_keys: list[KeySettings] = Field(default_factory=list)
    oidc: OidcSettings | None = None
    insecure: bool = False
    requests_per_second: float = Field(default=200.0, gt=0)
    burst: int = Field(default=2_000, gt=0)
    hosts: list[str] = Field(default_factory=list)
    cors_origins: list[Annotated[str, AfterValidator(checked_origin)]] = Field(default_factory=list)
    ticket_secret: SecretStr | None = Field(default=None, min_length=LEAST_SECRET)
    most_bytes_in_flight: int = Field(default=64 * 1024 * 1024, ge=1)
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)
    stuck_seconds: float = Field(default=STUCK_SECONDS, gt=0)

    def protection(self, most_held_bytes: int) -> Protection:
        """Return the protection of an application that holds at most so many bytes of a body at once.

        Raises:
            FatalError: as `authentication`.
        """
        secret = None if self.ticket_secret is None else self.ticket_secret.get_secret_value()
        tickets = Tickets(SystemClock(), secret)
        guard = Guard(self.authentication(), RateLimit(self.requests_per_second, self.burst), tickets)
        return Protection(guard, Hosts(self.hosts, self.cors_origins), self.most_bytes_in_flight, most_held_bytes)

    def authentication(self) -> Authentication:
        """Return the authentication of callers.

        Raises:
            FatalError: no caller has access, or a key has an unknown scope.
        """
        if self.insecure:
            _LOG.warning(events.AUTHENTICATION_OFF, hint="everyone who reaches this port may do everything")
            return Anyone()
        ways: list[Authentication] = []
        try:
            keys = [(each.hash, Caller(each.name, check(each.scopes))) for each in self.api_keys]
        except ValueError as error:
            raise FatalError(str(error)) from error
        if keys:
            ways.append(ApiKeys(keys))
        if self.oidc is not None:
            provider = jwt.PyJWKClient(self.oidc.jwks_url, timeout=_KEYS_SECONDS)
            ways.append(Tokens(self.oidc.issuer, self.oidc.audience, provider, self.oidc.claim))
        if not ways:
            prefix = self.model_config.get("env_prefix", "")
            message = (
                f"no caller has access: set {prefix}API_KEYS, or {prefix}OIDC__ISSUER, __AUDIENCE and __JWKS_URL, "
                f"or, for development, {prefix}INSECURE=true"
            )
            raise FatalError(message)
        return Several(ways)
