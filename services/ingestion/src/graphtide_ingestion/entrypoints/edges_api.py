"""Edges over HTTP: bodies read block by block, written as they are read, answered when the log keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from fastapi import Request
from graphtide_core import formats
from graphtide_core.errors import InvalidQueryError, PoisonRecordError, TransientError, UnreadableStreamError
from graphtide_core.formats import StreamFormat
from graphtide_core.ids import StreamName
from graphtide_core.ports.clock import Clock
from graphtide_core.ports.log import Log, Message
from graphtide_ordering.statements import Statement
from graphtide_serving.access.guard import caller_of
from graphtide_serving.http import ProblemError
from graphtide_serving.protection.bodies import held_by
from graphtide_serving.routes import JSON, has_body, media_type
from graphtide_telemetry import attributes, metrics
from graphtide_telemetry.instruments import add
from graphtide_wire.place import Place
from graphtide_wire.topics import Topics
from graphtide_wire.verdicts import VerdictRecord
from starlette.requests import ClientDisconnect

from graphtide_ingestion.application.appending import Appender
from graphtide_ingestion.application.awaited_verdicts import AwaitedVerdict, AwaitedVerdicts
from graphtide_ingestion.application.receiving import NewStream, Reception, Sender, letter_at
from graphtide_ingestion.application.stream_schemas import StreamSchemas
from graphtide_ingestion.application.stream_statements import LastStatements
from graphtide_ingestion.application.streams import Streams
from graphtide_ingestion.domain.body_reading import BodyReader
from graphtide_ingestion.domain.message_reading import MESSAGES, MessageReader
from graphtide_ingestion.domain.statement_reading import StatementReader
from graphtide_ingestion.domain.stream_types import StreamTypes
from graphtide_ingestion.entrypoints import bodies
from graphtide_ingestion.entrypoints.fingerprint import Fingerprint
from graphtide_ingestion.entrypoints.idempotent_answers import IdempotentAnswers
from graphtide_ingestion.entrypoints.known_streams import known_stream, no_stream
from graphtide_ingestion.entrypoints.sending import sending
from graphtide_ingestion.entrypoints.sent_answer import Answer, describe_new_stream

_START_SECONDS: Final = 5.0
"""How long requests right after a start wait for what is known of streams."""

_MOST_HELD_BYTES: Final = 4 * 1024 * 1024
"""Dead letters of a request that are held while it is not known whether its stream is made."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds on what requests may cost.

    Attributes:
        most_body_bytes: of a body that is read as it comes.
        most_value_bytes: of a body that has to be there as a whole.
        most_waiting_bytes: of one request, read and not acknowledged by the log yet.
        most_held_bytes: of one request, in all: what waits, and an edge that is not whole yet.
        acknowledge_seconds: how long the log may take for a request.
    """

    most_body_bytes: int = 256 * 1024 * 1024
    most_value_bytes: int = 1024 * 1024
    most_waiting_bytes: int = 4 * 1024 * 1024
    most_held_bytes: int = 20 * 1024 * 1024
    acknowledge_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class Wait:
    """How long a sender waits for the ordering of its edges; None if it does not."""

    seconds: float | None = None

    @classmethod
    def of(cls, what: str | None, seconds: float) -> Wait:
        """Return what the parameters of a request say."""
        return cls(None if what is None else seconds)


def _states_format(statement: Statement | None) -> bool:
    return statement is not None and not statement.is_removed and statement.states_format


def _by_statement(statement: Statement, format: StreamFormat, sender: Sender) -> StatementReader | MessageReader:
    name = statement.format_name(format)
    if (problem := bodies.refuse_other_format(sender.content_type, name)) is not None:
        raise problem
    try:
        if name in MESSAGES:
            return MessageReader(statement, is_delimited=sender.is_delimited)
        return StatementReader(statement, format)
    except UnreadableStreamError as error:
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", str(error)) from error


class EdgesApi:
    """Takes bodies of edges. All methods run in one event loop."""

    def __init__(
        self,
        log: Log,
        topics: Topics,
        clock: Clock,
        *,
        appender: Appender,
        streams: Streams,
        schemas: StreamSchemas,
        statements: LastStatements,
        verdicts: AwaitedVerdicts,
        idempotent_answers: IdempotentAnswers[tuple[Fingerprint, Answer]],
        limits: HttpLimits,
        least_batch: int | None,
    ) -> None:
        """Work with these; `least_batch` is that of `BodyReader`."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._appender = appender
        self._streams = streams
        self._schemas = schemas
        self._statements = statements
        self._verdicts = verdicts
        self._idempotent_answers = idempotent_answers
        self._limits = limits
        self._least_batch = least_batch

    async def send(
        self, name: str, columns: str, request: Request, *, wait: Wait = Wait(), is_of_events: bool = False
    ) -> Answer:
        """Take the edges of a request; `columns` has the other names of columns of its CSV.

        A stream that is not there is made with the first edge that can be used, if edges make streams.

        Raises:
            ProblemError: why not, or why not all of them; `accepted` is how many of the first were.
        """
        kind = bodies.content_type(request)
        named, key = bodies.producer(request), bodies.idempotency_key(request)
        mapping = bodies.columns(columns, kind)
        stream, new = await self._stream(name)
        try:
            with sending(self._topics.raw(stream), request) as traceparent:
                delimited = bodies.is_delimited(request)
                sender = Sender(stream, kind, named, traceparent, new, is_of_events, is_delimited=delimited)
                if key is None:
                    return await self._take(sender, request, mapping, wait)
                caller = caller_of(request.scope)
                scope = (caller.name if caller is not None else "", stream, key)
                return await self._take_once(scope, sender, request, mapping, wait)
        except ProblemError as error:
            error.more |= describe_new_stream(new)
            raise
        except TransientError:
            # It may have been deleted: the next sender looks.
            self._streams.forget(stream)
            raise

    async def _take_once(
        self, key: Hashable, sender: Sender, request: Request, columns: Mapping[str, str], wait: Wait
    ) -> Answer:
        """Take the edges of the first request with a key; give the same answer to requests that repeat it.

        Raises:
            ProblemError: the key was another request's, or as `_take`.
        """
        own = Fingerprint(request)

        async def take() -> tuple[Fingerprint, Answer]:
            return own, await self._take(sender, own.reading(), columns, wait)

        first, answer = await self._idempotent_answers.do(key, take)
        if first is not own:
            await own.read(self._most_bytes(sender), held_by(request.scope).give_back)
            if not own.is_of(first):
                detail = "this Idempotency-Key was sent with another request; give each request a key of its own"
                raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency-key-reused", detail, more={"accepted": 0})
        return answer

    async def replay(self, name: str, place: str, request: Request, wait: Wait = Wait()) -> Answer:
        """Take the body in place of a dead letter, from the sender of the letter; an empty one is the letter as it was.

        Raises:
            ProblemError: there is no such letter, or as `send`.
        """
        if has_body(request):
            media_type(request, [JSON], "an edge in place of a dead letter")
        try:
            partition, offset = Place.of(place)
        except ValueError as error:
            raise ProblemError(HTTPStatus.BAD_REQUEST, "bad-place", str(error)) from error
        stream = await known_stream(self._streams, name)
        try:
            letter = await asyncio.to_thread(letter_at, self._log, self._topics, stream, partition, offset)
        except PoisonRecordError as error:
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "unreadable-letter", error.reason) from error
        if letter is None:
            detail = f"stream {stream} has no dead letter at {place}"
            raise ProblemError(HTTPStatus.NOT_FOUND, "unknown-letter", detail)
        body, _ = await bodies.whole(request, JSON, self._limits.most_value_bytes)
        written = (letter.content_type or "").partition(";")[0].strip().lower()
        format = formats.DEFAULT if body else formats.by_media_type(written) or formats.DEFAULT
        if format.has_header:
            detail = f"this letter is a line of {format.title}; send the edge as JSON"
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "columns-unknown", detail)
        sender = Sender(stream, JSON, letter.producer, letter.traceparent)
        statement = await self._statement(stream)

        async def take(sender: Sender) -> Reception:
            if statement is None or statement.is_removed:
                version = None if statement is None else statement.version
                types = await self._types(stream)
                reader = BodyReader(format, types=types, least_batch=self._least_batch, statement=version)
                reception = Reception(sender, reader, self._topics, self._clock)
            else:
                reception = Reception(sender, _by_statement(statement, format, sender), self._topics, self._clock)
            messages = [*reception.push(body or letter.raw), *reception.finish()]
            await self._acknowledged([self._appender.append(messages)])
            return reception

        return await self._waiting(sender, wait, take)

    async def _stream(self, name: str) -> tuple[StreamName, NewStream | None]:
        """Return the stream that edges are for, and whether it is to be made for them."""
        made = None
        try:
            if not self._streams.knows(name):
                made = await asyncio.to_thread(self._streams.find, name)
        except InvalidQueryError as error:
            raise no_stream(error) from error
        return StreamName(name), None if made is None else NewStream(made)

    async def _writable(self, reception: Reception, messages: Sequence[Message]) -> Sequence[Message]:
        """Return what may be written now: nothing while no edge for a new stream could be used; with the first it is made.

        A request that begins with more bad edges than are held makes it, too: they are in its dead letters.
        """
        new = reception.sender.new
        if new is None or new.is_there:
            return messages
        new.held += messages
        if not reception.accepted and _size(new.held) < _MOST_HELD_BYTES:
            return ()
        try:
            await asyncio.to_thread(self._streams.make, reception.sender.stream)
        except InvalidQueryError as error:
            raise no_stream(error) from error
        new.is_there = True
        held, new.held = new.held, []
        return held

    async def _take(self, sender: Sender, request: Request, columns: Mapping[str, str], wait: Wait) -> Answer:
        declared = bodies.declared_size(request)
        most = self._most_bytes(sender)
        if declared is not None and declared > most:
            raise bodies.too_large(most)
        try:
            return await self._waiting(sender, wait, lambda sender: self._read(sender, request, columns))
        except ProblemError as error:
            if error.status is HTTPStatus.TOO_MANY_REQUESTS:
                add(metrics.REFUSED_REQUESTS, 1)
            raise

    def _most_bytes(self, sender: Sender) -> int:
        return self._limits.most_value_bytes if sender.content_type in bodies.WHOLE else self._limits.most_body_bytes

    async def _waiting(self, sender: Sender, wait: Wait, take: Callable[[Sender], Awaitable[Reception]]) -> Answer:
        """Take edges; if the sender waits for their ordering, answer when it is known, or its time is over."""
        if wait.seconds is None:
            return self._answer(await take(sender))
        # Parts of a stream put it in order by themselves, and none of them knows the whole body.
        statement = await self._statement(sender.stream)
        is_divided = statement is not None and statement.division is not None
        awaited = None if is_divided else self._verdicts.begin()
        if awaited is None:
            return replace(self._answer(await take(sender)), waited=True)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_START_SECONDS):
                    await asyncio.shield(asyncio.wrap_future(awaited.is_heard))
            reception = await take(replace(sender, receipt=awaited.receipt))
            new = reception.sender.new
            written = reception.records if new is None or new.is_there else 0
            verdict = await self._verdict(awaited, written, wait.seconds)
        finally:
            self._verdicts.end(awaited)
        return replace(self._answer(reception), waited=True, verdict=verdict)

    async def _verdict(self, awaited: AwaitedVerdict, records: int, seconds: float) -> VerdictRecord | None:
        """Return what ordering did with the edges of so many records; None if that is not known in time."""
        self._verdicts.expect(awaited, records)
        if not awaited.is_heard.done():
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await asyncio.shield(asyncio.wrap_future(awaited.verdict))
        return None

    async def _read(self, sender: Sender, request: Request, columns: Mapping[str, str]) -> Reception:
        reception = await self._reception(sender, columns)
        waiting: list[Future[None]] = []
        try:
            if sender.content_type in bodies.WHOLE:
                body, refused = await bodies.whole(request, sender.content_type, self._limits.most_value_bytes)
                found = await self._writable(reception, [*reception.push(body), *reception.refuse(refused)])
                waiting.append(self._appender.append(found))
            else:
                await self._write_as_it_comes(request, reception, waiting)
            rest = reception.finish()
            seen = self._schemas.seen(sender.stream, reception.seen) if reception.accepted or sender.new is None else []
            if last := await self._writable(reception, [*rest, *seen]):
                waiting.append(self._appender.append(last))
        except UnreadableStreamError as error:
            await self._acknowledged(waiting)
            more = {"accepted": reception.accepted}
            raise ProblemError(HTTPStatus.BAD_REQUEST, "unreadable-body", str(error), more=more) from error
        await self._acknowledged(waiting)
        return reception

    async def _types(self, stream: StreamName) -> StreamTypes:
        """Return what is known of the stream's attributes.

        Raises:
            TransientError: right after a start, it is not read yet.
        """
        if not self._schemas.is_whole:
            await asyncio.to_thread(self._schemas.wait, _START_SECONDS)
        return self._schemas.of(stream)

    async def _statement(self, stream: StreamName) -> Statement | None:
        """Return the statement of a stream, or that it was removed. Raises as `_types`."""
        if not self._statements.is_whole:
            await asyncio.to_thread(self._statements.wait, _START_SECONDS)
        return self._statements.of(stream)

    async def _reception(self, sender: Sender, columns: Mapping[str, str]) -> Reception:
        format = formats.by_media_type(sender.content_type) or formats.DEFAULT
        statement = await self._statement(sender.stream)
        if sender.content_type in bodies.STATED and not _states_format(statement):
            raise bodies.refuse_unstated(sender.content_type)
        if statement is not None and not statement.is_removed:
            if columns:
                detail = "the stream has a statement, which says what its columns are: leave ?columns= out"
                raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid-columns", detail)
            return Reception(sender, _by_statement(statement, format, sender), self._topics, self._clock)
        types = await self._types(sender.stream)
        try:
            has_substitutes = sender.content_type == bodies.EVENTS
            reader = BodyReader(
                format,
                columns,
                substitutes=has_substitutes,
                types=types,
                least_batch=self._least_batch,
                statement=None if statement is None else statement.version,
            )
        except UnreadableStreamError as error:
            raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid-columns", str(error)) from error
        return Reception(sender, reader, self._topics, self._clock)

    async def _write_as_it_comes(self, request: Request, reception: Reception, waiting: list[Future[None]]) -> None:
        """Write what is read, and read no faster than the log acknowledges."""
        read = unacknowledged = 0
        try:
            async for block in request.stream():
                read += len(block)
                if read > self._limits.most_body_bytes:
                    raise bodies.too_large(self._limits.most_body_bytes)
                messages = await self._writable(reception, reception.push(block))
                if messages:
                    waiting.append(self._append(request, messages))
                    unacknowledged += _size(messages)
                if unacknowledged >= self._limits.most_waiting_bytes // 2:
                    await self._acknowledged(waiting)
                    unacknowledged = 0
        except ClientDisconnect as error:
            raise bodies.broken_off(reception.accepted) from error
        except ProblemError as error:
            await self._acknowledged(waiting)
            error.more["accepted"] = reception.accepted
            raise

    def _append(self, request: Request, messages: Sequence[Message]) -> Future[None]:
        """Hand messages over; their room is free when the log has answered."""
        handed = self._appender.append(messages)
        held, size = held_by(request.scope), _size(messages)
        loop = asyncio.get_running_loop()

        def answered(_: Future[None]) -> None:
            # The loop may have ended meanwhile, and the request with it.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(held.give_back, size)

        handed.add_done_callback(answered)
        return handed

    async def _acknowledged(self, waiting: list[Future[None]]) -> None:
        """Wait until the log keeps all of it.

        Raises:
            TransientError: the log does not answer; it may still keep what was written.
        """
        taken, waiting[:] = waiting[:], []
        try:
            async with asyncio.timeout(self._limits.acknowledge_seconds):
                await asyncio.gather(*(asyncio.wrap_future(each) for each in taken))
        except TimeoutError as error:
            message = f"the log did not answer within {self._limits.acknowledge_seconds:g} seconds"
            raise TransientError(message) from error

    def _answer(self, reception: Reception) -> Answer:
        for outcome, edges in (("accepted", reception.accepted), ("rejected", reception.rejected)):
            add(metrics.RECEIVED_EDGES, edges, {attributes.STREAM: reception.sender.stream, attributes.OUTCOME: outcome})
        reasons = tuple(reception.by_code.values())
        errors, new = tuple(reception.errors), reception.sender.new
        return Answer(reception.accepted, reception.rejected, errors, reasons, reception.filtered, new)


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message.value or b"") for message in messages)
