"""The health of a deployment: what is wrong in it, how bad that is, and what helps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from graphtide_ordering.stream_progress import StreamProgress
    from graphtide_wire.control import PatternRecord
    from graphtide_wire.hosts import HostRecord

    from graphtide_admin_api.domain.pattern_status import PatternStatus

Severity = Literal["error", "warning"]
SubjectKind = Literal["pattern", "stream", "matcher", "service"]

PENDING_SECONDS: Final = 60.0
"""A pattern has a plan and a host after a few seconds."""

UNREAD_SECONDS: Final = 30.0
"""A sequencer reads raw records within a second, and a stand-by takes over within half a minute."""

STANDS_SECONDS: Final = 60.0
SILENT_SECONDS: Final = 30.0
"""A host that has plans reports its cost every two seconds."""

LAG_SECONDS: Final = 30.0
MOST_REJECTED: Final = 0.01
"""Share of the last records that may be rejected, or late."""

_LEAST_RECENT: Final = 100
"""A share of fewer records than this says nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong.

    Attributes:
        severity: an error keeps matches from being found; a warning may.
        code: what it is, for programs.
        sentence: what it is, for people.
        kind: of what it is about.
        name: of what it is about.
        help: what helps.
    """

    severity: Severity
    code: str
    sentence: str
    kind: SubjectKind
    name: str
    help: str


def order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings, the worst first."""
    return sorted(findings, key=lambda each: (each.severity != "error", each.code, each.name))


def of_pattern(record: PatternRecord, status: PatternStatus, now: datetime) -> Iterator[Finding]:
    """Yield what is wrong with a pattern."""
    name, reason = record.name, status.reason or "no reason is known"
    match status.state:
        case "failed":
            remedy = "Mend what the reason names, and register the text again or resume the pattern."
            yield Finding("error", "pattern-failed", f"Pattern {name} has failed: {reason}", "pattern", name, remedy)
        case "paused" if status.reason is not None:
            remedy = "Raise the limit or make the pattern more selective, and resume it."
            yield Finding("warning", "pattern-limited", f"Pattern {name} was paused: {reason}", "pattern", name, remedy)
        case "pending" if now - record.updated_at > timedelta(seconds=PENDING_SECONDS):
            lacks, remedy = _explain_pending(record, status)
            sentence = f"Pattern {name} has not run since {record.updated_at.isoformat(timespec='seconds')}: {lacks}"
            yield Finding("error", "pattern-pending", sentence, "pattern", name, remedy)
        case "running" if status.reason is not None:
            remedy = "See the counts of the pattern, and change its limits or its text."
            yield Finding("warning", "pattern-degraded", f"Pattern {name} runs, but {reason}", "pattern", name, remedy)


def _explain_pending(record: PatternRecord, status: PatternStatus) -> tuple[str, str]:
    """Return what a pattern waits for, and what helps."""
    plan = status.plan
    if plan is None or plan.version != record.version:
        return "it has no plan", "Look whether the planner runs."
    return f"shard {plan.shard} of {plan.service} has not taken it", "Look whether that matcher service runs."


def of_progress(stream: str, progress: StreamProgress) -> Iterator[Finding]:
    """Yield what is wrong with the last records of a stream."""
    recent = progress.recent
    seen = max(recent.read, recent.rejected)
    letters = "The dead letters of the stream show the records and the reasons."
    for code, count, what in (
        ("records-rejected", recent.rejected, "could not be used"),
        ("records-late", recent.late, "came after the watermark"),
        ("records-future", recent.future, "were too far ahead of the clock"),
    ):
        if seen >= _LEAST_RECENT and count > MOST_REJECTED * seen:
            sentence = f"{count / seen:.1%} of the last records of stream {stream} {what}"
            yield Finding("warning", code, sentence, "stream", stream, letters)


def of_ordering(stream: str, unread_seconds: float | None, stands_seconds: float | None) -> Iterator[Finding]:
    """Yield what is wrong with the ordering of a stream: how long it has not read, and how long its watermark has not moved."""
    if unread_seconds is not None and unread_seconds >= UNREAD_SECONDS:
        sentence = f"Nobody has put the records of stream {stream} in order for {unread_seconds:.0f} s"
        remedy = "Look whether a sequencer runs, in ingestion or as a service of its own, or the job on Spark."
        yield Finding("error", "stream-unread", sentence, "stream", stream, remedy)
    if stands_seconds is not None and stands_seconds >= STANDS_SECONDS:
        sentence = f"The watermark of stream {stream} has not moved for {stands_seconds:.0f} s, although records come"
        remedy = "Records may have one time, or be late. If the watermark is too far ahead, let the times begin anew."
        yield Finding("warning", "watermark-stands", sentence, "stream", stream, remedy)


def of_host(host: HostRecord, plans: int, now: datetime) -> Iterator[Finding]:
    """Yield what is wrong with a shard of a matcher service with so many plans."""
    name, silent = f"{host.service}.{host.shard}", (now - host.at).total_seconds()
    if not plans:
        return
    if silent >= SILENT_SECONDS:
        sentence = f"Shard {host.shard} of {host.service} has reported nothing for {silent:.0f} s; it is to run {plans} plans"
        yield Finding("error", "matcher-silent", sentence, "matcher", name, "Look whether the process runs, and at its log.")
        return
    for place in host.streams:
        if place.lag_seconds >= LAG_SECONDS:
            sentence = f"Shard {host.shard} of {host.service} reads stream {place.stream} {place.lag_seconds:.0f} s late"
            remedy = f"It is busy {host.busy:.0%} of the time: run more shards, or make patterns more selective."
            yield Finding("warning", "matcher-lags", sentence, "matcher", name, remedy)
