"""The one place where the service is put together."""

from __future__ import annotations

from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI
from graphtide_core.errors import InvalidQueryError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import is_merged, sources, whole_of
from graphtide_log.deployment_topics import topics_on
from graphtide_log.profile import Profile
from graphtide_native.records import ticks_per_second
from graphtide_ordering.heartbeats import LIVE_HEARTBEAT_SECONDS
from graphtide_ordering.lateness import lateness_of
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.raw_decoding import Ahead
from graphtide_ordering.reference_tables import tables_in
from graphtide_ordering.statements import StatementSurroundings
from graphtide_serving.api_pages import serve_page
from graphtide_serving.clock import SystemClock
from graphtide_serving.http import answer_with_problems, health_routes
from graphtide_serving.process import Workers
from graphtide_serving.protection.protecting import protect
from graphtide_serving.replicas import Replicas
from graphtide_serving.routes import SERVERS, operation_id
from graphtide_serving.shared_problems import share_problems
from graphtide_serving.supervisor import LOOK_SECONDS, REPLICATED_LOOK_SECONDS, REPLICATED_PATIENCE, Supervisor
from graphtide_telemetry import metrics
from graphtide_telemetry.health import Finding, check
from graphtide_telemetry.instruments import Gauges
from graphtide_telemetry.requests import REQUESTS
from graphtide_telemetry.version import version_of

from graphtide_ingestion.adapters.schema_registry import SchemaRegistry
from graphtide_ingestion.application.answers import Answers
from graphtide_ingestion.application.appending import Appender
from graphtide_ingestion.application.awaited_verdicts import AwaitedVerdicts
from graphtide_ingestion.application.divided_streams import DividedStreams
from graphtide_ingestion.application.dividing_worker import DividingWorker
from graphtide_ingestion.application.merging_worker import Merging, MergingWorker
from graphtide_ingestion.application.registered_merges import RegisteredMerges
from graphtide_ingestion.application.sequenced_streams import SequencedStreams
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_ingestion.application.stream_schemas import StreamSchemas
from graphtide_ingestion.application.stream_statements import LastStatements
from graphtide_ingestion.application.streams import StreamOptions, Streams
from graphtide_ingestion.domain.body_reading import LEAST_BATCH
from graphtide_ingestion.entrypoints.description import TAGS
from graphtide_ingestion.entrypoints.edges_api import EdgesApi, HttpLimits
from graphtide_ingestion.entrypoints.edges_routes import edges_routes
from graphtide_ingestion.entrypoints.idempotent_answers import IdempotentAnswers
from graphtide_ingestion.entrypoints.resets_api import ResetsApi, resets_routes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log
    from graphtide_serving.loop import Worker
    from graphtide_serving.protection.admission_limit import AdmissionLimit
    from graphtide_wire.topics import Topics

    from graphtide_ingestion.settings import Settings

