"""The order of checks on a request: whom it is for, who sends it and how often, and only then its body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from starlette.middleware.cors import CORSMiddleware

from graphtide_serving.access.guard import Admission
from graphtide_serving.protection.admission_limit import AdmissionLimit
from graphtide_serving.protection.bodies import BoundedBodies, Pace
from graphtide_serving.protection.hosts import Hosts, KnownHosts

if TYPE_CHECKING:
    from fastapi import FastAPI

    from graphtide_serving.access.guard import Guard


_ASKED_HEADERS: Final = (
    "Authorization",
    "Content-Type",
    "Graphtide-Producer",
    "Idempotency-Key",
    "If-Match",
    "Last-Event-ID",
    "Traceparent",
    "X-API-Key",
)
"""Headers that a page of another site may send."""

_EXPOSED_HEADERS: Final = ("Accept", "Allow", "ETag", "Location", "Retry-After", "WWW-Authenticate")
"""Headers that it may read beside those that every page may."""


@dataclass(frozen=True, slots=True)
class Protection:
    """The protection of an application.

    Attributes:
        guard: authenticates callers.
        hosts: names of the service.
        most_bytes: of bodies, held at once; a caller may hold half of them.
        most_held_bytes: of one body, held at once.
        pace: how slowly bodies may come.
    """

    guard: Guard
    hosts: Hosts
    most_bytes: int
    most_held_bytes: int
    pace: Pace = field(default_factory=Pace)


def allow_origins(app: FastAPI, hosts: Hosts) -> None:
    """Let browsers give answers of the application to pages of other sites that may call it (CORS)."""
    if hosts.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=sorted(hosts.origins),
            allow_methods=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=_ASKED_HEADERS,
            expose_headers=_EXPOSED_HEADERS,
        )


def protect(app: FastAPI, protection: Protection) -> AdmissionLimit:
    """Put the protection before an application, outside of earlier middleware. Return the room of its bodies."""
    admission_limit = AdmissionLimit(protection.most_bytes, protection.most_bytes // 2)
    app.add_middleware(
        BoundedBodies, admission_limit=admission_limit, most_held_bytes=protection.most_held_bytes, pace=protection.pace
    )
    app.add_middleware(Admission, guard=protection.guard)
    allow_origins(app, protection.hosts)
    app.add_middleware(KnownHosts, hosts=protection.hosts)
    return admission_limit
