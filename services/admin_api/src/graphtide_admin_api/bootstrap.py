"""The one place where the API is put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jwt
import structlog
from graphtide_core.errors import FatalError
from graphtide_runtime.clock import SystemClock
from graphtide_runtime.kafka import KafkaLog
from graphtide_runtime.process import Workers
from graphtide_wire.topics import Topics

from graphtide_admin_api.adapters.keys import ApiKeys, checked
from graphtide_admin_api.adapters.several import Several
from graphtide_admin_api.adapters.tokens import Tokens
from graphtide_admin_api.application.matches import MatchFeed, RecentMatches
from graphtide_admin_api.application.patterns import Patterns
from graphtide_admin_api.application.reading import Streams
from graphtide_admin_api.application.registry import Registry
from graphtide_admin_api.application.view import View, Viewer
from graphtide_admin_api.domain.access import Anyone, Caller
from graphtide_admin_api.domain.rate import RateLimit
from graphtide_admin_api.entrypoints.app import application
from graphtide_admin_api.entrypoints.parts import Bounds, Parts

if TYPE_CHECKING:
    from fastapi import FastAPI
    from graphtide_core.ports.log import Log

    from graphtide_admin_api.domain.access import Authentication
    from graphtide_admin_api.settings import AdminApiSettings

_LOG = structlog.get_logger()


def admin_api(settings: AdminApiSettings, log: Log | None = None) -> FastAPI:
    """Return the application, on the log that the settings name unless another is given; its life runs its workers.

    Raises:
        FatalError: nobody could call: neither keys nor a provider of tokens are given.
    """
    place = log or KafkaLog(settings.kafka.connection("graphtide-admin-api"))
    topics, clock = Topics(settings.prefix), SystemClock()
    view, recent = View(topics), RecentMatches()
    registry = Registry(place, topics, view)
    workers = Workers([Viewer(place, topics, clock, view), MatchFeed(place, topics, clock, recent)])
    parts = Parts(
        log=place,
        topics=topics,
        view=view,
        patterns=Patterns(place, topics, clock, view, registry),
        recent=recent,
        streams=Streams(place, topics),
        authentication=authentication(settings),
        rate=RateLimit(settings.requests_per_second, settings.burst),
        is_working=lambda: not workers.stop.is_set(),
        bounds=Bounds(most_body_bytes=settings.most_body_bytes),
    )

    def end() -> None:
        registry.close()
        workers.end()

    return application(parts, workers.start, end)


def authentication(settings: AdminApiSettings) -> Authentication:
    """Return who tells who calls.

    Raises:
        FatalError: nobody could call, or a key has a scope that there is not.
    """
    if settings.insecure:
        _LOG.warning("authentication.off", hint="everyone who reaches this port may do everything")
        return Anyone()
    ways: list[Authentication] = []
    try:
        keys = [(each.hash, Caller(each.name, checked(each.scopes))) for each in settings.api_keys]
    except ValueError as error:
        raise FatalError(str(error)) from error
    if keys:
        ways.append(ApiKeys(keys))
    if settings.oidc is not None:
        oidc = settings.oidc
        ways.append(Tokens(oidc.issuer, oidc.audience, jwt.PyJWKClient(oidc.jwks_url, timeout=5), oidc.claim))
    if not ways:
        message = (
            "nobody could call: set GRAPHTIDE_ADMIN_API_API_KEYS, or GRAPHTIDE_ADMIN_API_OIDC__ISSUER, __AUDIENCE and "
            "__JWKS_URL, or, for development, GRAPHTIDE_ADMIN_API_INSECURE=true"
        )
        raise FatalError(message)
    return Several(ways)
