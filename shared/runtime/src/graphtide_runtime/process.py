"""A process of workers: each in a thread of its own, until a signal, or until one of them cannot go on."""

from __future__ import annotations

import signal
from threading import Event, Thread
from typing import TYPE_CHECKING

import structlog
from graphtide_core.errors import FatalError, GraphtideError

from graphtide_runtime.clock import SystemClock
from graphtide_runtime.health import STUCK_SECONDS, Finding, Pulse, checked
from graphtide_runtime.health_server import HealthPortError, serving
from graphtide_runtime.loop import run
from graphtide_runtime.telemetry import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from graphtide_runtime.health_server import HealthSettings
    from graphtide_runtime.loop import Worker

_LOG = structlog.get_logger()


class Workers:
    """Workers in threads; what ends one ends all."""

    def __init__(self, workers: Iterable[Worker], stop: Event | None = None, *, stuck_seconds: float = STUCK_SECONDS) -> None:
        """Prepare; nothing runs yet. A worker without a sign of life for so many seconds counts as stuck."""
        self.stop = stop or Event()
        self._failed: list[BaseException] = []
        clock, given = SystemClock(), list(workers)
        self._pulses = [Pulse(worker.name, clock, stuck_seconds) for worker in given]
        self._threads = [
            Thread(target=self._run, args=(worker, pulse), name=worker.name, daemon=True)
            for worker, pulse in zip(given, self._pulses, strict=True)
        ]

    def start(self) -> None:
        """Let them work."""
        for thread in self._threads:
            thread.start()

    def alive(self) -> list[Finding]:
        """Return of each worker whether it makes rounds."""
        return [pulse.alive() for pulse in self._pulses]

    def ready(self) -> list[Finding]:
        """Return of each worker whether it is open."""
        return [pulse.ready() for pulse in self._pulses]

    def end(self, timeout: float = 10.0) -> None:
        """Let them end their rounds.

        Raises:
            FatalError: one of them could not go on.
        """
        self.stop.set()
        for thread in self._threads:
            thread.join(timeout)
        if self._failed:
            raise self._failed[0]

    def _run(self, worker: Worker, pulse: Pulse) -> None:
        try:
            run(worker, self.stop, pulse=pulse)
        except BaseException as error:  # A thread must not end in silence: `end` raises it.
            pulse.end(str(error))
            _LOG.error(
                events.WORKER_FAILED, worker=worker.name, error=str(error), exc_info=not isinstance(error, GraphtideError)
            )
            self._failed.append(error)
            self.stop.set()


def serve(workers: Iterable[Worker], health: HealthSettings, ping: Callable[[], None]) -> None:
    """Let workers work until SIGTERM or SIGINT, and tell over HTTP how they are; call it from the main thread.

    Args:
        workers: all of the process.
        health: where that is told.
        ping: raises a `GraphtideError` while the log does not answer.

    Raises:
        SystemExit: one of them could not go on, or the port of health cannot be had; the log says which and why.
    """
    running = Workers(workers, stuck_seconds=health.stuck_seconds)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.stop.set())
    try:
        with serving(health, running.alive, lambda: [*running.ready(), checked("log", ping)]):
            running.start()
            running.stop.wait()
            running.end()
    except HealthPortError as error:
        raise SystemExit(str(error)) from error
    except FatalError as error:
        raise SystemExit(1) from error
