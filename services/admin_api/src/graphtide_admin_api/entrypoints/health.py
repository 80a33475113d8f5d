"""Routes for whoever runs the service: does it live, can it serve, what does it count."""

from __future__ import annotations

from fastapi import APIRouter, Response
from graphtide_core.errors import GraphtideError

from graphtide_admin_api.entrypoints.parts import Parts


def router(parts: Parts) -> APIRouter:
    """Return the routes; they ask for no key."""
    routes = APIRouter(tags=["health"])

    @routes.get("/livez")
    def livez() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "alive"}

    @routes.get("/readyz", responses={503: {"description": "Not ready."}})
    def readyz(response: Response) -> dict[str, str]:
        """Say whether requests can be served: the log answers, and what was there is read."""
        try:
            parts.log.ping()
        except GraphtideError as error:
            response.status_code = 503
            return {"status": "the log does not answer", "reason": str(error)}
        if not parts.is_working():
            response.status_code = 503
            return {"status": "a part of the service cannot go on; its log says why"}
        if not parts.view.is_ready:
            response.status_code = 503
            return {"status": "what is registered is being read"}
        return {"status": "ready"}

    @routes.get("/metrics", response_class=Response)
    def metrics() -> Response:
        """Return the counts in the text format of Prometheus."""
        name = "graphtide_patterns"
        lines = [
            *parts.counts.lines(),
            f"# HELP {name} Patterns that are registered, by state.",
            f"# TYPE {name} gauge",
            *(f'{name}{{state="{state}"}} {count}' for state, count in sorted(parts.view.states().items())),
        ]
        return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")

    return routes
