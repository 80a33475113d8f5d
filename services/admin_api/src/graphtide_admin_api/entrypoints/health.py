"""Routes for whoever runs the service: does it live, can it serve, what does it count."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter
from graphtide_core.errors import TransientError
from graphtide_runtime.http import health_routes
from graphtide_runtime.metrics import Metric, Sample

from graphtide_admin_api.entrypoints.parts import Parts


def router(parts: Parts) -> APIRouter:
    """Return the routes; they ask for no key."""

    def ready() -> None:
        parts.log.ping()
        if not parts.is_working():
            message = "a part of the service cannot go on; its log says why"
            raise TransientError(message)
        if not parts.view.is_ready:
            message = "what is registered is being read"
            raise TransientError(message)

    def metrics() -> Iterable[Metric]:
        yield parts.counts.metric()
        states = tuple(Sample(count, {"state": state}) for state, count in sorted(parts.view.states().items()))
        yield Metric("graphtide_patterns", "gauge", "Patterns that are registered, by state.", states)

    return health_routes(ready, metrics)
