"""Putting the services together: one HTTP port, a thread for each worker.

What is not given comes from the services' own settings and their environment, so what is tried here behaves as it will in a
cluster.
"""

from __future__ import annotations

import json
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from graphtide_admin_api.bootstrap import assemble
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_alerts.bootstrap import feed as alerts
from graphtide_alerts.settings import AlertsSettings
from graphtide_backfill.bootstrap import operations_in_process as backfills
from graphtide_backfill.settings import BackfillSettings
from graphtide_ingestion.bootstrap import bootstrap as ingestion
from graphtide_ingestion.settings import Settings as IngestionSettings
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.checkpoints.redis import RedisCheckpoints
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_log.memory import MemoryLog
from graphtide_log.partial_matches.memory import MemoryPartialMatches
from graphtide_log.partial_matches.redis import RedisPartialMatches
from graphtide_log.profile import Profile
from graphtide_matcher_algebra.bootstrap import matcher as matcher_algebra
from graphtide_matcher_algebra.settings import Settings as AlgebraSettings
from graphtide_matcher_event_pattern.bootstrap import matcher as matcher_event_pattern
from graphtide_matcher_event_pattern.settings import Settings as EventPatternSettings
from graphtide_matcher_simulation.bootstrap import matcher as matcher_simulation
from graphtide_matcher_simulation.settings import Settings as SimulationSettings
from graphtide_matcher_sjtree.bootstrap import matcher as matcher_sjtree
from graphtide_matcher_sjtree.settings import Settings as SjTreeSettings
from graphtide_matcher_timing.bootstrap import matcher as matcher_timing
from graphtide_matcher_timing.settings import Settings as TimingSettings
from graphtide_planner.bootstrap import planner
from graphtide_planner.settings import PlannerSettings
from graphtide_serving.api_pages import merge, serve_page
from graphtide_serving.http import health_routes
from graphtide_serving.process import Workers
from graphtide_serving.protection.heads import HeadAsGet
from graphtide_serving.protection.hosts import Hosts, KnownHosts
from graphtide_statistics.bootstrap import counter, match_counter
from graphtide_statistics.settings import StatisticsSettings
from graphtide_telemetry.requests import REQUESTS
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from graphtide import __version__

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.log import Log
    from graphtide_core.ports.partial_matches import PartialMatchStore
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 256 * 1024 * 1024
"""What a topic's partition keeps in memory; older records leave."""


@dataclass(frozen=True, slots=True)
class DevOptions:
    """What a deployment in one process is over.

    Attributes:
        kafka: bootstrap address of a Kafka; None keeps the log in memory.
        redis: URL of a Redis for checkpoints and views of partial matches; None keeps them in memory.
        lateness: ticks that an edge may come after a newer one; None is ingestion's default.
        low_latency: hand on edges at once instead of waiting up to 50 ms for more.
        max_ahead_seconds: how far ahead of the clock an edge may be; None is what ingestion is set to.
    """

    kafka: str | None = None
    redis: str | None = None
    lateness: int | None = None
    low_latency: bool = False
    max_ahead_seconds: float | None = None


_EDGES: Final = "/api/v1/streams/{stream}/edges"
"""Edges are sent here to ingestion, and read here from the control plane."""


