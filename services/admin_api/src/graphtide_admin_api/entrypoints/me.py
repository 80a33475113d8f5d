"""The route that answers who asks."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from graphtide_serving.access.guard import known_caller
from graphtide_serving.routes import StrictRoute
from pydantic import BaseModel

from graphtide_admin_api.entrypoints.forms import like
from graphtide_admin_api.entrypoints.parts import Parts


class Me(BaseModel):
    """Who asks, and what they may do."""

    model_config = like({"name": "ann", "scopes": ["matches:read:stream=flows", "patterns:read"]})

    name: str
    scopes: list[str]


def router(parts: Parts) -> APIRouter:
    """Return the route."""
    routes = APIRouter(prefix="/api/v1", tags=["access"], route_class=StrictRoute)

    @routes.get("/me", dependencies=[Depends(parts.rights.known())])
    def get_me(request: Request) -> Me:
        """Return who asks, and what they may do: scopes, each of everything or of what a name says."""
        caller = known_caller(request)
        return Me(name=caller.name, scopes=sorted(caller.scopes))

    return routes
