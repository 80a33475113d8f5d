"""The route of the deployment's health: what is wrong, and what helps."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from fastapi import APIRouter, Depends
from graphtide_serving.access.rights import READ_PATTERNS
from graphtide_serving.routes import StrictRoute
from graphtide_wire.bodies import TIME
from pydantic import BaseModel

from graphtide_admin_api.domain.deployment_health import Finding
from graphtide_admin_api.entrypoints.forms import like
from graphtide_admin_api.entrypoints.parts import Parts

_HEALTH: Final = {
    "state": "failing",
    "findings": [
        {
            "severity": "error",
            "code": "pattern-failed",
            "sentence": "Pattern burst has failed: it reached its limit of 1,000,000 partial matches",
            "subject": {"kind": "pattern", "name": "burst"},
            "help": "Mend what the reason names, and register the text again or resume the pattern.",
        }
    ],
    "more": 0,
    "services": [{"name": "sequencer", "state": "ok", "seen": TIME}],
}


class SubjectOut(BaseModel):
    """What a finding is about."""

    kind: Literal["pattern", "stream", "matcher", "service"]
    name: str


class FindingOut(BaseModel):
    """Something that is wrong: an error keeps matches from being found, a warning may."""

    severity: Literal["error", "warning"]
    code: str
    sentence: str
    subject: SubjectOut
    help: str

    @classmethod
    def of(cls, finding: Finding) -> FindingOut:
        """Return what is shown of a finding."""
        subject = SubjectOut(kind=finding.kind, name=finding.name)
        return cls(severity=finding.severity, code=finding.code, sentence=finding.sentence, subject=subject, help=finding.help)


class ServiceOut(BaseModel):
    """A service, and when it was last heard of; `unknown` where nothing in the log says whether it runs."""

    name: str
    state: Literal["ok", "silent", "unknown"]
    seen: datetime | None


class HealthOut(BaseModel):
    """The health of the deployment: `failing` with an error, `degraded` with a warning; `more` findings are left out."""

    model_config = like(_HEALTH)

    state: Literal["ok", "degraded", "failing"]
    findings: list[FindingOut]
    more: int
    services: list[ServiceOut]


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["monitoring"], route_class=StrictRoute)

    @routes.get("/health", dependencies=[Depends(parts.requires(READ_PATTERNS))])
    def get_health() -> HealthOut:
        """Return what is wrong with patterns, streams and services, the worst first, and what helps."""
        found = parts.health.look()
        services = [ServiceOut(name=each.name, state=each.state, seen=each.seen) for each in found.services]
        findings = [FindingOut.of(each) for each in found.findings]
        return HealthOut(state=found.state, findings=findings, more=found.more, services=services)

    return routes
