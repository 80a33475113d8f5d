"""Routes about edges and events as they were put in order."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query
from graphtide_serving.access.callers import READ_MATCHES
from graphtide_serving.routes import JsonRoute
from pydantic.json_schema import SkipJsonSchema

from graphtide_admin_api.application.dry_run import MOST_EDGES
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.entrypoints.answers import EdgeOut, EdgesOut
from graphtide_admin_api.entrypoints.parameters import StreamPath, Ticks
from graphtide_admin_api.entrypoints.parts import Parts
from graphtide_admin_api.entrypoints.streams import ordered_streams

MOST_AROUND: Final = 1_000
"""Edges at a vertex that an answer has."""


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["streams"], route_class=JsonRoute)
    sees = [Depends(parts.requires(READ_MATCHES))]

    @routes.get("/streams/{stream}/edges:find", dependencies=sees)
    def find_edges(
        stream: StreamPath,
        ids: Annotated[
            list[str] | SkipJsonSchema[None],
            Query(alias="id", min_length=1, max_length=1_000, description="Ids of edges."),
        ] = None,
        vertex: Annotated[
            str | SkipJsonSchema[None], Query(max_length=10_000, description="A vertex at which edges begin or end.")
        ] = None,
        since: Annotated[Ticks | SkipJsonSchema[None], Query(alias="from", description="At this time or later.")] = None,
        until: Annotated[Ticks | SkipJsonSchema[None], Query(alias="to", description="Before this time.")] = None,
    ) -> EdgesOut:
        """Return edges by their ids, or at a vertex, as they were put in order: those of the newest epoch that has any of them.

        Ids are in no index: with `from` and `to`, which a match has as `first_ts` and `last_ts`, only those times are read.
        """
        streams = ordered_streams(parts, stream)
        if ids is not None and vertex is None:
            found = parts.edges.find(streams, ids, since, until)
        elif vertex is not None and ids is None:
            found = parts.edges.around(streams, vertex, since, until, MOST_AROUND)
        else:
            raise ProblemError(422, "invalid-request", "give ids of edges, or a vertex")
        return EdgesOut(edges=[EdgeOut.of(each) for each in found.edges], truncated=not found.is_whole)

    @routes.get("/streams/{stream}/edges:newest", dependencies=sees)
    def list_newest_edges(stream: StreamPath, last: Annotated[int, Query(ge=1, le=MOST_EDGES)] = 100) -> EdgesOut:
        """Return the newest edges or events of a stream, as they were put in order, the newest first."""
        found = parts.edges.last(ordered_streams(parts, stream), last)
        return EdgesOut(edges=[EdgeOut.of(each) for each in found.edges], truncated=not found.is_whole)

    return routes
