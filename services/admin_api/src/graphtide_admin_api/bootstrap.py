"""The one place where the API is put together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from graphtide_runtime.access.guard import Guard
from graphtide_runtime.access.rate import RateLimit
from graphtide_runtime.clock import SystemClock
from graphtide_runtime.kafka import KafkaLog
from graphtide_runtime.memory import MemoryLog
from graphtide_runtime.process import Workers
from graphtide_wire.topics import Topics

from graphtide_admin_api.application.matches import MatchFeed, RecentMatches
from graphtide_admin_api.application.patterns import Patterns
from graphtide_admin_api.application.reading import Streams
from graphtide_admin_api.application.registry import Registry
from graphtide_admin_api.application.view import View, Viewer
from graphtide_admin_api.entrypoints.app import application
from graphtide_admin_api.entrypoints.parts import Bounds, Parts
from graphtide_admin_api.settings import AdminApiSettings

if TYPE_CHECKING:
    from fastapi import FastAPI
    from graphtide_core.ports.log import Log


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
        requires=Guard(settings.authentication(), RateLimit(settings.requests_per_second, settings.burst)).requires,
        is_working=lambda: not workers.stop.is_set(),
        bounds=Bounds(most_body_bytes=settings.most_body_bytes),
    )

    def end() -> None:
        registry.close()
        workers.end()

    return application(parts, workers.start, end)


def description() -> str:
    """Return the description of the API in OpenAPI, as JSON; a test compares it with the one in the documentation."""
    settings = AdminApiSettings(insecure=True)
    return json.dumps(admin_api(settings, MemoryLog()).openapi(), indent=2) + "\n"
