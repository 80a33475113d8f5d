"""A thread for each worker that is wanted now: workers come and go while the process runs.

What is wanted is looked up every so often: the streams that there are, or the work that falls to this replica.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import GraphtideError
from graphtide_telemetry import events
from graphtide_telemetry.health import STUCK_SECONDS, Finding, Pulse

from graphtide_serving.clock import SystemClock
from graphtide_serving.loop import Backoff, Patience, Worker, run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

_LOG = structlog.get_logger()

LOOK_SECONDS: Final = 2.0
"""Between two looks at what is wanted."""

REPLICATED_LOOK_SECONDS: Final = 0.2
"""The same where replicas share the work: one that is lost is replaced that much later."""

REPLICATED_PATIENCE: Final = Patience(fenced=Backoff(0.5, 5.0))
"""Replicas agree within seconds who does what, so one that was shut out tries again soon."""


class Supervisor:
    """Runs the wanted workers."""

    def __init__(
        self,
        name: str,
        wanted: Callable[[], Collection[str]],
        make: Callable[[str], Worker],
        look_seconds: float = LOOK_SECONDS,
        *,
        stuck_seconds: float = STUCK_SECONDS,
        patience: Patience | None = None,
    ) -> None:
        """Make a worker for each name that is wanted; nothing runs yet.

        Args:
            name: of its thread.
            wanted: returns what is wanted now; a `GraphtideError` leaves everything as it is.
            make: makes a worker.
            look_seconds: between two looks at what is wanted.
            stuck_seconds: how long a worker may be silent.
            patience: how long a worker waits after it failed.
        """
        self._stuck_seconds = stuck_seconds
        self._patience = patience
        self._pulses: dict[str, Pulse] = {}
        self._wanted = wanted
        self._make = make
        self._look_seconds = look_seconds
        self._stop = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, name=name, daemon=True)
        self._threads: dict[str, threading.Thread] = {}
        self._stops: dict[str, threading.Event] = {}

    def start(self) -> None:
        """Begin."""
        self._supervisor.start()

    def alive(self) -> list[Finding]:
        """Return of each worker whether it makes rounds."""
        return [pulse.alive() for pulse in list(self._pulses.values())]

    def ready(self) -> list[Finding]:
        """Return for each worker whether it is open; one that failed is noted, since the others continue."""
        return [pulse.ready_beside_others() for pulse in list(self._pulses.values())]

    @property
    def running(self) -> int:
        """How many workers run."""
        return sum(thread.is_alive() for thread in list(self._threads.values()))

    def close(self) -> None:
        """Let every worker end its round, and wait for that."""
        self._stop.set()
        if self._supervisor.is_alive():
            self._supervisor.join()
        for stop in self._stops.values():
            stop.set()
        for thread in self._threads.values():
            thread.join()

    def _supervise(self) -> None:
        while not self._stop.is_set():
            with self._logged():
                there = frozenset(self._wanted())
                # First all of them: each may take a while to end its round.
                for name in self._threads.keys() - there:
                    self._stops[name].set()
                for name in self._threads.keys() - there:
                    self._end(name)
                for name in there - self._threads.keys():
                    with self._logged():
                        self._begin(name)
            self._stop.wait(self._look_seconds)

    @contextmanager
    def _logged(self) -> Iterator[None]:
        """Log what goes wrong within; it is tried again at the next look."""
        try:
            yield
        except GraphtideError as error:
            _LOG.warning(events.SUPERVISOR_LOOK_FAILED, error=str(error))
        except Exception as error:
            _LOG.exception(events.SUPERVISOR_LOOK_FAILED, error=str(error))

    def _begin(self, name: str) -> None:
        worker = self._make(name)
        self._pulses[name] = pulse = Pulse(worker.name, SystemClock(), self._stuck_seconds)
        self._stops[name] = stop = threading.Event()
        thread = threading.Thread(target=run, args=(worker, stop, self._patience, pulse), name=worker.name, daemon=True)
        self._threads[name] = thread
        thread.start()

    def _end(self, name: str) -> None:
        """Let a worker go that is not wanted any more; the next of its name begins after it has ended."""
        self._stops[name].set()
        self._threads[name].join()
        for held in (self._pulses, self._stops, self._threads):
            del held[name]
