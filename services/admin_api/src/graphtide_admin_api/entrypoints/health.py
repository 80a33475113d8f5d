"""Routes for operators of the service: does it live, can it serve, what does it count."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter
from graphtide_serving.http import health_routes
from graphtide_telemetry.health import Finding, check

from graphtide_admin_api.entrypoints.parts import Parts


def router(parts: Parts) -> APIRouter:
    """Return the routes; they ask for no key."""
    return health_routes(parts.alive, lambda: readiness(parts))


def readiness(parts: Parts) -> Iterable[Finding]:
    """Look whether requests can be answered."""
    yield from parts.ready()
    yield check("log", parts.log.ping)
    yield Finding("registrations", None if parts.view.is_whole else "what is registered is being read")
