"""An alert: one message to a target, about a match or about the matches over its rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from graphtide_core.message_template import render_message
from graphtide_wire.control import AnnotationsForm

if TYPE_CHECKING:
    from graphtide_wire.matches import MatchEvent
    from graphtide_wire.targets import DeadAlert, TargetRecord


@dataclass(frozen=True, slots=True)
class Alert:
    """One message.

    Attributes:
        id: the idempotency key: the same for every attempt, also after a crash.
        type: `match`, `retract` and so on as the match record says, or `sum`.
        content: what is sent, as members of JSON.
        pattern: name of the pattern; None of a sum.
        match: the match record, as it was read; None of a sum.
        unsaid: of a sum, how many matches it sums up.
    """

    id: str
    type: str
    content: dict[str, Any]
    pattern: str | None = None
    match: bytes | None = None
    unsaid: int = 0


def alert_of_match(event: MatchEvent, id: str, said: AnnotationsForm, target: TargetRecord) -> Alert:
    """Return the alert about a match; `said` are the annotations of its pattern."""
    return _alert(id, event.kind.value, event.body, said, target)


def alert_of_dead(dead: DeadAlert, said: AnnotationsForm, target: TargetRecord) -> Alert:
    """Return a dead alert as it is sent again: with its id, and what target and pattern say now."""
    if dead.match is None:
        return _sum(dead.id, target, dead.unsaid)
    body = dead.match.encode()
    return _alert(dead.id, msgspec.json.decode(body)["kind"], body, said, target)


def alert_of_sample(id: str, target: TargetRecord) -> Alert:
    """Return an alert about a match that was made up, to try a target."""
    vertices = {"a": "192.0.2.1", "b": "198.51.100.7"}
    match = {"match_id": id, "query": "example", "kind": "match", "detected_at": 0, "vertices": vertices}
    said = AnnotationsForm(severity="info", description="a match that was made up, to try a target", message="this is a test")
    return _alert(id, "test", msgspec.json.encode(match), said, target)


def _alert(id: str, kind: str, body: bytes, said: AnnotationsForm, target: TargetRecord) -> Alert:
    match = msgspec.json.decode(body)
    pattern = match["query"]
    content = {
        "id": id,
        "type": kind,
        "target": target.name,
        "pattern": pattern,
        "severity": said.severity,
        "description": said.description,
        "tags": list(said.tags),
        "message": _message(match, said, target),
        "match": match,
    }
    return Alert(id, kind, content, pattern, body)


def alert_of_sum(target: TargetRecord, minute: int, unsaid: int) -> Alert:
    """Return the message that sums up the matches over the rate, of a minute and those before it."""
    return _sum(f"sum-{target.name}-{minute}", target, unsaid)


def _sum(id: str, target: TargetRecord, unsaid: int) -> Alert:
    content = {"id": id, "type": "sum", "target": target.name, "message": f"and {unsaid} more", "count": unsaid}
    return Alert(id, "sum", content, unsaid=unsaid)


def _message(match: dict[str, Any], said: AnnotationsForm, target: TargetRecord) -> str:
    """Return the sentence about a match: by the target's template, else by the pattern's, else its name."""
    usual = f"{match['query']} matched"
    names = {"pattern": match["query"], "severity": said.severity, "description": said.description}
    fields = match.get("fields") or {}
    own = render_message(said.message, match) if said.message is not None else usual
    if target.template is None:
        return own or usual
    return render_message(target.template, {**match, "fields": {**names, "message": own, **fields}}) or usual
