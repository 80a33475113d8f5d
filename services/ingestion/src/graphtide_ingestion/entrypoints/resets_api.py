"""Ending an epoch of a stream over HTTP: the command is written among its edges, and taken at its place there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Final

import structlog
from fastapi import APIRouter, Depends, Query, Request
from graphtide_core.errors import TransientError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Log
from graphtide_ordering.progress_reports import progress_of
from graphtide_serving.access.guard import caller_of
from graphtide_serving.access.rights import WRITE_PATTERNS
from graphtide_serving.http import Authorize, ProblemError
from graphtide_serving.routes import StrictRoute
from graphtide_telemetry import events
from graphtide_wire import raw
from graphtide_wire.raw import Reset
from graphtide_wire.topics import Topics
from pydantic import BaseModel

from graphtide_ingestion.application.answers import Answers
from graphtide_ingestion.application.appending import Appender
from graphtide_ingestion.application.divided_streams import DividedStreams
from graphtide_ingestion.application.streams import Streams
from graphtide_ingestion.entrypoints import bodies
from graphtide_ingestion.entrypoints.description import PROBLEMS, RESET, StreamPath
from graphtide_ingestion.entrypoints.known_streams import known_stream

_LOG = structlog.get_logger()
_ACKNOWLEDGE_SECONDS: Final = 15.0
_LONGEST_NAME: Final = 200

EpochQuery = Annotated[int | None, Query(ge=0, le=2**63 - 1, description="The epoch to end; the current one by default.")]


class EndedEpoch(BaseModel):
    """Which epoch of a stream is to end. It has ended once the stream is put in order up to the command."""

    stream: str
    ended: int


@dataclass(frozen=True, slots=True)
class Meant:
    """What a request with a key asked for, None where it named no epoch, and the epoch that it meant."""

    asked: int | None
    ends: int


class ResetsApi:
    """Takes requests to end epochs. All methods run in one event loop."""

    def __init__(
        self,
        log: Log,
        topics: Topics,
        *,
        appender: Appender,
        streams: Streams,
        divided: DividedStreams,
        meant: Answers[Meant],
    ) -> None:
        """Work with these; `meant` remembers which epoch an idempotency key means."""
        self._divided = divided
        self._log = log
        self._topics = topics
        self._appender = appender
        self._streams = streams
        self._meant = meant

    async def reset(self, name: str, epoch: int | None, request: Request) -> EndedEpoch:
        """Write the command that ends an epoch; one that is over already is not ended again.

        The epoch of a divided stream is that of the part which is furthest behind; parts that ended it do nothing.

        Raises:
            ProblemError: there is no such stream or epoch.
            TransientError: the log does not answer; it may still keep the command.
        """
        stream = await known_stream(self._streams, name)
        caller = caller_of(request.scope)
        whose = caller.name if caller is not None else ""
        key = bodies.idempotency_key(request)
        division = self._divided.division_of(stream)
        parts = None if division is None else division.parts
        progress = await asyncio.to_thread(progress_of, self._log, self._topics, stream, parts)
        current = 0 if progress is None else progress.epoch
        ends = current if epoch is None else epoch
        if ends > current:
            detail = f"stream {stream} is in epoch {current}: it has no epoch {ends} to end"
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "unknown-epoch", detail)
        if key is not None:
            ends = self._first((whose, stream, key), Meant(epoch, ends)).ends
        if ends == current:
            _LOG.warning(events.RESET_REQUESTED, stream=stream, epoch=ends, caller=whose)
            try:
                await self._write(stream, Reset(ends, whose[:_LONGEST_NAME] or None))
            except TransientError:
                # It may have been deleted: the next caller looks.
                self._streams.forget(stream)
                raise
        return EndedEpoch(stream=stream, ended=ends)

    def _first(self, key: tuple[str, str, str], own: Meant) -> Meant:
        """Return what the first request with a key meant: this one's if it is the first.

        It is remembered before the log answers: a request that failed may have been written.

        Raises:
            ProblemError: the first asked for another epoch.
        """
        first = self._meant.get(key)
        if first is None:
            self._meant.put(key, own)
            return own
        if first.asked != own.asked:
            detail = "this Idempotency-Key was sent with another epoch; give each request a key of its own"
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency-key-reused", detail)
        return first

    async def _write(self, stream: StreamName, reset: Reset) -> None:
        handed = self._appender.append([raw.encode_reset(self._topics.raw(stream), reset)])
        try:
            async with asyncio.timeout(_ACKNOWLEDGE_SECONDS):
                await asyncio.wrap_future(handed)
        except TimeoutError as error:
            message = f"the log did not answer within {_ACKNOWLEDGE_SECONDS:g} seconds"
            raise TransientError(message) from error


def resets_routes(api: ResetsApi, authorize: Authorize) -> APIRouter:
    """Return the route that ends an epoch of a stream."""
    writes = [Depends(authorize(WRITE_PATTERNS))]
    router = APIRouter(prefix="/api/v1", tags=["streams"], dependencies=writes, responses=PROBLEMS, route_class=StrictRoute)

    @router.post(
        "/streams/{stream}:reset-watermark",
        status_code=HTTPStatus.ACCEPTED,
        summary="Reset the times of a stream",
        openapi_extra=RESET,
    )
    async def reset_watermark(stream: StreamPath, request: Request, epoch: EpochQuery = None) -> EndedEpoch:
        return await api.reset(stream, epoch, request)

    return router
