"""Routes of the targets of alerts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Response
from graphtide_serving.access.rights import ADMIN
from graphtide_serving.routes import JsonRoute
from graphtide_wire.bodies import TIME
from graphtide_wire.control import SeverityName
from graphtide_wire.targets import MOST_TEXT, AlertAnswer, AlertCounts, DeadAlert, TargetKind, TargetRecord
from pydantic import BaseModel, Field
from starlette.convertors import StringConvertor, register_url_convertor

from graphtide_admin_api.application.alert_requests import MOST_REPLAYED
from graphtide_admin_api.entrypoints.forms import Strict, like
from graphtide_admin_api.entrypoints.parameters import CursorQuery, begin_of
from graphtide_admin_api.entrypoints.parts import Parts

_TARGET: Final = {
    "kind": "webhook",
    "address": "https://hooks.example.com/graphtide",
    "template": None,
    "patterns": "*",
    "severity": "high",
    "rate": 60,
    "retractions": False,
    "secret": "on-call.key",
}

_COUNTS: Final = {"accepted": 120, "delivered": 117, "dead": 1, "muted": 2, "summed": 0, "retried": 5}
_ID: Final = "4232d89a8d4c036f868a7bc9f0d7cb5f"

TargetNamePath = Annotated[str, Path(pattern="^[a-z0-9][a-z0-9_-]{0,62}$", description="Name of the target.")]


class TargetIn(Strict):
    """Where alerts go, and which; a secret is the name of a file in a folder of the service that delivers."""

    model_config = like(_TARGET)

    kind: TargetKind
    address: Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]
    template: Annotated[str, Field(max_length=MOST_TEXT)] | None = None
    patterns: Annotated[str, Field(min_length=1, max_length=200)] = "*"
    severity: SeverityName | None = None
    rate: Annotated[int, Field(ge=1, le=1_000_000, description="Messages a minute; others are summed up in one.")] | None = None
    retractions: bool = False
    secret: Annotated[str, Field(pattern="^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")] | None = None


class AlertCountsOut(BaseModel):
    """What became of the matches for a target: `accepted` is the sum of those delivered, dead, muted and summed up."""

    model_config = like(_COUNTS)

    accepted: int
    delivered: int
    dead: int
    muted: int
    summed: Annotated[int, Field(description="Matches over the rate, which one message sums up.")]
    retried: Annotated[int, Field(description="Attempts that failed and were repeated.")]


class TargetOut(BaseModel):
    """A target; `counts` is null until something was delivered or given up."""

    model_config = like({"name": "on-call", **_TARGET, "created_at": TIME, "counts": _COUNTS})

    name: str
    kind: TargetKind
    address: str
    template: str | None
    patterns: str
    severity: SeverityName | None
    rate: int | None
    retractions: bool
    secret: str | None
    created_at: datetime
    counts: AlertCountsOut | None

    @classmethod
    def of(cls, target: TargetRecord, counts: AlertCounts | None) -> TargetOut:
        """Return what is shown of a target."""
        shown = None if counts is None else AlertCountsOut(**_members(counts, AlertCountsOut))
        return cls(**_members(target, cls), counts=shown)


def _members(record: object, model: type[BaseModel]) -> dict[str, Any]:
    """Return what a model shows of a record, by name."""
    return {name: getattr(record, name) for name in model.model_fields if hasattr(record, name)}


class TargetsOut(BaseModel):
    """The targets, by their names."""

    targets: list[TargetOut]


class DeadAlertOut(BaseModel):
    """An alert that a target did not take; `match` is the match record, null of a sum."""

    model_config = like(
        {
            "id": _ID,
            "pattern": "exfiltration",
            "reason": "the receiver answered 400",
            "attempts": 1,
            "at": TIME,
            "unsaid": 0,
            "match": {"match_id": _ID, "query": "exfiltration", "kind": "match"},
        }
    )

    id: str
    pattern: str | None
    reason: str
    attempts: int
    at: datetime
    unsaid: Annotated[int, Field(description="Of a sum, how many matches it sums up.")]
    match: dict[str, Any] | None

    @classmethod
    def of(cls, dead: DeadAlert) -> DeadAlertOut:
        """Return what is shown of a dead alert."""
        given = {name: getattr(dead, name) for name in cls.model_fields if name != "match"}
        return cls(**given, match=None if dead.match is None else msgspec.json.decode(dead.match))


class DeadAlertsPage(BaseModel):
    """Dead alerts, the newest first; `next` is the cursor of the page after it, null if it is the last."""

    dead: list[DeadAlertOut]
    next: str | None


class AttemptOut(BaseModel):
    """What became of an attempt: `failed` if another may succeed, `refused` if none will, `unanswered` if nobody said."""

    model_config = like({"id": _ID, "outcome": "failed", "reason": "the receiver answered 503"})

    id: Annotated[str, Field(description="The idempotency key that was sent.")]
    outcome: Literal["delivered", "failed", "refused", "unanswered"]
    reason: str | None

    @classmethod
    def of(cls, id: str, answer: AlertAnswer | None) -> AttemptOut:
        """Return what is shown of an answer."""
        if answer is None:
            return cls(id=id, outcome="unanswered", reason="graphtide-alerts did not answer in time")
        return cls(id=id, outcome=answer.outcome, reason=answer.reason)


class ReplayIn(Strict):
    """Which dead alerts to send again."""

    model_config = like({"ids": [_ID]})

    ids: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(min_length=1, max_length=MOST_REPLAYED)]


class ReplayOut(BaseModel):
    """What became of each."""

    results: list[AttemptOut]


class _TargetName(StringConvertor):
    """A target's name in an address: what has a colon is an action on a target."""

    regex = "[^/:]+"


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    register_url_convertor("target", _TargetName())
    routes = APIRouter(prefix="/api/v1/targets", tags=["alerts"], route_class=JsonRoute)
    administers = [Depends(parts.requires(ADMIN))]

    def show(targets: list[TargetRecord]) -> list[TargetOut]:
        counts = parts.targets.counts()
        return [TargetOut.of(each, counts.get((each.name, each.created_at))) for each in targets]

    @routes.get("", dependencies=administers)
    def list_targets() -> TargetsOut:
        """Return the targets of alerts, with what became of the matches for each."""
        return TargetsOut(targets=show(parts.targets.all()))

    @routes.get("/{target:target}", dependencies=administers)
    def get_target(target: TargetNamePath) -> TargetOut:
        """Return a target of alerts."""
        return show([parts.targets.get(target)])[0]

    @routes.put("/{target:target}", dependencies=administers)
    def put_target(target: TargetNamePath, given: TargetIn, response: Response) -> TargetOut:
        """Make a target of alerts, or replace it."""
        record = TargetRecord(name=target, created_at=datetime.min.replace(tzinfo=UTC), **given.model_dump())
        made, is_new = parts.targets.put(record)
        if is_new:
            response.status_code = 201
        return show([made])[0]

    @routes.delete("/{target:target}", status_code=204, dependencies=administers)
    def delete_target(target: TargetNamePath) -> None:
        """Delete a target of alerts."""
        parts.targets.delete(target)

    @routes.post("/{target}:test", dependencies=administers)
    def test_target(target: TargetNamePath) -> AttemptOut:
        """Send a sample match to a target now, by one attempt, and return what became of it."""
        answer = parts.alert_requests.test(parts.targets.get(target).name)
        return AttemptOut.of(answer.alert, answer)

    @routes.get("/{target}/dead", dependencies=administers)
    def list_dead_alerts(
        target: TargetNamePath, limit: Annotated[int, Query(ge=1, le=1_000)] = 100, cursor: CursorQuery = None
    ) -> DeadAlertsPage:
        """Return the alerts that a target did not take, the newest first."""
        page = parts.alert_requests.dead(parts.targets.get(target).name, limit, begin_of(cursor))
        following = None if page.following is None else str(page.following)
        return DeadAlertsPage(dead=[DeadAlertOut.of(each) for each in page.found], next=following)

    @routes.post("/{target}/dead:replay", dependencies=administers)
    def replay_dead_alerts(target: TargetNamePath, given: ReplayIn) -> ReplayOut:
        """Send dead alerts to their target again, by one attempt each; the dead letters stay."""
        found = parts.alert_requests.replay(parts.targets.get(target).name, given.ids)
        return ReplayOut(results=[AttemptOut.of(id, answer) for id, answer in found])

    return routes
