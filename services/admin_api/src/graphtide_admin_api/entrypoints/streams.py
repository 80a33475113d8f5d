"""Routes that look at streams: where they end, what is counted of them, what was put aside."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from graphtide_core.errors import InvalidQueryError
from graphtide_core.predicate import RECORD_FIELDS
from graphtide_runtime.access.callers import ADMIN, READ_PATTERNS
from graphtide_runtime.routes import StrictRoute
from graphtide_wire.control import PatternRecord
from graphtide_wire.place import Place
from graphtide_wire.statistics import encode_statistics
from graphtide_wire.topics import check_stream

from graphtide_admin_api.application.reading import Letter, Stream
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.entrypoints.forms import (
    AttributeOut,
    CursorQuery,
    DeadLetterOut,
    DeadLettersOut,
    PlacePath,
    SchemaIn,
    SchemaOut,
    StreamDetails,
    StreamOut,
    StreamPath,
    StreamQuery,
    StreamsOut,
    StreamStanding,
    begin_of,
)
from graphtide_admin_api.entrypoints.parts import Parts


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["streams"], route_class=StrictRoute)
    reads = [Depends(parts.requires(READ_PATTERNS))]
    administers = [Depends(parts.requires(ADMIN))]

    @routes.get("/streams", dependencies=reads)
    def streams() -> StreamsOut:
        """Return the streams that there are."""
        patterns = parts.view.patterns()
        return StreamsOut(streams=[_stream(each, patterns) for each in parts.streams.all()])

    @routes.get("/streams/{stream}", dependencies=reads)
    def one(stream: StreamPath) -> StreamDetails:
        """Return a stream and how far it was put in order."""
        patterns, found = parts.view.patterns(), parts.streams.one(_checked(stream))
        if found is None:
            raise ProblemError(404, "not-found", f"there is no stream {stream!r}")
        standing = None
        if found[1] is not None:
            figures, counted = found[1].figures, found[1].figures.counted
            standing = StreamStanding(
                epoch=figures.epoch,
                watermark=figures.watermark,
                newest=figures.newest,
                read=counted.read,
                late=counted.late,
                future=counted.future,
                note=found[1].note,
            )
        return StreamDetails(**_stream(found[0], patterns).model_dump(), standing=standing)

    @routes.get("/streams/{stream}/schema", dependencies=reads)
    def schema(stream: StreamPath) -> SchemaOut:
        """Return what is known of a stream's attributes: what was declared, and what edges showed."""
        return _schema(parts, _checked(stream))

    @routes.put("/streams/{stream}/schema", dependencies=administers)
    def declare(stream: StreamPath, schema: SchemaIn) -> SchemaOut:
        """Declare types of attributes: an edge with a value of another type becomes a dead letter. None takes them back."""
        reserved = sorted(name for name in schema.attributes if name in {*RECORD_FIELDS, "op"})
        if reserved:
            raise ProblemError(
                422, "invalid-request", f"{reserved[0]!r} is no attribute: a record's own fields have their types"
            )
        parts.schemas.declare(_checked(stream), schema.attributes)
        return _schema(parts, stream)

    @routes.delete("/streams/{stream}", status_code=204, dependencies=administers)
    def delete(stream: StreamPath) -> None:
        """Delete a stream that no pattern reads, with its edges, dead letters and statistics; reported matches stay."""
        parts.deleting.delete(_checked(stream))

    @routes.get("/statistics/{stream}", dependencies=reads, response_class=Response)
    def statistics(stream: StreamPath) -> Response:
        """Return the newest snapshot of a stream: the record of the topic control.statistics."""
        found = parts.view.statistics(stream)
        if found is None:
            raise ProblemError(404, "not-found", f"nothing was counted of stream {stream!r}")
        return Response(encode_statistics(found), media_type="application/json")

    @routes.get("/dead-letters", dependencies=administers)
    def letters(
        stream: StreamQuery = None, limit: Annotated[int, Query(ge=1, le=1_000)] = 100, cursor: CursorQuery = None
    ) -> DeadLettersOut:
        """Return the newest records that could not be used: of one stream page by page, or the last of each stream."""
        begin = begin_of(cursor)
        if stream is None and begin is not None:
            raise ProblemError(422, "invalid-request", "a cursor is one of a stream: add ?stream=")
        names = parts.streams.names() if stream is None else [_checked(stream)]
        pages = [parts.streams.letters(name, limit, begin) for name in names]
        following = pages[0].following if stream is not None else None
        return DeadLettersOut(
            dead_letters=[_shown(letter) for page in pages for letter in page.found],
            next=None if following is None else str(following),
        )

    @routes.get("/dead-letters/{stream}/{place}", dependencies=administers)
    def letter(stream: StreamPath, place: PlacePath) -> DeadLetterOut:
        """Return the dead letter at a place, `partition-offset`."""
        try:
            found = parts.streams.letter(_checked(stream), Place.of(place))
        except ValueError as error:
            raise ProblemError(400, "bad-place", str(error)) from error
        if found is None:
            raise ProblemError(404, "not-found", f"there is no dead letter {place} of stream {stream!r}")
        return _shown(found)

    return routes


def _schema(parts: Parts, stream: str) -> SchemaOut:
    declared, seen = parts.view.schema(stream, "declared"), parts.view.schema(stream, "seen")
    attributes = [AttributeOut(name=name, type=kind, source="declared") for name, kind in declared.items()]
    attributes += [AttributeOut(name=name, type=kind, source="seen") for name, kind in seen.items() if name not in declared]
    return SchemaOut(stream=stream, attributes=sorted(attributes, key=lambda each: each.name))


def _stream(stream: Stream, patterns: Iterable[PatternRecord]) -> StreamOut:
    return StreamOut(
        name=stream.name,
        partitions=stream.partitions,
        first=stream.first,
        end=stream.end,
        dead_letters=stream.dead_letters,
        patterns=[record.name for record in patterns if record.stream == stream.name],
    )


def _checked(stream: str) -> str:
    try:
        check_stream(stream)
    except InvalidQueryError as error:
        raise ProblemError(400, "bad-stream", str(error)) from error
    return stream


def _shown(letter: Letter) -> DeadLetterOut:
    record = letter.record
    try:
        raw, raw_base64 = record.raw.decode(), None
    except UnicodeDecodeError:
        raw, raw_base64 = None, base64.b64encode(record.raw).decode()
    return DeadLetterOut(
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
        source_line=record.source.line,
    )
