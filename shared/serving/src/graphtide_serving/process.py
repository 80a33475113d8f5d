"""A process of workers: each in a thread of its own, until a signal."""

from __future__ import annotations

import signal
from threading import Event, Thread
from typing import TYPE_CHECKING

from graphtide_telemetry.health import STUCK_SECONDS, Finding, Pulse, check

from graphtide_serving.clock import SystemClock
from graphtide_serving.health_server import HealthPortError, serving
from graphtide_serving.loop import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from graphtide_serving.health_server import HealthSettings
    from graphtide_serving.loop import Worker


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


def serve(workers: Iterable[Worker], health: HealthSettings, ping: Callable[[], None]) -> None:
    """Run workers until SIGTERM or SIGINT, and serve their health over HTTP; call it from the main thread.

    Args:
        workers: all of the process.
        health: where health is served.
        ping: raises a `GraphtideError` while the log does not answer.

    Raises:
        SystemExit: the port of health cannot be opened.
    """
    running = Workers(workers, stuck_seconds=health.stuck_seconds)
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
