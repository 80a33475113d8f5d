"""The route that looks at matcher services: what their shards cost, and how many there should be."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Final, Literal

import msgspec
from fastapi import APIRouter, Depends
from graphtide_serving.access.rights import READ_PATTERNS
from graphtide_serving.routes import JsonRoute
from graphtide_wire.bodies import TIME
from graphtide_wire.hosts import HostRecord
from pydantic import BaseModel

from graphtide_admin_api.entrypoints.forms import like
from graphtide_admin_api.entrypoints.parts import Parts

_MATCHER: Final = {
    "service": "matcher_timing",
    "shards": [
        {
            "shard": 0,
            "at": TIME,
            "busy": 0.25,
            "memory_bytes": 134217728,
            "patterns": 12,
            "streams": [{"stream": "flows", "position": 4711, "lag_seconds": 0.5}],
        }
    ],
    "scaling": {
        "at": TIME,
        "mode": "on",
        "replicas": 1,
        "ready": 1,
        "wanted": 1,
        "least": 1,
        "most": 4,
        "reason": "the load is carried",
        "draining": None,
    },
}


class StreamPlaceOut(BaseModel):
    """How far a shard is in a stream: the offset it reads next, and how old the last record was when it was read."""

    stream: str
    position: int
    lag_seconds: float


class ShardOut(BaseModel):
    """One shard of a matcher service, as its host said last.

    `busy` is the share of its time that it did not wait for records; `patterns` are those that it is to run.
    """

    shard: int
    at: datetime
    busy: float
    memory_bytes: int
    patterns: int
    streams: list[StreamPlaceOut]


class ScalingOut(BaseModel):
    """What the planner decided of a service's replicas, and why.

    While they are to become fewer, patterns leave the shards from `draining` on.
    """

    at: datetime
    mode: Literal["follow", "dry-run", "on"]
    replicas: int
    ready: int
    wanted: int
    least: int
    most: int
    reason: str
    draining: int | None


class MatcherOut(BaseModel):
    """A matcher service; `scaling` is null where the planner is configured with the number of shards."""

    model_config = like(_MATCHER)

    service: str
    shards: list[ShardOut]
    scaling: ScalingOut | None


class MatchersOut(BaseModel):
    """Matcher services, by their names."""

    matchers: list[MatcherOut]


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["matchers"], route_class=JsonRoute)

    @routes.get("/matchers", dependencies=[Depends(parts.requires(READ_PATTERNS))])
    def list_matchers() -> MatchersOut:
        """Return what the shards of matcher services cost, and the last decision on the number of replicas."""
        planned, scaling = parts.view.planned_at(), {each.service: each for each in parts.view.scaling()}
        shards: defaultdict[str, list[ShardOut]] = defaultdict(list)
        for host in parts.view.hosts():
            shards[host.service].append(_shard(host, planned[host.service, host.shard]))
        return MatchersOut(
            matchers=[
                MatcherOut(
                    service=service,
                    shards=shards.get(service, []),
                    scaling=ScalingOut(**msgspec.structs.asdict(scaling[service])) if service in scaling else None,
                )
                for service in sorted({*shards, *scaling})
            ]
        )

    return routes


def _shard(host: HostRecord, patterns: int) -> ShardOut:
    return ShardOut.model_validate({**msgspec.to_builtins(host), "patterns": patterns})
