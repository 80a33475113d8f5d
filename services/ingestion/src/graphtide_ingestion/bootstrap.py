"""The one place where the service is put together."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI
from graphtide_runtime.clock import SystemClock
from graphtide_runtime.http import answer_with_problems, health_routes, open_to_all
from graphtide_runtime.metrics import Metric, Sample
from graphtide_runtime.sequencing.stream_sequencer import Ordering
from graphtide_wire.topics import Topics

from graphtide_ingestion.application.answers import Answers
from graphtide_ingestion.application.appending import Appender
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_ingestion.application.streams import StreamOptions, Streams
from graphtide_ingestion.entrypoints.edges_api import EdgesApi, HttpLimits, edges_routes
from graphtide_ingestion.entrypoints.sequencers import Sequencers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log
    from graphtide_runtime.http import Authorize

    from graphtide_ingestion.settings import Settings

_LINGER_SECONDS: Final = {"throughput": 0.05, "low-latency": 0.0}


@dataclass(frozen=True, slots=True)
class Ingestion:
    """The service, to be started and closed.

    Attributes:
        app: its HTTP side.
        sequencers: its other side.
    """

    app: FastAPI
    appender: Appender
    sequencers: Sequencers
    streams: Streams
    settings: Settings

    def start(self) -> None:
        """Make the streams that are set, and begin to work.

        Raises:
            InvalidQueryError: a stream's name is none.
            TransientError: the log does not answer.
        """
        for name in self.settings.streams:
            self.streams.make(name)
        self.appender.start()
        if "sequencer" in self.settings.roles:
            self.sequencers.start()

    def close(self) -> None:
        """End what was begun."""
        self.appender.close()
        self.sequencers.close()


def bootstrap(log: Log, settings: Settings, *, clock: Clock | None = None, authorize: Authorize = open_to_all) -> Ingestion:
    """Put the service together over a log; the topics that control a deployment are made if they are not there."""
    time = clock or SystemClock()
    topics = Topics(settings.prefix)
    log.admin().ensure(topics.of_deployment())
    streams = Streams(
        log, topics, StreamOptions(settings.partitions, settings.retention_ms, made_by_edges=settings.create_streams)
    )
    appender = Appender(log)
    api = EdgesApi(
        log,
        topics,
        time,
        appender=appender,
        streams=streams,
        answers=Answers(time, settings.answers_seconds, settings.most_answers),
        limits=HttpLimits(most_body_bytes=settings.most_body_bytes, most_bytes_in_flight=settings.most_bytes_in_flight),
    )
    sequencers = Sequencers(streams, lambda stream: SequencingWorker(log, topics, stream, time, _sequencing(settings)))

    def ready() -> None:
        sequencers.check()
        log.ping()

    app = FastAPI(title="graphtide ingestion", version="1", lifespan=_lifespan)
    answer_with_problems(app)
    app.include_router(edges_routes(api, authorize))
    app.include_router(health_routes(ready, lambda: _metrics(api, sequencers)))
    app.state.ingestion = service = Ingestion(app, appender, sequencers, streams, settings)
    return service


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Ingestion = app.state.ingestion
    service.start()
    yield
    service.close()


def _sequencing(settings: Settings) -> Sequencing:
    return Sequencing(
        unit=settings.unit,
        ordering=Ordering(settings.lateness, settings.idle_seconds, settings.most_pending),
        linger_seconds=_LINGER_SECONDS[settings.profile],
    )


def _metrics(api: EdgesApi, sequencers: Sequencers) -> Iterable[Metric]:
    counts = api.counts
    edges = (Sample(counts.accepted, {"outcome": "accepted"}), Sample(counts.rejected, {"outcome": "rejected"}))
    yield Metric("graphtide_ingestion_edges_total", "counter", "Edges that came over HTTP.", edges)
    refused = (Sample(counts.refused_requests, {}),)
    yield Metric("graphtide_ingestion_refused_requests_total", "counter", "Requests told to come back.", refused)
    taken = (Sample(api.room.taken, {}),)
    yield Metric("graphtide_ingestion_in_flight_bytes", "gauge", "Bytes of requests that are under way.", taken)
    yield Metric("graphtide_ingestion_sequencers", "gauge", "Streams being put in order.", (Sample(sequencers.running, {}),))
