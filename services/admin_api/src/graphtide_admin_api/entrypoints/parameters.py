"""Parameters of addresses: paths, queries and cursors."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path, Query
from graphtide_wire.place import Places
from graphtide_wire.topics import STREAM_NAME
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from graphtide_admin_api.domain.problems import ProblemError

MOST: Final = 9_223_372_036_854_775_000
"""About the greatest signed integer of 64 bits: one that a description, whose bounds are doubles, writes as it is."""

Ticks = Annotated[int, Field(ge=-MOST, le=MOST)]
"""A time of a stream."""

StreamPath = Annotated[str, Path(json_schema_extra={"pattern": f"^{STREAM_NAME}$"})]
StreamQuery = Annotated[str | SkipJsonSchema[None], Query(json_schema_extra={"pattern": f"^{STREAM_NAME}$"})]
AnyStreamQuery = Annotated[str | SkipJsonSchema[None], Query()]
PlacePath = Annotated[str, Path(json_schema_extra={"pattern": "^[0-9]{1,9}-[0-9]{1,18}$"})]
"""What fits another pattern is refused by the code that reads it, with a problem of its own."""

CursorQuery = Annotated[
    str | SkipJsonSchema[None],
    Query(
        description="`next` of the page before.",
        max_length=10_000,
        json_schema_extra={"pattern": r"^[0-9]{1,9}-[0-9]{1,18}(\.[0-9]{1,9}-[0-9]{1,18})*$"},
        examples=["0-17"],
    ),
]


def begin_of(cursor: str | None) -> Places | None:
    """Return what a page begins below.

    Raises:
        ProblemError: this is not a cursor.
    """
    try:
        return None if cursor is None else Places.of(cursor)
    except ValueError as error:
        raise ProblemError(400, "bad-cursor", "this is not a cursor: take `next` of another page") from error