def application(options: DevOptions) -> FastAPI:
    """Return all services as one application; its life runs their workers. Everyone may do everything."""
    log: Log = MemoryLog(MOST_BYTES) if options.kafka is None else KafkaLog(KafkaConnection(options.kafka, "graphtide-dev"))
    checkpoints: CheckpointStore = MemoryCheckpoints() if options.redis is None else RedisCheckpoints(options.redis)
    partial_matches: PartialMatchStore = MemoryPartialMatches() if options.redis is None else RedisPartialMatches(options.redis)
    profile = Profile.LOW_LATENCY if options.low_latency else Profile.THROUGHPUT
    settings = IngestionSettings(
        insecure=True, create_streams=True, lateness=options.lateness, profile=profile, idle_seconds=1.0
    )
    if options.max_ahead_seconds is not None:
        settings = settings.model_copy(update={"max_ahead_seconds": options.max_ahead_seconds})
    edges = ingestion(log, settings)
    slices = TemporaryDirectory(prefix="graphtide-dev-", ignore_cleanup_errors=True)
    control_settings = AdminApiSettings(insecure=True)
    control = assemble(control_settings, log, partial_matches)
    workers = Workers(
        [
            planner(PlannerSettings(), log),
            counter(StatisticsSettings(), log),
            match_counter(StatisticsSettings(), log),
            alerts(AlertsSettings(), log),
            matcher_timing(TimingSettings(linger_seconds=0.05, profile=profile), log, checkpoints, partial_matches),
            matcher_algebra(AlgebraSettings(linger_seconds=0.05, profile=profile), log, checkpoints, partial_matches),
            matcher_event_pattern(
                EventPatternSettings(linger_seconds=0.05, profile=profile), log, checkpoints, partial_matches
            ),
            matcher_simulation(SimulationSettings(linger_seconds=0.05, profile=profile), log, checkpoints, partial_matches),
            matcher_sjtree(SjTreeSettings(linger_seconds=0.05, profile=profile), log, checkpoints, partial_matches),
            backfills(BackfillSettings(folder=Path(slices.name)), log),
        ]
    )

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.enter_context(slices)
            for each in (edges.app, control.app):
                await stack.enter_async_context(each.router.lifespan_context(each))
            workers.start()
            stack.callback(workers.end)
            yield

    everything = FastAPI(lifespan=life, openapi_url=None, telemetry=REQUESTS)
    everything.openapi = lambda: merge(control.app.openapi(), edges.app.openapi())  # type: ignore[method-assign]
    everything.router.add_route("/openapi.json", lambda _: JSONResponse(everything.openapi()), include_in_schema=False)
    serve_page(everything)
    both = (settings, control_settings)
    names, origins = [name for each in both for name in each.hosts], [origin for each in both for origin in each.cors_origins]
    everything.add_middleware(HeadAsGet)
    everything.add_middleware(KnownHosts, hosts=Hosts(names, origins))
    everything.include_router(
        health_routes(
            lambda: [*edges.alive(), *workers.alive(), *control.alive()],
            lambda: [*edges.ready(), *workers.ready(), *control.ready()],
        )
    )
    for path in edges.paths():
        app = _SentAndRead(edges.app, control.app) if path == _EDGES else _Whole(edges.app)
        everything.router.routes.append(Route(path, app))
    for path in ("/", "/api/v1"):
        everything.router.routes.append(Route(path, _signpost))
    everything.mount("/", control.app)
    return everything


async def _signpost(request: Request) -> Response:
    """Answer a request for the address that the command shows: what is here, and a first request."""
    base = str(request.base_url).rstrip("/")
    return PlainTextResponse(
        f"""graphtide {__version__}: all services in one process, for development alone; everyone may do everything.

the console, for people: {base}/console/

GET  {base}/api/v1/patterns                    patterns, and their status
POST {base}/api/v1/patterns                    register one: {{"text": "PATTERN …"}}
POST {base}/api/v1/streams/STREAM/edges        edges as JSON Lines
GET  {base}/api/v1/patterns/NAME/matches       what was found
GET  {base}/api/v1/streams                     streams
GET  {base}/docs                               all of the interface, as a page; /openapi.json for programs
GET  {base}/readyz                             is it ready
GET  {base}/metrics                            metrics, for Prometheus

graphtide apply FILE --server {base}           the same from the command line: apply, get, describe, tail

curl --header 'content-type: application/x-ndjson' {base}/api/v1/streams/payments/edges \\
  --data-binary '{{"ts": 1000, "src": "ann", "dst": "bob", "label": "pay"}}'
"""
    )


def description() -> str:
    """Return the description of the whole API, of the control plane and of ingestion, in OpenAPI as JSON."""
    control = assemble(AdminApiSettings(insecure=True), MemoryLog()).app
    edges = ingestion(MemoryLog(), IngestionSettings(insecure=True)).app
    return json.dumps(merge(control.openapi(), edges.openapi()), indent=2) + "\n"


class _Whole:
    """An application that gets the path as it came, where a mount would cut it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _SentAndRead:
    """One address of two applications: what is sent goes to the first, and the second is read."""

    def __init__(self, sent: ASGIApp, read: ASGIApp) -> None:
        self._sent = sent
        self._read = read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def allow_both(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.METHOD_NOT_ALLOWED:
                MutableHeaders(scope=message)["Allow"] = "GET, HEAD, POST"
            await send(message)

        is_read = scope["method"] in {"GET", "HEAD"}
        await (self._read if is_read else self._sent)(scope, receive, allow_both)
