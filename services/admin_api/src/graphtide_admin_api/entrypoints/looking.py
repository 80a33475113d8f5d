"""Routes that look at one pattern: its plan, its counts and its texts."""

from __future__ import annotations

from typing import Literal

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from graphtide_core.errors import InvalidQueryError
from graphtide_core.time import TimeUnit
from graphtide_query.explain import Seen, to_dot, to_json, to_text, with_evidence
from graphtide_query.families import family_of
from graphtide_query.nodes import Actual
from graphtide_serving.access.guard import known_caller
from graphtide_serving.access.rights import READ_PATTERNS
from graphtide_serving.routes import StrictRoute
from graphtide_wire.bodies.patterns import PatternStatistics
from graphtide_wire.plan_changes import PlanChangeRecord
from graphtide_wire.plans import evidence_of, plan_of

from graphtide_admin_api.application.pattern_versions import versions_of
from graphtide_admin_api.application.plan_changes import changes_of
from graphtide_admin_api.application.view import stream_of
from graphtide_admin_api.domain.pattern_status import PatternStatus
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.registration import read
from graphtide_admin_api.entrypoints.answers import PlanChangeOut, PlanHistoryOut, VersionOut, VersionsOut, counts_of
from graphtide_admin_api.entrypoints.parts import Parts

_TYPES = {"json": "application/json", "text": "text/plain; charset=utf-8", "dot": "text/vnd.graphviz"}


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1/patterns/{name}", tags=["patterns"], route_class=StrictRoute)
    reads = [Depends(parts.rights.of_pattern(READ_PATTERNS))]

    @routes.get("/plan", dependencies=reads, response_class=Response)
    def get_plan(name: str, format: Literal["json", "text", "dot"] = "json") -> Response:
        """Explain the last published plan: its steps with their estimates, and what its host has counted."""
        _, pattern_status = parts.patterns.get(name)
        return Response(_explain(name, pattern_status, format), media_type=_TYPES[format])

    @routes.get("/plan/history", dependencies=reads)
    def list_plan_changes(name: str, request: Request) -> PlanHistoryOut:
        """Return the last 20 changes of the plan, the newest first: what was published, why, and by what counts of hosts."""
        parts.patterns.get(name)
        caller = known_caller(request)

        def may_read(change: PlanChangeRecord) -> bool:
            return caller.may(READ_PATTERNS, pattern=name, stream=change.stream)

        found = changes_of(parts.log, parts.topics, name, may_read)
        return PlanHistoryOut(changes=[PlanChangeOut.of(each) for each in found])

    @routes.get("/statistics", dependencies=reads)
    def get_pattern_statistics(name: str) -> PatternStatistics:
        """Return what the pattern's host has counted, and how far it is behind its stream."""
        record, pattern_status = parts.patterns.get(name)
        counts = counts_of(pattern_status)
        behind = None
        if counts is not None and counts.position is not None:
            behind = parts.streams.edges_from(record.stream, counts.position)
        return PatternStatistics(state=pattern_status.state, reason=pattern_status.reason, figures=counts, behind=behind)

    @routes.get("/versions", dependencies=reads)
    def list_versions(name: str, request: Request) -> VersionsOut:
        """Return the last texts that the pattern had, the newest first; those on streams that the caller may read."""
        parts.patterns.get(name)
        caller = known_caller(request)
        kept = versions_of(parts.log, parts.topics, name)
        found = [each for each in kept if caller.may(READ_PATTERNS, pattern=name, stream=stream_of(each.text))]
        return VersionsOut(versions=[VersionOut(version=each.version, text=each.text, at=each.at) for each in found])

    return routes


def _explain(name: str, pattern_status: PatternStatus, format: str) -> str:
    if pattern_status.plan is None:
        raise ProblemError(404, "no-plan", f"pattern {name!r} has no plan: it is {pattern_status.state}")
    pattern = read(pattern_status.plan.pattern.text)
    status = pattern_status.status
    counts = (
        {"matches": status.matches, "partial_matches": status.partial_matches, "state_bytes": status.state_bytes}
        if status is not None
        else {}
    )
    if status is not None and status.suppressed:
        counts["suppressed"] = status.suppressed
    actuals = {item.name: Actual(item.peak, item.created, item.alive) for item in status.items} if status is not None else {}
    physical, considered = plan_of(pattern_status.plan.plan)
    seen, unit = Seen(actuals, counts), TimeUnit(pattern_status.plan.unit)
    try:
        explanation = family_of(pattern).explain_assigned(pattern, physical, considered, seen, unit)
    except InvalidQueryError as error:
        detail = f"the plan of {pattern.name!r} cannot be laid open, nor run: {error}"
        raise ProblemError(404, "no-plan", detail) from error
    explanation = with_evidence(explanation, evidence_of(pattern_status.plan.plan))
    if format == "json":
        (only,) = msgspec.json.decode(to_json([explanation]))
        return msgspec.json.encode(only).decode()
    return {"text": to_text, "dot": to_dot}[format]([explanation])
