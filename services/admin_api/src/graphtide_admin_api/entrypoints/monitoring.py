"""Routes about how a deployment does: rates over time, what is wrong, and who asks."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Query, Request
from graphtide_serving.access.callers import READ_PATTERNS
from graphtide_serving.access.guard import caller_of
from graphtide_serving.routes import StrictRoute
from pydantic import BaseModel
from pydantic.json_schema import SkipJsonSchema

from graphtide_admin_api.application.monitor import MOST_STREAMS, NAMES, UNITS
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.time_series import LONG_SPAN, SHORT_SPAN
from graphtide_admin_api.entrypoints.forms import like
from graphtide_admin_api.entrypoints.parts import Parts

_MOST_POINTS: Final = 2_000_000


class SeriesOut(BaseModel):
    """A series: pairs of an instant in seconds since 1970 and its value, null where none is known."""

    name: str
    stream: str | None
    pattern: str | None
    unit: str
    points: list[tuple[int, float | None]]


class AllSeries(BaseModel):
    """Series with the step between their values in seconds. `truncated` says that there are too many to know all."""

    model_config = like(
        {
            "step": 5,
            "series": [{"name": "edges", "stream": "flows", "pattern": None, "unit": "1/s", "points": [[1704067200, 1250.0]]}],
            "truncated": False,
        }
    )

    step: int
    series: list[SeriesOut]
    truncated: bool


class SubjectOut(BaseModel):
    """What a finding is about."""

    kind: Literal["pattern", "stream", "matcher"]
    name: str


class FindingOut(BaseModel):
    """Something that is wrong, and what helps."""

    severity: Literal["error", "warning"]
    code: str
    sentence: str
    subject: SubjectOut
    help: str


class ServiceOut(BaseModel):
    """A service, and when it was last heard of."""

    name: str
    state: Literal["running", "silent"]
    seen: datetime


class Health(BaseModel):
    """How a deployment does: what is wrong, errors first, and the services that were heard of."""

    model_config = like(
        {
            "state": "failing",
            "findings": [
                {
                    "severity": "error",
                    "code": "pattern-failed",
                    "sentence": "Pattern burst has failed: it held more than 1,000,000 partial matches.",
                    "subject": {"kind": "pattern", "name": "burst"},
                    "help": "Change the text or the limits, and register it again.",
                }
            ],
            "services": [{"name": "matcher_timing 0", "state": "running", "seen": "2026-01-01T12:00:00Z"}],
        }
    )

    state: Literal["ok", "degraded", "failing"]
    findings: list[FindingOut]
    services: list[ServiceOut]


class Me(BaseModel):
    """Who asks, and what they may do."""

    model_config = like({"name": "ann", "scopes": ["matches:read", "patterns:read"]})

    name: str
    scopes: list[str]


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["monitoring"], route_class=StrictRoute)
    reads = [Depends(parts.requires(READ_PATTERNS))]

    @routes.get("/series", dependencies=reads)
    def get_series(
        names: Annotated[str, Query(max_length=1_000, description=f"Names with commas between: {', '.join(sorted(NAMES))}.")],
        stream: Annotated[str | SkipJsonSchema[None], Query(description="Those of this stream.")] = None,
        pattern: Annotated[str | SkipJsonSchema[None], Query(description="Those of this pattern.")] = None,
        last: Annotated[
            int | SkipJsonSchema[None], Query(ge=5, le=LONG_SPAN, description="Seconds back from now; an hour if not given.")
        ] = None,
    ) -> AllSeries:
        """Return rates and sizes over time, as this process saw them: every 5 s for an hour, the mean of 5 min for a week."""
        wanted = {name.strip() for name in names.split(",")}
        if unknown := sorted(wanted - NAMES):
            detail = f"there is no series {unknown[0]!r}: the names are {', '.join(sorted(NAMES))}"
            raise ProblemError(422, "invalid-request", detail)
        end = time.time()
        begin = end - (last or SHORT_SPAN)
        step, found = parts.monitor.find(wanted, begin, end + 1, stream, pattern)
        most = max(1, _MOST_POINTS // max(1, int(end - begin) // step + 1))
        return AllSeries(
            step=step,
            series=[
                SeriesOut(
                    name=each.subject.name,
                    stream=each.subject.stream,
                    pattern=each.subject.pattern,
                    unit=UNITS.get(each.subject.name, "1/s"),
                    points=each.points,
                )
                for each in found[:most]
            ],
            truncated=len(found) > most or parts.monitor.is_full,
        )

    @routes.get("/health", dependencies=reads)
    def get_health() -> Health:
        """Return what is wrong with patterns, streams and matchers, errors first, each with what helps."""
        found = parts.health.findings(parts.streams.names()[:MOST_STREAMS])
        is_failing = any(each.severity == "error" for each in found)
        return Health.model_validate(
            {
                "state": "failing" if is_failing else "degraded" if found else "ok",
                "findings": [
                    {
                        "severity": each.severity,
                        "code": each.code,
                        "sentence": each.sentence,
                        "subject": {"kind": each.kind, "name": each.name},
                        "help": each.help,
                    }
                    for each in found
                ],
                "services": [{"name": each.name, "state": each.state, "seen": each.seen} for each in parts.health.services()],
            }
        )

    @routes.get("/me", dependencies=reads)
    def get_me(request: Request) -> Me:
        """Return who asks, and what they may do."""
        caller = caller_of(request.scope)
        if caller is None:
            raise ProblemError(401, "unauthenticated", "the caller is unknown")
        return Me(name=caller.name, scopes=sorted(caller.scopes))

    return routes
