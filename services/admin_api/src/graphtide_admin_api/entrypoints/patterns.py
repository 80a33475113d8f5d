"""Routes that register patterns and change them."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import logical_stream
from graphtide_serving.access.guard import known_caller
from graphtide_serving.access.rights import READ_PATTERNS, WRITE_PATTERNS
from graphtide_serving.routes import JsonRoute
from graphtide_wire.bodies.patterns import Pattern, PatternsPage
from graphtide_wire.control import PatternRecord
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from starlette.convertors import StringConvertor, register_url_convertor

from graphtide_admin_api.domain.registration import ACTIONS, PatternRequest
from graphtide_admin_api.entrypoints.answers import pattern_of
from graphtide_admin_api.entrypoints.forms import PatternChange, PatternIn
from graphtide_admin_api.entrypoints.parameters import AnyStreamQuery
from graphtide_admin_api.entrypoints.parts import Parts
from graphtide_admin_api.entrypoints.rights import Changes, may_read

_ONE: Final = "/patterns/{name:pattern}"

PageQuery = Annotated[
    Annotated[int, Field(ge=1, le=1_000)] | SkipJsonSchema[None], Query(description="Patterns of a page; all by default.")
]
NameQuery = Annotated[str | SkipJsonSchema[None], Query(description="`next` of the page before.")]
IfMatch = Annotated[str | None, Header(description="ETag of the state to change, or *.")]

Force = Annotated[
    bool, Query(description="If this removes a view that patterns read, let them fail. By default it is refused with 409.")
]


class _PatternName(StringConvertor):
    """A pattern's name in an address: what ends as an action does is an action on another pattern."""

    regex = rf"(?![^/]*(?:{'|'.join(ACTIONS)})$)[^/]+"


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    register_url_convertor("pattern", _PatternName())
    routes = APIRouter(prefix="/api/v1", tags=["patterns"], route_class=JsonRoute)
    reads_some, writes_some = [Depends(parts.rights.some(READ_PATTERNS))], [Depends(parts.rights.some(WRITE_PATTERNS))]
    reads, writes = [Depends(parts.rights.of_pattern(READ_PATTERNS))], [Depends(parts.rights.of_pattern(WRITE_PATTERNS))]

    def shown(record: PatternRecord, response: Response) -> Pattern:
        response.headers["ETag"] = f'"{record.etag}"'
        return _show(parts, record)

    def shown_at_first(record: PatternRecord, response: Response) -> Pattern:
        """Return the same of a pattern whose stream may not have been counted yet: its end is looked at."""
        found = shown(record, response)
        if not all(map(parts.view.is_counted, record.ordered_streams)):
            more = tuple(each for each in parts.first_look.warnings(record) if each not in found.warnings)
            return msgspec.structs.replace(found, warnings=(*found.warnings, *more))
        return found

    @routes.post("/patterns", status_code=201, dependencies=writes_some)
    def register_pattern(wanted: PatternIn, request: Request, response: Response) -> Pattern:
        """Register a pattern; its matches are reported from the end of its stream on."""
        record = parts.patterns.register(wanted.request(), Changes(request))
        response.headers["Location"] = f"/api/v1/patterns/{quote(record.name, safe='')}"
        return shown_at_first(record, response)

    @routes.get("/patterns", dependencies=reads_some)
    def list_patterns(
        request: Request, stream: AnyStreamQuery = None, limit: PageQuery = None, cursor: NameQuery = None
    ) -> PatternsPage:
        """Return the registered patterns, or those on one stream: all of them, or up to a limit page by page.

        They are those that the caller may read.
        """
        caller = known_caller(request)
        known = parts.view.patterns()
        on_it = (record for record in known if stream in (None, logical_stream(StreamName(record.stream))))
        records = [record for record in on_it if may_read(caller, READ_PATTERNS, record)]
        rest = [record for record in records if cursor is None or record.name > cursor]
        page = rest[:limit]
        return PatternsPage(
            patterns=[_show(parts, record) for record in page], next=page[-1].name if len(page) < len(rest) else None
        )

    @routes.get(_ONE, dependencies=reads)
    def get_pattern(name: str, response: Response) -> Pattern:
        """Return a pattern and its status."""
        return shown(parts.patterns.get(name)[0], response)

    @routes.put(_ONE, dependencies=writes_some)
    def put_pattern(
        name: str, wanted: PatternIn, request: Request, response: Response, if_match: IfMatch = None, *, force: Force = False
    ) -> Pattern:
        """Register a pattern under a name, or replace it; another text is a new version."""
        record, is_new = parts.patterns.put(name, wanted.request(), if_match, Changes(request), force=force)
        response.status_code = 201 if is_new else 200
        return shown_at_first(record, response)

    @routes.patch(_ONE, dependencies=writes)
    def change_pattern(
        name: str,
        wanted: PatternChange,
        request: Request,
        response: Response,
        if_match: IfMatch = None,
        *,
        force: Force = False,
    ) -> Pattern:
        """Change a part of a pattern."""
        record = parts.patterns.patch(name, wanted.request(), if_match, Changes(request), force=force)
        return shown_at_first(record, response)

    @routes.delete(_ONE, status_code=204, dependencies=writes)
    def delete_pattern(name: str, request: Request, if_match: IfMatch = None, *, force: Force = False) -> None:
        """Delete a pattern. A view that patterns read is refused with 409, unless they may fail."""
        parts.patterns.delete(name, if_match, Changes(request), force=force)

    @routes.post("/patterns/{name}:pause", dependencies=writes)
    def pause_pattern(name: str, request: Request, response: Response, if_match: IfMatch = None) -> Pattern:
        """Pause a pattern; matches that complete meanwhile are never reported."""
        seen = "*" if if_match is None else if_match
        return shown(parts.patterns.patch(name, PatternRequest(state="paused"), seen, Changes(request)), response)

    @routes.post("/patterns/{name}:resume", dependencies=writes)
    def resume_pattern(name: str, request: Request, response: Response, if_match: IfMatch = None) -> Pattern:
        """Resume a pattern from now on; one that a limit ended continues as its next version."""
        return shown(parts.patterns.resume(name, if_match, Changes(request)), response)

    return routes


def _show(parts: Parts, record: PatternRecord) -> Pattern:
    return pattern_of(record, parts.view.pattern_status(record), parts.view.warnings(record))
