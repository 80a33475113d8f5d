"""Routes that try patterns without registering any: are they valid, and what would they match?"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from fastapi import APIRouter, Depends, Request
from graphtide_core.any_pattern import ordered_stream
from graphtide_core.merged_streams import is_merged, logical_stream, parts_of
from graphtide_core.time import TimeUnit
from graphtide_serving.access.callers import Caller
from graphtide_serving.access.guard import known_caller, require, require_some
from graphtide_serving.access.rights import READ_MATCHES, READ_PATTERNS
from graphtide_serving.routes import JsonRoute
from graphtide_wire.matches import participants

from graphtide_admin_api.application.dry_run import DryRun, dry_run
from graphtide_admin_api.application.edges import Edge
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.registration import read_all
from graphtide_admin_api.entrypoints.answers import BadEdge, DryRunOut, EdgeOut, Flaw, PatternSummary, Validity
from graphtide_admin_api.entrypoints.dry_run_form import DRY_RUN, dry_run_of, edge_of
from graphtide_admin_api.entrypoints.dry_runs import DryRuns
from graphtide_admin_api.entrypoints.forms import TextIn
from graphtide_admin_api.entrypoints.parts import Parts


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["patterns"], route_class=JsonRoute)
    reads = [Depends(parts.rights.some(READ_PATTERNS))]
    bounds = parts.bounds
    dry_runs = DryRuns(bounds.most_simulations, bounds.most_simulations_a_caller, bounds.simulation_seconds)

    @routes.post("/patterns:validate", dependencies=reads)
    def validate_patterns(given: TextIn, request: Request) -> Validity:
        """Say whether a text is valid, and if not, where and why; warn of what may be misspelt or takes very many matches.

        Warnings follow from the streams, so they are of patterns that the caller may read.
        """
        try:
            patterns = read_all(given.text)
        except ProblemError as error:
            return Validity(valid=False, error=Flaw.model_validate({"detail": error.detail, **error.extra}))
        caller = known_caller(request)
        shown = [each for each in patterns if caller.may(READ_PATTERNS, pattern=each.name, stream=ordered_stream(each))]
        warnings = [f"pattern {each.name!r}: {text}" for each in shown for text in parts.view.warnings_before(each)]
        return Validity(valid=True, patterns=[PatternSummary.of(each) for each in patterns], warnings=warnings)

    @routes.post("/patterns:simulate", dependencies=reads, openapi_extra=DRY_RUN)
    async def dry_run_patterns(request: Request) -> DryRunOut:
        """Match patterns over a few edges, without registering anything."""
        caller, given = known_caller(request), await dry_run_of(request)
        if given.last is not None:
            require_some(caller, READ_MATCHES)
        newest: list[Edge] = []

        def work(is_unwanted: Callable[[], bool]) -> DryRun:
            unit = TimeUnit(given.time_unit)
            if given.last is None:
                edges = [edge_of(number, edge) for number, edge in enumerate(given.edges or (), start=1)]
            else:
                newest.extend(_read_newest(parts, caller, given.text, given.last))
                unit, edges = parts.view.unit() or unit, [edge.as_sent() for edge in reversed(newest)]
            return dry_run(given.text, edges, given.engine, unit, is_unwanted)

        found = await dry_runs.run(caller.name, request, work)
        return DryRunOut(
            matches=[msgspec.json.decode(match) for match in found.matches],
            engines=found.engines,
            rejected=[BadEdge(number=letter.line, reason=letter.reason) for letter in found.dead_letters],
            truncated=found.truncated,
            edges=_find_matched(found.matches, newest),
        )

    return routes


def _read_newest(parts: Parts, caller: Caller, text: str, most: int) -> list[Edge]:
    """Return the newest edges of the stream that patterns read, the newest first."""
    streams = {logical_stream(ordered_stream(pattern)) for pattern in read_all(text)}
    if len(streams) != 1 or is_merged(stream := next(iter(streams))):
        raise ProblemError(422, "invalid-request", "`last` needs patterns that all read one and the same stream")
    require(caller, READ_MATCHES, stream=stream)
    if stream not in parts.streams.names():
        raise ProblemError(404, "not-found", f"there is no stream {stream!r}")
    partition = parts.view.partition(stream)
    return parts.edges.newest((stream,) if partition is None else parts_of(stream, partition.parts), most).edges


def _find_matched(found: list[bytes], edges: list[Edge]) -> dict[str, EdgeOut]:
    """Return the edges that matches name, by their ids."""
    known, matched = {edge.id: edge for edge in edges}, dict[str, EdgeOut]()
    for body in found if known else ():
        for ids in participants(body).values():
            named = [ids] if isinstance(ids, str) else ids
            matched |= {id: EdgeOut.of(known[id]) for id in named if id in known and id not in matched}
    return matched
