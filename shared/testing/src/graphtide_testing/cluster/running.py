"""Running pods, as far as the code that supervises, calls or reports them has to know them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path
    from threading import Thread

    from graphtide_testing.cluster.manifests import Object, Pod
    from graphtide_testing.cluster.probes import Probe


@dataclass
class Container:
    """A container of a pod that runs.

    Attributes:
        name: of it.
        output: what it writes.
        starts: how often it was started.
        statuses: how its starts ended so far.
        probes: of its last start, by name; a startup probe that held is gone.
        asked: how often each was asked over all starts.
        process: that of its last start; None if that has ended.
        again_at: when it is started again, by the clock that only goes forward; 0 is never.
    """

    name: str
    spec: Object
    output: Path
    starts: int = 0
    statuses: list[int] = field(default_factory=list)
    probes: dict[str, Probe] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    again_at: float = 0.0


@dataclass
class Running:
    """A pod that runs, or ran.

    Attributes:
        pod: its manifest.
        address: of it.
        containers: those that run together.
        phase: `Pending`, `Running`, `Succeeded` or `Failed`, as Kubernetes calls them.
        reason: why it failed, or is not ready.
        ready: whether all of its containers are.
        ready_after: seconds from its start until it was ready for the first time.
        ended_after: seconds from the request to end until it had ended; None without such a request.
        begun: when it was started, by the same clock.
        is_ending: whether it is to end.
        thread: that looks after it.
    """

    pod: Pod
    address: str
    containers: list[Container]
    phase: str = "Pending"
    reason: str = ""
    ready: bool = False
    ready_after: float | None = None
    ended_after: float | None = None
    begun: float = field(default_factory=time.monotonic)
    is_ending: Event = field(default_factory=Event)
    thread: Thread | None = None

    @property
    def has_ended(self) -> bool:
        """Whether no container of it runs or will run again."""
        return all(each.process is None and not each.again_at for each in self.containers)