_LINGER_SECONDS: Final = {Profile.THROUGHPUT: 0.05, Profile.LOW_LATENCY: 0.005}
"""Without any wait, the log has a quarter more to do, which on busy machines costs more than it gains."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """The service, to be started and closed.

    Attributes:
        app: its HTTP side.
        followers: what it hears of the deployment.
        sequencers: its other side: a worker for each stream that is put in order here.
        replicas: the processes that share the streams, if there may be several.
    """

    app: FastAPI
    log: Log
    appender: Appender
    followers: Workers
    sequencers: Supervisor
    streams: Streams
    settings: Settings
    admission_limit: AdmissionLimit
    replicas: Replicas | None = None
    gauges: Gauges = field(default_factory=Gauges)
    unmade: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Make the streams that are set, and begin to work; one that cannot be made is noted, and the others continue.

        Raises:
            InvalidQueryError: a stream has an invalid name.
            TransientError: the log does not answer.
        """
        self.unmade.update(self.streams.make_all(self.settings.streams))
        self.gauges.add(metrics.IN_FLIGHT, lambda: [(self.admission_limit.taken, {})])
        self.gauges.add(metrics.SEQUENCERS, lambda: [(self.sequencers.running, {})])
        self.appender.start()
        self.followers.start()
        if "sequencer" in self.settings.roles:
            self.sequencers.start()

    def alive(self) -> list[Finding]:
        """Look whether it lives."""
        return [*self.followers.alive(), *self.sequencers.alive()]

    def ready(self) -> list[Finding]:
        """Look whether it can take edges and put them in order."""
        unmade = (Finding(f"stream {name}", note=f"it cannot be made: {reason}") for name, reason in self.unmade.items())
        return [*self.followers.ready(), *self.sequencers.ready(), *unmade, check("log", self.log.ping)]

    def paths(self) -> list[str]:
        """Return the paths of its API, for a server that routes them here."""
        return list(self.app.openapi()["paths"])

    def close(self) -> None:
        """End what was begun."""
        self.gauges.close()
        self.appender.close()
        self.sequencers.close()
        if self.replicas is not None:
            self.replicas.leave()
        self.followers.end()


def bootstrap(log: Log, settings: Settings, *, clock: Clock | None = None) -> Ingestion:
    """Put the service together over a log; the topics that control a deployment are made if they are not there.

    Raises:
        FatalError: no caller has access: neither keys nor a provider of tokens are given; or a setting is not a URL.
    """
    time = clock or SystemClock()
    limits = HttpLimits(most_body_bytes=settings.most_body_bytes)
    least_batch = LEAST_BATCH if settings.raw_form == "batches" else None
    protection = settings.protection(limits.most_held_bytes)
    topics = topics_on(log, settings.prefix)
    log.admin().ensure(topics.of_deployment())
    streams = _streams(log, topics, settings)
    appender = Appender(log)
    registry = None
    if settings.schema_registry is not None:
        registry = SchemaRegistry(settings.schema_registry.get_secret_value(), time)
    surroundings = StatementSurroundings(registry, tables_in(settings.tables))
    schemas, statements = StreamSchemas(log, topics), LastStatements(log, topics, surroundings)
    divided, verdicts = DividedStreams(statements, partial(_raw_partitions, log, topics)), AwaitedVerdicts(log, topics)
    api = EdgesApi(
        log,
        topics,
        time,
        appender=appender,
        streams=streams,
        schemas=schemas,
        statements=statements,
        verdicts=verdicts,
        idempotent_answers=IdempotentAnswers(Answers(time, settings.answers_seconds, settings.most_answers)),
        limits=limits,
        least_batch=least_batch,
    )
    resets = ResetsApi(
        log,
        topics,
        appender=appender,
        streams=streams,
        divided=divided,
        meant=Answers(time, settings.answers_seconds, settings.most_answers),
    )
    merges = RegisteredMerges(log, topics)

    def worker(work: StreamName) -> Worker:
        if (found := divided.divided(work)) is not None:
            division, partition = found
            options = replace(_sequencing(settings, division.stream), surroundings=surroundings)
            return DividingWorker(log, topics, division, time, options, partition=partition)
        if is_merged(work):
            merging = replace(_merging(settings, work), by_vertex=divided.by_vertex(sources(work)))
            return MergingWorker(log, topics, work, time, merging)
        options = replace(_sequencing(settings, whole_of(work)), surroundings=surroundings)
        return SequencingWorker(log, topics, work, time, options)

    def listed() -> frozenset[StreamName]:
        return divided.works(streams.look() - settings.elsewhere) | (merges.look() - settings.elsewhere)

    replicas = None
    if settings.replicated and "sequencer" in settings.roles:
        replicas = Replicas(log, topics, "sequencer", time)
    work = SequencedStreams(listed, time, replicas)
    sequencers = Supervisor(
        "sequencers",
        work.wanted,
        lambda name: worker(StreamName(name)),
        LOOK_SECONDS if replicas is None else REPLICATED_LOOK_SECONDS,
        stuck_seconds=settings.stuck_seconds,
        patience=None if replicas is None else REPLICATED_PATIENCE,
    )

    app = FastAPI(
        title="graphtide ingestion",
        summary="Edges come into streams, and dead letters come again.",
        version=version_of("graphtide-ingestion"),
        servers=SERVERS,
        openapi_tags=TAGS,
        generate_unique_id_function=operation_id,
        lifespan=_lifespan,
        telemetry=REQUESTS,
        docs_url=None,
        redoc_url=None,
    )
    answer_with_problems(app)
    serve_page(app)
    share_problems(app, "ingestion")
    admission_limit = protect(app, protection)
    app.include_router(edges_routes(api, protection.guard.requires))
    app.include_router(resets_routes(resets, protection.guard.requires))
    app.state.ingestion = service = Ingestion(
        app,
        log,
        appender,
        Workers([schemas, statements, verdicts, *([] if replicas is None else [replicas])]),
        sequencers,
        streams,
        settings,
        admission_limit,
        replicas,
    )
    app.include_router(health_routes(service.alive, service.ready))
    return service


