"""The right to lead as a Lease of `coordination.k8s.io/v1`, by the rules of `client-go`'s leader election.

A Lease names its holder and is renewed by it. A process that finds one unchanged for its duration takes it. Changes are timed
by our own monotonic clock from when we saw them, so clocks need not agree. Every write names the version that was read: of two
that write at once, one gets 409 Conflict. A holder that could not renew stops leading before others may take it.

The client's own `leaderelection` runs loops without an end, by the wall clock, and gives nothing back. So this is ours: no
thread, one request where one is due.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog
from graphtide_core.errors import FatalError, GraphtideError, TransientError
from graphtide_telemetry import events

from graphtide_planner.adapters.api import MissingError
from graphtide_planner.application.cluster import ConflictError, ThrottledError

if TYPE_CHECKING:
    from datetime import datetime

    from graphtide_core.ports.clock import Clock

    from graphtide_planner.adapters.api import Api

_LOG = structlog.get_logger()

_KIND: Final = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """How long a lease holds.

    Attributes:
        duration_seconds: after its last renewal; whole seconds.
        deadline_seconds: how long its holder leads after its last renewal: less, so that two never do.
        every_seconds: between two looks at it, or renewals.
    """

    duration_seconds: int = 30
    deadline_seconds: float = 20.0
    every_seconds: float = 5.0


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)


class Lease:
    """A `Leadership`."""

    def __init__(
        self, api: Api, namespace: str, name: str, *, identity: str, clock: Clock, times: LeaseTimes | None = None
    ) -> None:
        """Prepare; nothing is asked yet. `identity` is that of this process, and no other's."""
        self._api = api
        self._folder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._identity = identity
        self._clock = clock
        self._times = times or LeaseTimes()
        self._due = clock.monotonic()
        self._held_until: float | None = None
        self._observed: _Lease | None = None
        self._observed_at = 0.0

    def hold(self) -> bool:
        """Take or keep the lease, if a look is due; return whether it is ours for now.

        Raises:
            ThrottledError: later.
            FatalError: we may not.
        """
        now = self._clock.monotonic()
        if now >= self._due:
            self._due = now + self._times.every_seconds
            try:
                self._look(now)
            except (ThrottledError, FatalError):
                raise
            except TransientError as error:
                _LOG.info(events.LEASE_NOT_RENEWED, error=str(error))
        return self._held_until is not None and self._clock.monotonic() < self._held_until

    def release(self) -> None:
        """Give the lease back, if it is ours; one that cannot be given back runs out."""
        held, self._held_until = self._held_until is not None, None
        if not held or self._observed is None:
            return
        spec = self._observed.spec
        try:
            self._write(_Spec("", 1, spec.acquire_time, self._stamp(), spec.lease_transitions), self._observed)
        except GraphtideError as error:
            _LOG.info(events.LEASE_NOT_RENEWED, error=str(error))

    def _look(self, now: float) -> None:
        """Look at the lease, and write it if it is ours or free."""
        try:
            self._observe(self._read(), now)
        except MissingError:
            self._observed = None
        found = self._observed
        is_ours = found is not None and found.spec.holder_identity == self._identity
        if found is not None and not is_ours and self._is_held(found, now):
            self._held_until = None
            return
        stamp = self._stamp()
        spec = found.spec if found is not None else _Spec()
        taken = spec.acquire_time if is_ours else stamp
        changes = 0 if found is None else (spec.lease_transitions or 0) + (not is_ours)
        try:
            written = self._write(_Spec(self._identity, self._times.duration_seconds, taken, stamp, changes), found)
        except ConflictError:
            # Another process was first.
            self._held_until = None if not is_ours else self._held_until
            return
        self._observe(written, now)
        # From before the request: others count from when it came.
        self._held_until = now + self._times.deadline_seconds

    def _is_held(self, found: _Lease, now: float) -> bool:
        if not found.spec.holder_identity:
            return False
        duration = found.spec.lease_duration_seconds or self._times.duration_seconds
        return now < self._observed_at + duration

    def _observe(self, found: _Lease, now: float) -> None:
        if self._observed is None or self._observed.spec != found.spec:
            self._observed_at = now
        self._observed = found

    def _read(self) -> _Lease:
        return _decode(self._api.request("GET", f"{self._folder}/{self._name}"))

    def _write(self, spec: _Spec, before: _Lease | None) -> _Lease:
        metadata: dict[str, Any] = {"name": self._name}
        body = {**_KIND, "metadata": metadata, "spec": msgspec.to_builtins(spec)}
        if before is None:
            return _decode(self._api.request("POST", self._folder, body))
        metadata["resourceVersion"] = before.metadata.resource_version
        return _decode(self._api.request("PUT", f"{self._folder}/{self._name}", body))

    def _stamp(self) -> str:
        return _microseconds(self._clock.now())


def _microseconds(at: datetime) -> str:
    """Return an instant as the API writes one: six digits of microseconds, always."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _decode(value: bytes) -> _Lease:
    try:
        return msgspec.json.decode(value, type=_Lease)
    except msgspec.DecodeError as error:
        message = f"the Kubernetes API returned no lease: {error}"
        raise TransientError(message) from error
