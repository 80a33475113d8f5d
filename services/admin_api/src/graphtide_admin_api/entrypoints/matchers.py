"""The route that looks at matcher services: what their shards cost, and how many there should be."""

from __future__ import annotations

from collections import defaultdict

import msgspec
from fastapi import APIRouter, Depends
from graphtide_serving.access.callers import READ_PATTERNS
from graphtide_serving.routes import JsonRoute
from graphtide_wire.hosts import HostRecord

from graphtide_admin_api.entrypoints.forms import MatcherOut, MatchersOut, ScalingOut, ShardOut
from graphtide_admin_api.entrypoints.parts import Parts


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["matchers"], route_class=JsonRoute)

    @routes.get("/matchers", dependencies=[Depends(parts.requires(READ_PATTERNS))])
    def list_matchers() -> MatchersOut:
        """Return what the shards of matcher services cost, and what was decided of how many there are."""
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
