"""Routes that look at streams: where they end, what is counted of them, what was rejected."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from graphtide_core.errors import InvalidQueryError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import logical_stream, parts_of
from graphtide_ordering.stream_progress import FirstRejected
from graphtide_serving.access.guard import known_caller
from graphtide_serving.access.rights import ADMIN, READ_MATCHES, READ_PATTERNS
from graphtide_serving.routes import JsonRoute
from graphtide_wire.bodies.dead_letters import DeadLetter, DeadLettersPage
from graphtide_wire.bodies.streams import FirstRejection, Stream, StreamDetails, StreamProgressOut, StreamsPage, StreamStatement
from graphtide_wire.control import PatternRecord
from graphtide_wire.dead_letters import Source
from graphtide_wire.place import Place
from graphtide_wire.statistics import encode_statistics
from graphtide_wire.stream_definition import definition_of
from graphtide_wire.stream_schema import MOST_ATTRIBUTES
from graphtide_wire.stream_statement import StatementRecord
from graphtide_wire.topics import check_ordered, check_stream
from pydantic.json_schema import SkipJsonSchema

from graphtide_admin_api.application.dry_run import MOST_EDGES
from graphtide_admin_api.application.reading import Letter, NotedProgress
from graphtide_admin_api.application.reading import Stream as ReadStream
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.statement import unknown_inputs
from graphtide_admin_api.entrypoints.answers import EdgesOut
from graphtide_admin_api.entrypoints.forms import StatementIn
from graphtide_admin_api.entrypoints.parameters import CursorQuery, PlacePath, StreamPath, StreamQuery, Ticks, begin_of
from graphtide_admin_api.entrypoints.parts import Parts


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["streams"], route_class=JsonRoute)
    reads, sees = [Depends(parts.rights.of_stream(READ_PATTERNS))], [Depends(parts.rights.of_stream(READ_MATCHES))]
    administers = [Depends(parts.requires(ADMIN))]

    @routes.get("/streams", dependencies=[Depends(parts.rights.some(READ_PATTERNS))])
    def list_streams(request: Request) -> StreamsPage:
        """Return all streams that the caller may read."""
        patterns, caller = parts.view.patterns(), known_caller(request)
        known = parts.streams.all(partial(_parts_of, parts))
        return StreamsPage(streams=[_stream(each, patterns) for each in known if caller.may(READ_PATTERNS, stream=each.name)])

    @routes.get("/streams/{stream}", dependencies=reads)
    def get_stream(stream: StreamPath) -> StreamDetails:
        """Return a stream, its statement, and how far it was put in order."""
        return _details(parts, check(stream))

    @routes.put("/streams/{stream}", dependencies=administers)
    def put_stream(stream: StreamPath, wanted: StatementIn, response: Response) -> StreamDetails:
        """Register the STREAM statement of a stream, or replace it; another text is a new version. Makes the stream."""
        _, is_new = parts.statements.put(checked_sent(stream), wanted.text)
        response.status_code = 201 if is_new else 200
        return _details(parts, stream)

    @routes.delete("/streams/{stream}/statement", status_code=204, dependencies=administers)
    def delete_statement(stream: StreamPath) -> None:
        """Delete the STREAM statement of a stream: from the next record on, records are read as the edges that they are."""
        parts.statements.remove(checked_sent(stream))

    @routes.get("/streams/{stream}/edges:find", dependencies=sees)
    def find_edges(
        stream: StreamPath,
        *,
        ids: Annotated[
            list[str] | SkipJsonSchema[None], Query(alias="id", min_length=1, max_length=1_000, description="Ids of edges.")
        ] = None,
        vertex: Annotated[str | SkipJsonSchema[None], Query(description="In place of ids: an end of the edges.")] = None,
        since: Annotated[Ticks | SkipJsonSchema[None], Query(alias="from", description="At this time or later.")] = None,
        until: Annotated[Ticks | SkipJsonSchema[None], Query(alias="to", description="Before this time.")] = None,
        limit: Annotated[int, Query(ge=1, le=1_000, description="Most edges of a vertex.")] = 100,
    ) -> EdgesOut:
        """Return edges by their ids or by a vertex, as they were put in order: those of the newest epoch that has any of them.

        Neither is in an index: with `from` and `to`, which a match has as `first_ts` and `last_ts`, only those times are read.
        """
        if (ids is None) == (vertex is None):
            raise ProblemError(422, "invalid-request", "give either `id`, once or several times, or `vertex`")
        streams = ordered_streams(parts, stream)
        if vertex is not None:
            return EdgesOut.of(parts.edges.around(streams, vertex, since, until, limit))
        return EdgesOut.of(parts.edges.find(streams, ids or (), since, until))

    @routes.get("/streams/{stream}/edges", dependencies=sees)
    def list_newest_edges(
        stream: StreamPath, last: Annotated[int, Query(ge=1, le=MOST_EDGES, description="How many.")] = 100
    ) -> EdgesOut:
        """Return the newest edges and events of a stream, the newest first, as they were put in order."""
        return EdgesOut.of(parts.edges.newest(ordered_streams(parts, stream), last))

    @routes.delete("/streams/{stream}", status_code=204, dependencies=administers)
    def delete_stream(stream: StreamPath) -> None:
        """Delete a stream that no pattern reads, with its edges, dead letters and statistics; reported matches stay."""
        parts.deleting.delete(check(stream))

    @routes.get("/statistics/{stream}", dependencies=reads, response_class=Response)
    def get_statistics(stream: StreamPath) -> Response:
        """Return the newest snapshot of a stream: the record of the topic control.statistics."""
        found = parts.view.statistics(stream)
        if found is None:
            raise ProblemError(404, "not-found", f"nothing was counted of stream {stream!r}")
        return Response(encode_statistics(found), media_type="application/json")

    @routes.get("/dead-letters", dependencies=administers)
    def list_dead_letters(
        stream: StreamQuery = None, limit: Annotated[int, Query(ge=1, le=1_000)] = 100, cursor: CursorQuery = None
    ) -> DeadLettersPage:
        """Return the newest records that could not be used: of one stream page by page, or the last of each stream."""
        begin = begin_of(cursor)
        if stream is None and begin is not None:
            raise ProblemError(400, "bad-cursor", "a cursor of dead letters is one of a stream: add ?stream=")
        names = parts.streams.names() if stream is None else [check(stream)]
        pages = [parts.streams.letters(name, limit, begin) for name in names]
        following = pages[0].following if stream is not None else None
        return DeadLettersPage(
            dead_letters=[_show(letter) for page in pages for letter in page.found],
            next=None if following is None else str(following),
        )

    @routes.get("/dead-letters/{stream}/{place}", dependencies=administers)
    def get_dead_letter(stream: StreamPath, place: PlacePath) -> DeadLetter:
        """Return the dead letter at a place, `partition-offset`."""
        try:
            found = parts.streams.letter(check(stream), Place.of(place))
        except ValueError as error:
            raise ProblemError(400, "bad-place", str(error)) from error
        if found is None:
            raise ProblemError(404, "not-found", f"there is no dead letter {place} of stream {stream!r}")
        return _show(found)

    return routes


def _details(parts: Parts, stream: str) -> StreamDetails:
    patterns, found = parts.view.patterns(), parts.streams.one(stream, _parts_of(parts, stream))
    if found is None:
        raise ProblemError(404, "not-found", f"there is no stream {stream!r}")
    statement = parts.view.statement(stream)
    return StreamDetails(
        **msgspec.structs.asdict(_stream(found[0], patterns)),
        standing=None if found[1] is None else _progress(found[1]),
        statement=_statement(statement),
        warnings=_warnings(parts, statement),
    )


def ordered_streams(parts: Parts, stream: str) -> tuple[StreamName, ...]:
    """Return the ordered streams of a stream: itself, or its parts.

    Raises:
        ProblemError: there is no such stream.
    """
    if check(stream) not in parts.streams.names():
        raise ProblemError(404, "not-found", f"there is no stream {stream!r}")
    divided = _parts_of(parts, stream)
    return (StreamName(stream),) if divided is None else tuple(parts_of(StreamName(stream), divided))


def _parts_of(parts: Parts, stream: str) -> int | None:
    """Return in how many parts a stream is divided; None if it is not."""
    partition = parts.view.partition(stream)
    return None if partition is None else partition.parts


def _progress(noted: NotedProgress) -> StreamProgressOut:
    progress, counted = noted.stream_progress, noted.stream_progress.counted
    return StreamProgressOut(
        epoch=progress.epoch,
        watermark=progress.watermark,
        newest=progress.newest,
        read=counted.read,
        late=counted.late,
        future=counted.future,
        lateness=progress.lateness,
        ordered=counted.ordered,
        duplicates=counted.duplicates,
        replaced=counted.replaced,
        rejected=counted.rejected,
        filtered=counted.filtered,
        first=None if progress.first is None else _first(progress.first),
        note=noted.note,
    )


def _first(first: FirstRejected) -> FirstRejection:
    source = Source(None, first.partition, first.offset, first.line)
    return FirstRejection(code=first.code, reason=first.reason, place=_place(source), line=first.line)


def _statement(record: StatementRecord | None) -> StreamStatement | None:
    if record is None or record.is_removed:
        return None
    definition = msgspec.to_builtins(record.definition)
    return StreamStatement(version=record.version, text=record.text, definition=definition, updated_at=record.updated_at)


def _warnings(parts: Parts, record: StatementRecord | None) -> tuple[str, ...]:
    if record is None or record.definition is None:
        return ()
    seen = {**parts.view.schema(record.stream, "seen"), **parts.view.schema(record.stream, "declared")}
    # Past so many attributes, not all that records have are kept.
    return () if len(seen) >= MOST_ATTRIBUTES else tuple(unknown_inputs(definition_of(record.definition), seen))


def _stream(stream: ReadStream, patterns: Iterable[PatternRecord]) -> Stream:
    return Stream(
        name=stream.name,
        partitions=stream.partitions,
        first=stream.first,
        end=stream.end,
        dead_letters=stream.dead_letters,
        patterns=tuple(each.name for each in patterns if logical_stream(StreamName(each.stream)) == stream.name),
        parts=stream.parts,
    )


def check(stream: str) -> str:
    """Return the name if a stream may have it, merged or not.

    Raises:
        ProblemError: it may not.
    """
    return _check(stream, check_ordered)


def checked_sent(stream: str) -> str:
    """Return the name if a stream that edges are sent to may have it.

    Raises:
        ProblemError: it may not.
    """
    return _check(stream, check_stream)


def _check(stream: str, check: Callable[[str], None]) -> str:
    try:
        check(stream)
    except InvalidQueryError as error:
        raise ProblemError(400, "bad-stream", str(error)) from error
    return stream


def _place(source: Source) -> str | None:
    if source.partition is None or source.offset is None:
        return None
    return str(Place(source.partition, source.offset))


def _show(letter: Letter) -> DeadLetter:
    record = letter.record
    try:
        raw, raw_base64 = record.raw.decode(), None
    except UnicodeDecodeError:
        raw, raw_base64 = None, base64.b64encode(record.raw).decode()
    return DeadLetter(
        stream=letter.stream,
        place=str(letter.place),
        code=record.code,
        reason=record.reason,
        time=record.time,
        raw=raw,
        raw_base64=raw_base64,
        content_type=record.content_type,
        producer=record.producer,
        source_topic=record.source.topic,
        source_partition=record.source.partition,
        source_offset=record.source.offset,
        source_place=_place(record.source),
        source_line=record.source.line,
    )
