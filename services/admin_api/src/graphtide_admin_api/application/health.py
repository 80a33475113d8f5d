"""The health of the deployment, from what the API follows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal

from graphtide_admin_api.domain.deployment_health import (
    PENDING_SECONDS,
    SILENT_SECONDS,
    UNREAD_SECONDS,
    Finding,
    of_host,
    of_ordering,
    of_pattern,
    of_progress,
    order,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.clock import Clock

    from graphtide_admin_api.application.sampling import Sampler
    from graphtide_admin_api.application.view import View

MOST_FINDINGS: Final = 200
"""Findings of an answer; the worst come first."""

State = Literal["ok", "degraded", "failing"]


@dataclass(frozen=True, slots=True)
class ServiceHealth:
    """A service: `unknown` where nothing in the log says whether it runs. `seen` is when it was last heard of."""

    name: str
    state: Literal["ok", "silent", "unknown"]
    seen: datetime | None


@dataclass(frozen=True, slots=True)
class DeploymentHealth:
    """The worst findings, how many more there are, and the services."""

    state: State
    findings: list[Finding]
    more: int
    services: list[ServiceHealth]


class Health:
    """Looks at patterns, streams and hosts; safe for threads. It reads nothing from the log."""

    def __init__(self, clock: Clock, view: View, sampler: Sampler) -> None:
        """Look at what these know."""
        self._clock = clock
        self._view = view
        self._sampler = sampler

    def look(self) -> DeploymentHealth:
        """Return the health now. Complexity: O(patterns + streams + hosts).

        Raises:
            TransientError: what is registered was not read yet.
        """
        now = self._clock.now()
        planner, of_planner = self._planner(now)
        found = order([*of_planner, *self._of_patterns(now), *self._of_streams(), *self._of_hosts(now)])
        state: State = "ok" if not found else "failing" if found[0].severity == "error" else "degraded"
        services = [planner, *self._sequencers(now), *self._matchers(now)]
        return DeploymentHealth(state, found[:MOST_FINDINGS], max(0, len(found) - MOST_FINDINGS), services)

    def _of_patterns(self, now: datetime) -> Iterator[Finding]:
        for record in self._view.patterns():
            yield from of_pattern(record, self._view.pattern_status(record), now)

    def _of_streams(self) -> Iterator[Finding]:
        at = self._clock.monotonic()
        for name, sample in self._sampler.samples.items():
            if sample.progress is not None:
                yield from of_progress(name, sample.progress)
            unread = None if sample.unread_since is None else at - sample.unread_since
            stands = None if sample.stands_since is None else at - sample.stands_since
            yield from of_ordering(name, unread, stands)

    def _of_hosts(self, now: datetime) -> Iterator[Finding]:
        planned = self._view.planned_at()
        for host in self._view.hosts():
            yield from of_host(host, planned[host.service, host.shard], now)

    def _planner(self, now: datetime) -> tuple[ServiceHealth, list[Finding]]:
        """Return the planner, and that it is silent if patterns have waited for plans."""
        seen = max((each.at for each in self._view.scaling()), default=None)
        statuses = ((record, self._view.pattern_status(record)) for record in self._view.patterns())
        waiting = [
            record.name
            for record, status in statuses
            if status.state == "pending"
            and (status.plan is None or status.plan.version != record.version)
            and now - record.updated_at > timedelta(seconds=PENDING_SECONDS)
        ]
        if waiting:
            sentence = f"The planner has given {len(waiting)} patterns no plan, {waiting[0]} among them"
            remedy = "Look whether the planner runs, and at its log."
            finding = Finding("error", "planner-silent", sentence, "service", "planner", remedy)
            return ServiceHealth("planner", "silent", seen), [finding]
        has_plans = bool(self._view.planned_at()) or seen is not None
        return ServiceHealth("planner", "ok" if has_plans else "unknown", seen), []

    def _sequencers(self, now: datetime) -> Iterator[ServiceHealth]:
        at, samples = self._clock.monotonic(), self._sampler.samples.values()
        ordered = [sample for sample in samples if sample.progress is not None]
        is_silent = any(each.unread_since is not None and at - each.unread_since >= UNREAD_SECONDS for each in samples)
        seen = max((each.read_at for each in ordered), default=None)
        state: Literal["ok", "silent", "unknown"] = "silent" if is_silent else "ok" if ordered else "unknown"
        yield ServiceHealth("sequencer", state, None if seen is None else now - timedelta(seconds=at - seen))

    def _matchers(self, now: datetime) -> Iterator[ServiceHealth]:
        for host in self._view.hosts():
            is_silent = (now - host.at).total_seconds() >= SILENT_SECONDS
            yield ServiceHealth(f"{host.service}.{host.shard}", "silent" if is_silent else "ok", host.at)
