"""The stream that an address names, which is not made for the request."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from graphtide_core.errors import CollidingTopicError, InvalidQueryError
from graphtide_core.ids import StreamName
from graphtide_serving.http import ProblemError

from graphtide_ingestion.application.streams import DerivedStreamError, UnknownStreamError

if TYPE_CHECKING:
    from graphtide_ingestion.application.streams import Streams


async def known_stream(streams: Streams, name: str) -> StreamName:
    """Return a stream that is there.

    Raises:
        ProblemError: there is none of this name, or it takes no edges.
        TransientError: the log does not answer.
    """
    try:
        if not streams.knows(name):
            await asyncio.to_thread(streams.require, name)
    except InvalidQueryError as error:
        raise no_stream(error) from error
    return StreamName(name)


def no_stream(error: InvalidQueryError) -> ProblemError:
    """Return the problem that a stream is not there, takes no edges, or that none can be called so."""
    if isinstance(error, DerivedStreamError):
        return ProblemError(HTTPStatus.CONFLICT, "derived-stream", str(error))
    if isinstance(error, CollidingTopicError):
        return ProblemError(HTTPStatus.CONFLICT, "name-collides", str(error))
    code = "unknown-stream" if isinstance(error, UnknownStreamError) else "invalid-stream-name"
    return ProblemError(HTTPStatus.NOT_FOUND, code, str(error))
