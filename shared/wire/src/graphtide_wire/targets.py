"""Records of alerts: the targets that get them, what became of the matches for each, and alerts that no target took.

A target never holds a secret, but the name of a file in a folder of the service that delivers.
"""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - msgspec reads annotations while the program runs
from typing import Annotated, Final, Literal

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Message, Record
from msgspec import Meta

from graphtide_wire.control import SeverityName  # noqa: TC001 - msgspec reads annotations while the program runs
from graphtide_wire.json_form import Count, Form, Instant, decode, encode

MOST_TEXT: Final = 2_000
"""Characters of an address and of a template."""

REQUEST_SECONDS: Final = 30.0
"""Seconds that a request for an alert holds."""

TargetName = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9_-]{0,62}$")]
FileName = Annotated[str, Meta(pattern="^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")]
"""A file directly in a folder; no path leads out of it."""

TargetKind = Literal["webhook", "slack", "teams", "email", "elasticsearch", "file"]


class TargetRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where alerts go, and which.

    Attributes:
        name: of the target.
        kind: how they are delivered.
        address: the URL of a webhook, or of an index; the name of a file.
        template: of the sentence about a match, in place of the pattern's MESSAGE.
        patterns: names of patterns, with `*` for any text and `?` for a character.
        severity: the least of the patterns; None takes those without one, too.
        rate: the most messages a minute; None has no bound. What is over it is summed up in one message.
        retractions: whether retractions are delivered, too.
        secret: name of the file of the secret that signs, logs in, or ends the URL of a chat.
        starts: the offset of each partition of matches from which on matches are for the target.
        created_at: when it was made; a target that is made anew counts anew.
    """

    name: TargetName
    kind: TargetKind
    address: Annotated[str, Meta(min_length=1, max_length=MOST_TEXT)]
    template: Annotated[str, Meta(max_length=MOST_TEXT)] | None = None
    patterns: Annotated[str, Meta(min_length=1, max_length=200)] = "*"
    severity: SeverityName | None = None
    rate: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    retractions: bool = False
    secret: FileName | None = None
    starts: tuple[Count, ...] = ()
    created_at: Instant


class AlertCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the matches for a target; written together with the positions that it has read.

    At all times `accepted` is `delivered` + `dead` + `muted` + `summed`.

    Attributes:
        target: name of the target.
        created_at: of the target whose matches are counted.
        accepted: matches that the target asks for.
        delivered: that it took.
        dead: that it did not take; each is a dead letter.
        muted: that a mute covers.
        summed: over the rate, which a message sums up.
        retried: attempts that failed and were repeated.
        retractions: that the target does not ask for, which are not accepted.
        minute: minutes since 1970 in which `sent` counts.
        sent: messages of that minute.
        unsaid: matches over the rate that no message has summed up yet.
    """

    target: TargetName
    created_at: Instant
    accepted: Count = 0
    delivered: Count = 0
    dead: Count = 0
    muted: Count = 0
    summed: Count = 0
    retried: Count = 0
    retractions: Count = 0
    minute: Count = 0
    sent: Count = 0
    unsaid: Count = 0


class DeadAlert(msgspec.Struct, frozen=True, kw_only=True):
    """An alert that a target did not take.

    Attributes:
        target: name of the target.
        id: the idempotency key: that of the match, or of the sum.
        reason: why, for people; it has no secret.
        attempts: that were made.
        at: when it was given up.
        pattern: name of the pattern; None of a sum.
        match: the match record, as text of JSON; None of a sum.
        unsaid: of a sum, how many matches it sums up.
    """

    target: TargetName
    id: str
    reason: str
    attempts: Count
    at: datetime
    pattern: str | None = None
    match: str | None = None
    unsaid: Count = 0


class AlertRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An alert that a user asks to be sent to a target now, by one attempt.

    Attributes:
        id: of the request.
        target: name of the target.
        at: when it was made; one that is older than `REQUEST_SECONDS` is passed over.
        dead: the dead alert to send again; None asks for a sample.
    """

    id: str
    target: TargetName
    at: Instant
    dead: DeadAlert | None = None


class AlertAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a request.

    Attributes:
        id: of the request.
        target: name of the target.
        alert: the idempotency key that was sent.
        outcome: `failed` if another attempt may succeed, `refused` if none will.
        reason: why it was not delivered, for people; it has no secret.
    """

    id: str
    target: TargetName
    alert: str
    outcome: Literal["delivered", "failed", "refused"]
    reason: str | None = None


def encode_target(topic: str, record: TargetRecord) -> Message:
    """Return the message of a target."""
    return Message(topic, record.name.encode(), encode(record))


def encode_end_of_target(topic: str, name: str) -> Message:
    """Return the message that deletes a target."""
    return Message(topic, name.encode(), None)


def decode_target(record: Record) -> TargetRecord:
    """Return the target of a record that has a value.

    Raises:
        PoisonRecordError: it is none, or not under its name.
    """
    found = decode(record.value, TargetRecord, "target")
    return _under(found, found.name, record)


def encode_counts(topic: str, counts: AlertCounts) -> Message:
    """Return the message of the counts of a target."""
    return Message(topic, counts.target.encode(), encode(counts))


def decode_counts(record: Record) -> AlertCounts:
    """Return the counts of a record that has a value.

    Raises:
        PoisonRecordError: it is none, or not under its name.
    """
    found = decode(record.value, AlertCounts, "counts of a target")
    return _under(found, found.target, record)


def encode_dead_alert(topic: str, alert: DeadAlert) -> Message:
    """Return the message of a dead alert."""
    return Message(topic, alert.target.encode(), encode(alert))


def decode_dead_alert(record: Record) -> DeadAlert:
    """Return the dead alert of a record.

    Raises:
        PoisonRecordError: it is none, or not under its name.
    """
    found = decode(record.value, DeadAlert, "dead alert")
    return _under(found, found.target, record)


def encode_request(topic: str, request: AlertRequest) -> Message:
    """Return the message of a request."""
    return Message(topic, request.target.encode(), encode(request))


def decode_request(record: Record) -> AlertRequest:
    """Return the request of a record.

    Raises:
        PoisonRecordError: it is none, or not under its name.
    """
    found = decode(record.value, AlertRequest, "request for an alert")
    return _under(found, found.target, record)


def encode_answer(topic: str, answer: AlertAnswer) -> Message:
    """Return the message of an answer."""
    return Message(topic, answer.target.encode(), encode(answer))


def decode_answer(record: Record) -> AlertAnswer:
    """Return the answer of a record.

    Raises:
        PoisonRecordError: it is none, or not under its name.
    """
    found = decode(record.value, AlertAnswer, "answer to a request for an alert")
    return _under(found, found.target, record)


def _under(found: Form, name: str, record: Record) -> Form:
    if name.encode() != record.key:
        reason = f"the record of {name} is not under its name"
        raise PoisonRecordError(reason, record.value or b"")
    return found
