"""The route of what is valid at an instant, of streaming graph queries."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query
from graphtide_serving.access.rights import READ_MATCHES
from graphtide_serving.routes import StrictRoute
from graphtide_wire.bodies.matches import ResultsPage
from pydantic.json_schema import SkipJsonSchema

from graphtide_admin_api.application.results import Asked, ResultsCursor
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.entrypoints.parameters import MOST
from graphtide_admin_api.entrypoints.parts import Parts

AtQuery = Annotated[
    str | SkipJsonSchema[None],
    Query(
        description="The instant, in ticks of the stream or as a date and time; now by default: as far as the query has read.",
        max_length=100,
        examples=["6500", "2024-01-31T12:00:00Z"],
    ),
]
VersionQuery = Annotated[
    Annotated[int, Query(ge=1, le=MOST)] | SkipJsonSchema[None],
    Query(description="A version of the query; that which is registered by default."),
]
ResultsCursorQuery = Annotated[
    str | SkipJsonSchema[None],
    Query(
        description="`next` of the page before; it says the instant and the version, too.",
        max_length=100,
        json_schema_extra={"pattern": r"^[0-9]{1,18}\.-?[0-9]{1,19}\.[0-9a-f]{32}$"},
        examples=["1.6500.67213523c5049fe4b389d4eb2eeafcbb"],
    ),
]


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1/patterns/{name}", tags=["matches"], route_class=StrictRoute)

    @routes.get("/results", dependencies=[Depends(parts.rights.of_pattern(READ_MATCHES))])
    def list_results(
        name: str,
        at: AtQuery = None,
        version: VersionQuery = None,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
        cursor: ResultsCursorQuery = None,
    ) -> ResultsPage:
        """Return the results of a streaming graph query that are valid at an instant, as far as edges up to it say.

        They follow from what was reported in the longest window before it, which is read from the log for each page.
        """
        record, pattern_status = parts.patterns.get(name)
        found = parts.results.valid(record, pattern_status, Asked(version, at, _begin_of(cursor), limit))
        return ResultsPage(
            version=found.version,
            at=found.at,
            read_to=found.read_to,
            results=[msgspec.json.decode(each.to_json()) for each in found.found],
            complete=not found.flaws,
            notes=tuple(found.flaws),
            next=None if found.following is None else str(found.following),
        )

    return routes


def _begin_of(cursor: str | None) -> ResultsCursor | None:
    try:
        return None if cursor is None else ResultsCursor.of(cursor)
    except ValueError as error:
        raise ProblemError(400, "bad-cursor", "this is not a cursor: take `next` of another page") from error
