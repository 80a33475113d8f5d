"""The route of time series: rates, delays and sizes of streams and patterns, from memory."""

from __future__ import annotations

import time
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from graphtide_serving.access.guard import known_caller, require
from graphtide_serving.access.rights import READ_PATTERNS
from graphtide_serving.routes import StrictRoute
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from graphtide_admin_api.application.series import ShownSeries
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.time_series import FINE_STEP, HOUR, UNITS, WEEK, SeriesKey
from graphtide_admin_api.entrypoints.forms import like
from graphtide_admin_api.entrypoints.parameters import AnyStreamQuery
from graphtide_admin_api.entrypoints.parts import Parts

_MOST_SECONDS: Final = 253_402_300_800
"""The end of the year 9999, in seconds since 1970."""

Seconds = Annotated[float, Field(ge=0, le=_MOST_SECONDS)]
NamesQuery = Annotated[str | SkipJsonSchema[None], Query(description="Names of series with commas between; all by default.")]
PatternQuery = Annotated[str | SkipJsonSchema[None], Query(description="Series of this pattern alone.")]


class SeriesOut(BaseModel):
    """Values over time, of a stream, of a pattern or of all; null where a value is unknown."""

    name: str
    stream: str | None
    pattern: str | None
    unit: str
    points: list[tuple[int, float | None]]

    @classmethod
    def of(cls, key: SeriesKey, points: list[tuple[int, float | None]]) -> SeriesOut:
        """Return what is shown of a series."""
        return cls(name=key.name, stream=key.stream, pattern=key.pattern, unit=UNITS[key.name], points=points)


class SeriesPage(BaseModel):
    """Series of one span; `step` is the seconds between points, `from` the time of the first one.

    `truncated` says that more than 100 series were asked for, and `left_out` how many the process has no room for.
    """

    model_config = like(
        {
            "step": 5,
            "from": 1767268800,
            "series": [
                {"name": "edges", "stream": "flows", "pattern": None, "unit": "1/s", "points": [[1767268800, 40.2]]},
                {"name": "lag", "stream": "flows", "pattern": "fan_out", "unit": "edges", "points": [[1767268800, None]]},
            ],
            "truncated": False,
            "left_out": 0,
        }
    )

    step: int
    begin: int = Field(alias="from")
    series: list[SeriesOut]
    truncated: bool
    left_out: int


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["monitoring"], route_class=StrictRoute)

    @routes.get("/series", dependencies=[Depends(parts.rights.some(READ_PATTERNS))])
    def list_series(
        request: Request,
        *,
        names: NamesQuery = None,
        stream: AnyStreamQuery = None,
        pattern: PatternQuery = None,
        last: Annotated[
            float | SkipJsonSchema[None], Query(gt=0, le=WEEK, description="Seconds up to now; 3600 without `from`.")
        ] = None,
        since: Annotated[Seconds | SkipJsonSchema[None], Query(alias="from", description="Seconds since 1970.")] = None,
        until: Annotated[Seconds | SkipJsonSchema[None], Query(alias="to", description="Seconds since 1970.")] = None,
    ) -> SeriesPage:
        """Return the time series that this process sampled: an hour in steps of 5 s, or a week in steps of 5 minutes.

        A caller with a right to a name gives the pattern or the stream.
        """
        caller = known_caller(request)
        if pattern is not None:
            parts.rights.require(caller, READ_PATTERNS, pattern)
        else:
            require(caller, READ_PATTERNS, stream=stream)
        asked, span = _names(names), _span(last, since, until)
        # The short steps go an hour back; a span that begins just then is one of them.
        is_fine = span[0] >= time.time() - HOUR - FINE_STEP
        shown = parts.series.show(asked, stream, pattern, span, is_fine=is_fine)
        return _page(shown, span)

    return routes


def _names(given: str | None) -> frozenset[str]:
    names = frozenset() if given is None else frozenset(name.strip() for name in given.split(",") if name.strip())
    if unknown := names - UNITS.keys():
        detail = f"there is no series {', '.join(sorted(unknown))}; there are {', '.join(UNITS)}"
        raise ProblemError(422, "unknown-series", detail)
    return names


def _span(last: float | None, since: float | None, until: float | None) -> tuple[float, float]:
    if last is not None and since is not None:
        raise ProblemError(422, "invalid-range", "give either `last` or `from`, not both")
    end = time.time() if until is None else until
    start = since if since is not None else end - (HOUR if last is None else last)
    if start >= end or end - start > WEEK:
        raise ProblemError(422, "invalid-range", f"a span is longer than nothing and at most a week: {start:.0f} to {end:.0f}")
    return start, end


def _page(shown: ShownSeries, span: tuple[float, float]) -> SeriesPage:
    begin = -int(-span[0] // shown.step) * shown.step
    series = [SeriesOut.of(key, points) for key, points in shown.series]
    return SeriesPage.model_validate(
        {"step": shown.step, "from": begin, "series": series, "truncated": shown.truncated, "left_out": shown.left_out}
    )