def make_topics(log: Log, settings: Settings) -> tuple[str, ...]:
    """Make the topics of a deployment and of the streams that are set, as far as they are not there; return these streams.

    Raises:
        InvalidQueryError: a stream has an invalid name, or cannot be made; the others are made.
        TransientError: the log does not answer.
    """
    topics = topics_on(log, settings.prefix)
    log.admin().ensure(topics.of_deployment())
    streams = _streams(log, topics, settings)
    unmade = streams.make_all(settings.streams)
    if unmade:
        message = "; ".join(f"stream {name!r} cannot be made: {reason}" for name, reason in unmade.items())
        raise InvalidQueryError(message)
    return settings.streams


def _streams(log: Log, topics: Topics, settings: Settings) -> Streams:
    return Streams(
        log, topics, StreamOptions(settings.partitions, settings.retention_ms, made_by_edges=settings.create_streams)
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Ingestion = app.state.ingestion
    service.start()
    yield
    service.close()


def _merging(settings: Settings, stream: StreamName) -> Merging:
    return Merging(
        unit=settings.unit,
        linger_seconds=_LINGER_SECONDS[settings.profile],
        heartbeat_seconds=_heartbeat_seconds(settings, sources(stream)),
        retention_ms=settings.retention_ms,
    )


def _sequencing(settings: Settings, stream: StreamName) -> Sequencing:
    ahead = Ahead(settings.unit, settings.max_ahead_seconds_of.get(stream, settings.max_ahead_seconds))
    live = ticks_per_second(settings.unit) if _is_live(settings, stream) else 0
    lateness = lateness_of(settings.lateness, settings.unit, settings.profile)
    return Sequencing(
        unit=settings.unit,
        ordering=Ordering(lateness, settings.idle_seconds, settings.most_pending, ahead, live),
        linger_seconds=_LINGER_SECONDS[settings.profile],
        heartbeat_seconds=settings.heartbeat_seconds,
        retention_ms=settings.retention_ms,
    )


def _raw_partitions(log: Log, topics: Topics, stream: StreamName) -> int:
    with closing(log.reader(None)) as reader:
        return len(reader.partitions(topics.raw(stream)))


def _heartbeat_seconds(settings: Settings, streams: Iterable[StreamName]) -> float:
    """Return how long a stream that follows from these may be quiet: what waits for a bound is emitted within a second."""
    is_live = any(_is_live(settings, whole_of(stream)) for stream in streams)
    return min(settings.heartbeat_seconds, LIVE_HEARTBEAT_SECONDS) if is_live else settings.heartbeat_seconds


def _is_live(settings: Settings, stream: StreamName) -> bool:
    return settings.clock_of.get(stream, settings.clock) == "live"
