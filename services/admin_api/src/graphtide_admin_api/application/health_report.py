"""What is wrong, first: sentences about patterns, streams and hosts, each with what helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_admin_api.domain.time_series import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from graphtide_core.ports.clock import Clock
    from graphtide_wire.control import PatternRecord
    from graphtide_wire.hosts import HostRecord

    from graphtide_admin_api.application.monitor import Monitor
    from graphtide_admin_api.application.view import View

_PENDING_SECONDS: Final = 30.0
_SILENT_SECONDS: Final = 30.0
_LAG_SECONDS: Final = 10.0
_BUSY: Final = 0.95
_LATELY: Final = 300.0
"""Seconds over which losses of streams are looked at."""

_SHARE: Final = 0.01
"""The share of records that may be lost before it is a finding."""

MOST_FINDINGS: Final = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong.

    Attributes:
        severity: `error` where matches are missed or do not come, else `warning`.
        code: its kind.
        sentence: what it is.
        kind: of what it is about: `pattern`, `stream` or `matcher`.
        name: of that.
        help: what to do.
    """

    severity: str
    code: str
    sentence: str
    kind: str
    name: str
    help: str


@dataclass(frozen=True, slots=True)
class ServiceSign:
    """A service, and when it was last heard of."""

    name: str
    state: str
    seen: datetime


class HealthReport:
    """Looks for what is wrong; safe for threads."""

    def __init__(self, view: View, monitor: Monitor, clock: Clock) -> None:
        """Look at what is known."""
        self._view = view
        self._monitor = monitor
        self._clock = clock

    def findings(self, streams: list[str]) -> list[Finding]:
        """Return what is wrong, errors first; at most `MOST_FINDINGS`."""
        found = [*self._of_patterns(), *self._of_hosts(), *(each for name in streams for each in self._of_stream(name))]
        return sorted(found, key=lambda each: (each.severity != "error", each.kind, each.name))[:MOST_FINDINGS]

    def services(self) -> list[ServiceSign]:
        """Return the matcher hosts that were heard of."""
        return [
            ServiceSign(f"{host.service} {host.shard}", "silent" if self._is_silent(host) else "running", host.at)
            for host in self._view.hosts()
        ]

    def _of_patterns(self) -> Iterator[Finding]:
        for record in self._view.patterns():
            yield from self._of_pattern(record)

    def _of_pattern(self, record: PatternRecord) -> Iterator[Finding]:
        status, name = self._view.pattern_status(record), record.name
        reason = f": {status.reason}" if status.reason else ""
        if status.state == "failed":
            help = "Change the text or the limits, and register it again."
            yield Finding("error", "pattern-failed", f"Pattern {name} has failed{reason}.", "pattern", name, help)
        elif status.state == "paused" and status.is_ended:
            help = "Raise the limit or make the pattern narrower, and resume it."
            yield Finding("error", "pattern-at-limit", f"A limit has paused pattern {name}{reason}.", "pattern", name, help)
        elif status.state == "pending" and self._seconds_since(record.updated_at) > _PENDING_SECONDS:
            help = "Look whether the planner and the matcher services run."
            sentence = f"No matcher has taken pattern {name} since it was changed."
            yield Finding("error", "pattern-pending", sentence, "pattern", name, help)
        elif status.state == "running" and status.reason:
            help = "Its matches may come late or be incomplete until this is mended."
            yield Finding("warning", "pattern-note", f"Pattern {name}{reason}.", "pattern", name, help)

    def _of_hosts(self) -> Iterator[Finding]:
        planned = self._view.planned_at()
        for host in self._view.hosts():
            name = f"{host.service} {host.shard}"
            if not planned[host.service, host.shard]:
                continue
            lag = max((place.lag_seconds for place in host.streams), default=0.0)
            if self._is_silent(host):
                sentence = f"Shard {host.shard} of {host.service} has reported nothing since {host.at:%H:%M:%S}."
                help = "Look at its logs; its patterns wait until it is back."
                yield Finding("error", "matcher-silent", sentence, "matcher", name, help)
            elif lag > _LAG_SECONDS:
                sentence = f"Shard {host.shard} of {host.service} is {lag:.0f} s behind its streams."
                yield Finding("warning", "matcher-behind", sentence, "matcher", name, "Add shards, or look for a dear pattern.")
            elif host.busy > _BUSY:
                sentence = f"Shard {host.shard} of {host.service} works without a pause."
                yield Finding("warning", "matcher-busy", sentence, "matcher", name, "Add shards before it falls behind.")

    def _of_stream(self, stream: str) -> Iterator[Finding]:
        last = {name: self._monitor.last(Subject(name, stream), _LATELY) or 0.0 for name in ("edges", "rejected", "late")}
        read = last["edges"] + last["rejected"]
        for name, what, help in (
            ("rejected", "could not be used", "Its dead letters say why; mend them and send them again."),
            ("late", "came too late", "Raise LATENESS in its statement, or let producers send sooner."),
        ):
            if read > 0 and last[name] / read > _SHARE:
                share = 100 * last[name] / read
                sentence = f"{share:.0f} % of the records of stream {stream} {what} in the last minutes."
                yield Finding("warning", f"stream-{name}", sentence, "stream", stream, help)

    def _is_silent(self, host: HostRecord) -> bool:
        return self._seconds_since(host.at) > _SILENT_SECONDS

    def _seconds_since(self, at: datetime) -> float:
        return (self._clock.now() - at).total_seconds()
