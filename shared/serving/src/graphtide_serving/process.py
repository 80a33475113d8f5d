"""A process of workers: each in a thread of its own, until a signal."""

from __future__ import annotations

import signal
from threading import Event, Thread
from typing import TYPE_CHECKING

from graphtide_telemetry.health import STUCK_SECONDS, Finding, Pulse, check

from graphtide_serving.clock import SystemClock
from graphtide_serving.health_server import HealthPortError, serving
from graphtide_serving.loop import run
from graphtide_serving.supervisor import REPLICATED_LOOK_SECONDS, REPLICATED_PATIENCE, Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from graphtide_serving.health_server import HealthSettings
    from graphtide_serving.loop import Worker
    from graphtide_serving.replicas import Replicas


class Workers:
    """Workers in threads; each is opened again however it ends."""

    def __init__(self, workers: Iterable[Worker], stop: Event | None = None, *, stuck_seconds: float = STUCK_SECONDS) -> None:
        """Prepare; nothing runs yet. A worker without a sign of life for so many seconds counts as stuck."""
        self.stop = stop or Event()
        clock, given = SystemClock(), list(workers)
        self._pulses = [Pulse(worker.name, clock, stuck_seconds) for worker in given]
        self._threads = [
            Thread(target=run, args=(worker, self.stop), kwargs={"pulse": pulse}, name=worker.name, daemon=True)
            for worker, pulse in zip(given, self._pulses, strict=True)
        ]

    def start(self) -> None:
        """Start them."""
        for thread in self._threads:
            thread.start()

    def alive(self) -> list[Finding]:
        """Return whether each worker makes rounds."""
        return [pulse.alive() for pulse in self._pulses]

    def ready(self) -> list[Finding]:
        """Return whether each worker is open."""
        return [pulse.ready() for pulse in self._pulses]

    def end(self, timeout: float = 10.0) -> None:
        """Let them end their rounds."""
        self.stop.set()
        for thread in self._threads:
            thread.join(timeout)


class ReplicatedWorkers:
    """Workers that run in one of several processes: in this one while their work falls to it."""

    def __init__(self, workers: Iterable[Worker], replicas: Replicas, *, stuck_seconds: float = STUCK_SECONDS) -> None:
        """Prepare; nothing runs yet. All workers run together, in one process at a time."""
        self.stop = Event()
        self._replicas = replicas
        self._signs = Workers([replicas], self.stop, stuck_seconds=stuck_seconds)
        given = {worker.name: worker for worker in workers}
        self._supervisor = Supervisor(
            "replicated",
            lambda: given if replicas.owns(replicas.name) else (),
            given.__getitem__,
            REPLICATED_LOOK_SECONDS,
            stuck_seconds=stuck_seconds,
            patience=REPLICATED_PATIENCE,
        )

    def start(self) -> None:
        """Start to give signs of life; the workers start when their work falls to this process."""
        self._signs.start()
        self._supervisor.start()

    def alive(self) -> list[Finding]:
        """Return whether everything that runs makes rounds."""
        return [*self._signs.alive(), *self._supervisor.alive()]

    def ready(self) -> list[Finding]:
        """Return whether it can do the work, or stand by."""
        return [*self._signs.ready(), *self._supervisor.ready()]

    def end(self) -> None:
        """Let the workers end their rounds, and leave the work to others."""
        self._supervisor.close()
        self._replicas.leave()
        self._signs.end()


def serve(
    workers: Iterable[Worker], health: HealthSettings, ping: Callable[[], None], replicas: Replicas | None = None
) -> None:
    """Run workers until SIGTERM or SIGINT, and serve their health over HTTP; call it from the main thread.

    Args:
        workers: all of the process.
        health: where health is served.
        ping: raises a `GraphtideError` while the log does not answer.
        replicas: the processes that share the work; None if this is the only one.

    Raises:
        SystemExit: the port of health cannot be opened.
    """
    running: Workers | ReplicatedWorkers
    if replicas is None:
        running = Workers(workers, stuck_seconds=health.stuck_seconds)
    else:
        running = ReplicatedWorkers(workers, replicas, stuck_seconds=health.stuck_seconds)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.stop.set())
    try:
        with serving(health, running.alive, lambda: [*running.ready(), check("log", ping)]):
            running.start()
            # In steps: a signal just before a wait does not end it.
            while not running.stop.wait(1.0):
                pass
            running.end()
    except HealthPortError as error:
        raise SystemExit(str(error)) from error
