"""The one place where the API is put together."""

from __future__ import annotations

import json
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.outbound_addresses import AllowedAddresses
from graphtide_log.deployment_topics import topics_on
from graphtide_log.kafka import KafkaLog
from graphtide_log.memory import MemoryLog
from graphtide_serving.clock import SystemClock
from graphtide_serving.process import Workers
from graphtide_telemetry import attributes as key
from graphtide_telemetry import metrics
from graphtide_telemetry.instruments import observe_gauge

from graphtide_admin_api.application.alert_requests import AlertRequests
from graphtide_admin_api.application.deleting import Deleting
from graphtide_admin_api.application.edges import Edges
from graphtide_admin_api.application.first_look import FirstLook
from graphtide_admin_api.application.health import Health
from graphtide_admin_api.application.marks import Marks, MarksFeed
from graphtide_admin_api.application.matches import MatchFeed, RecentMatches
from graphtide_admin_api.application.operations import Operations
from graphtide_admin_api.application.partial_matches import PartialMatches
from graphtide_admin_api.application.patterns import Patterns
from graphtide_admin_api.application.reading import Streams
from graphtide_admin_api.application.registry import Registry
from graphtide_admin_api.application.results import Results
from graphtide_admin_api.application.sampling import Sampler
from graphtide_admin_api.application.series import SeriesStore
from graphtide_admin_api.application.stream_schemas import StreamSchemas
from graphtide_admin_api.application.stream_statements import StreamStatements
from graphtide_admin_api.application.targets import Targets
from graphtide_admin_api.application.view import View, Viewer
from graphtide_admin_api.entrypoints.app import application
from graphtide_admin_api.entrypoints.health import readiness
from graphtide_admin_api.entrypoints.parts import Bounds, Parts
from graphtide_admin_api.entrypoints.rights import Rights
from graphtide_admin_api.settings import AdminApiSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI
    from graphtide_core.ports.log import Log
    from graphtide_core.ports.partial_matches import PartialMatchStore
    from graphtide_serving.loop import Worker
    from graphtide_telemetry.health import Look
    from graphtide_telemetry.instruments import Observed


@dataclass(frozen=True, slots=True)
class AdminApi:
    """The API put together.

    Attributes:
        app: the application; its life runs its workers.
        alive: looks whether it lives.
        ready: looks whether it can answer.
    """

    app: FastAPI
    alive: Look
    ready: Look


def admin_api(settings: AdminApiSettings, log: Log | None = None) -> FastAPI:
    """Return the application, on the log that the settings name unless another is given; its life runs its workers.

    Raises:
        FatalError: no caller has access: neither keys nor a provider of tokens are given.
    """
    return assemble(settings, log or KafkaLog(settings.kafka.connection("graphtide-admin-api"))).app


def assemble(settings: AdminApiSettings, log: Log, partial_matches: PartialMatchStore | None = None) -> AdminApi:
    """Put the API together on a log, with partial matches from the Redis of the settings unless a store is given.

    Raises:
        FatalError: as `admin_api`.
    """
    topics, clock = topics_on(log, settings.prefix), SystemClock()
    protection = settings.protection(settings.most_body_bytes)
    view, recent = View(topics, clock), RecentMatches()
    registry, streams, series = Registry(log, topics, view), Streams(log, topics), SeriesStore(settings.most_series)
    sampler = Sampler(log, topics, clock, view=view, recent=recent, streams=streams, store=series, unit=settings.unit)
    marks = Marks(log, topics, clock)
    followers: list[Worker] = [
        Viewer(log, topics, clock, view),
        MatchFeed(log, topics, clock, recent),
        MarksFeed(log, topics, clock, marks),
        sampler,
    ]
    workers = Workers(followers, stuck_seconds=settings.stuck_seconds)
    operations = Operations(log, topics, clock)
    shared = PartialMatches(partial_matches or settings.partial_matches())
    parts = Parts(
        log=log,
        topics=topics,
        view=view,
        patterns=Patterns(log, topics, clock, view, registry),
        recent=recent,
        marks=marks,
        alert_requests=AlertRequests(log, topics, clock),
        targets=Targets(log, topics, clock, AllowedAddresses(settings.allowed_addresses), _resolve),
        partial_matches=shared,
        results=Results(log, topics, recent),
        streams=streams,
        series=series,
        health=Health(clock, view, sampler),
        schemas=StreamSchemas(log, topics, view),
        statements=StreamStatements(log, topics, clock, view, registry, unit=settings.unit),
        first_look=FirstLook(log, topics),
        operations=operations,
        deleting=Deleting(log, topics, view, registry, operations),
        edges=Edges(log, topics),
        requires=protection.guard.requires,
        rights=Rights(protection.guard, view),
        tickets=protection.guard.tickets,
        alive=workers.alive,
        ready=workers.ready,
        bounds=Bounds(most_body_bytes=settings.most_body_bytes),
    )

    @contextmanager
    def life() -> Iterator[None]:
        with observe_gauge(metrics.PATTERNS, lambda: _by_state(view)):
            workers.start()
            try:
                yield
            finally:
                registry.close()
                workers.end()
                shared.close()

    return AdminApi(application(parts, life, protection, settings.console()), parts.alive, lambda: readiness(parts))


def _resolve(host: str) -> list[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


def _by_state(view: View) -> Iterator[Observed]:
    if view.is_whole:
        for state, count in view.states().items():
            yield count, {key.STATE: state}


def description() -> str:
    """Return the description of the API in OpenAPI, as JSON; a test compares it with the one in the documentation."""
    settings = AdminApiSettings(insecure=True)
    return json.dumps(admin_api(settings, MemoryLog()).openapi(), indent=2) + "\n"
