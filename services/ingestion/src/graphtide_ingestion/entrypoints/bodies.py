"""What a request says of its body: how it is written, how large it is, what its columns are called, and its whole text.

Bodies in one of `graphtide_core.formats` are read as they come; JSON and CloudEvents have to be there as a whole.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from fastapi import Request
from graphtide_core import formats
from graphtide_core.errors import PoisonRecordError
from graphtide_ordering.progress import LONGEST_NAME
from graphtide_ordering.raw_decoding import Refused
from graphtide_serving.http import ProblemError
from graphtide_serving.routes import JSON, media_type
from graphtide_wire.headers import TRACEPARENT_FORM
from starlette.requests import ClientDisconnect

from graphtide_ingestion.domain.body_reading import event_as_lines, events_as_lines

EVENT: Final = "application/cloudevents+json"
EVENTS: Final = "application/cloudevents-batch+json"

WHOLE: Final = frozenset({JSON, EVENT, EVENTS})
"""Types of bodies that have to be there as a whole."""

OF_MESSAGES: Final[dict[str, str]] = {
    "application/avro": formats.AVRO.value,
    "application/vnd.apache.avro": formats.AVRO.value,
    "avro/binary": formats.AVRO.value,
    "application/protobuf": formats.PROTOBUF.value,
    "application/x-protobuf": formats.PROTOBUF.value,
    "application/vnd.google.protobuf": formats.PROTOBUF.value,
}
"""Types of bodies that only a statement which states their format reads."""

STATED: Final = frozenset({"text/plain", "text/xml", "application/xml", *OF_MESSAGES})
"""Types that no stream is read in by itself: bodies of them need a statement of the stream that states its FORMAT."""

LONGEST_PRODUCER: Final = LONGEST_NAME
"""Characters of a sender's name."""

_LONGEST_KEY: Final = 255


def content_type(request: Request) -> str:
    """Return the type of the body.

    Raises:
        ProblemError: edges cannot be written in this type, or the body is compressed.
    """
    return media_type(request, {*_by_format(), *STATED}, "edges")


def is_delimited(request: Request) -> bool:
    """Whether a body of Protobuf says that it is messages with their lengths before them: `encoding=delimited`."""
    _, *stated = request.headers.get("content-type", "").lower().split(";")
    return any(each.replace(" ", "").replace('"', "") == "encoding=delimited" for each in stated)


def refuse_other_format(kind: str, stated: str) -> ProblemError | None:
    """Return the problem of a body whose type names another format than the statement of its stream; None if it does not."""
    named = OF_MESSAGES.get(kind)
    if named in {None, stated}:
        return None
    taken = ", ".join(sorted(each for each, format in OF_MESSAGES.items() if format == stated)) or "text/plain"
    detail = f"{kind!r} is {named}, and the statement of the stream reads {stated}: send {taken}"
    return ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", detail, headers={"Accept": taken})


def _by_format() -> frozenset[str]:
    return frozenset({*formats.media_types(), *WHOLE})


def refuse_unstated(kind: str) -> ProblemError:
    """Return the problem of a body whose type is one of `STATED`, on a stream without a FORMAT."""
    taken = ", ".join(sorted(_by_format()))
    detail = f"{kind!r} names no format, and no statement of the stream states one: register one with a FORMAT, or send {taken}"
    return ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", detail, headers={"Accept": taken})


def with_columns() -> list[str]:
    """Return the types of bodies whose columns can have other names."""
    return [kind for kind, format in formats.media_types().items() if format.has_header]


def declared_size(request: Request) -> int | None:
    """Return the size of the body in bytes, if the request has it."""
    declared = request.headers.get("content-length", "")
    return int(declared) if declared.isascii() and declared.isdigit() else None


def too_large(most: int) -> ProblemError:
    """Return the problem of a body with more bytes than are taken."""
    detail = f"the body has more than {most} bytes; send the edges in several requests"
    return ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body-too-large", detail, more={"accepted": 0})


def producer(request: Request) -> str | None:
    """Return the name that the sender gives itself.

    Raises:
        ProblemError: it is too long.
    """
    return _short(request, "graphtide-producer", LONGEST_PRODUCER)


def idempotency_key(request: Request) -> str | None:
    """Return the key that marks a repeated request.

    Raises:
        ProblemError: it is too long.
    """
    return _short(request, "idempotency-key", _LONGEST_KEY)


def traceparent(request: Request) -> str | None:
    """Return the trace that the request belongs to; None where the header is damaged, as W3C Trace Context wants it."""
    given = request.headers.get("traceparent", "")
    return given if TRACEPARENT_FORM.fullmatch(given) else None


def columns(given: str, kind: str) -> dict[str, str]:
    """Return the body's names of columns by canonical names, as `src:from,dst:to` gives them.

    Raises:
        ProblemError: it is written otherwise, or the body has no columns.
    """
    if not given:
        return {}
    format = formats.by_media_type(kind)
    if format is None or not format.has_header:
        detail = f"columns are those of {formats.one_of(with_columns())}; a body of {kind} has none"
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid-columns", detail)
    pairs = [pair.partition(":") for pair in given.split(",")]
    if any(not (canonical and colon and own) for canonical, colon, own in pairs):
        detail = "columns are given as `canonical:own`, with commas between them"
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid-columns", detail)
    return {canonical.strip(): own.strip() for canonical, _, own in pairs}


async def whole(request: Request, kind: str, most: int) -> tuple[bytes, list[Refused]]:
    """Return the edges of a body that is one JSON value, one a line, and the events that have none.

    Raises:
        ProblemError: it has more than `most` bytes, breaks off, or is not JSON.
    """
    body = bytearray()
    try:
        async for block in request.stream():
            body += block
            if len(body) > most:
                raise too_large(most)
    except ClientDisconnect as error:
        raise broken_off(0) from error
    try:
        if kind == EVENTS:
            return events_as_lines(bytes(body))
        return event_as_lines(bytes(body), kind, _of_cloud_event(request)), []
    except PoisonRecordError as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "unreadable-body", error.reason) from error


def _of_cloud_event(request: Request) -> tuple[tuple[str, bytes], ...]:
    """Return what headers say of a CloudEvent in binary mode, as records say it."""
    given = ((name, request.headers.get(f"ce-{name}")) for name in ("specversion", "type"))
    return tuple((f"ce_{name}", value.encode()) for name, value in given if value is not None)


def broken_off(accepted: int) -> ProblemError:
    """Return the problem of a body that ends before its end."""
    return ProblemError(HTTPStatus.BAD_REQUEST, "incomplete-body", "the body broke off", more={"accepted": accepted})


def _short(request: Request, header: str, most: int) -> str | None:
    given = request.headers.get(header)
    if given is not None and not 0 < len(given) <= most:
        detail = f"the header {header} has between 1 and {most} characters"
        raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid-header", detail)
    return given
