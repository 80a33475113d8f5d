"""A thread for each stream that is put in order: of those that edges are sent to the sequencer, of merged ones the merger.

Streams that come up later get theirs within seconds, those that go let theirs go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import structlog
from graphtide_core.errors import GraphtideError
from graphtide_core.ids import StreamName
from graphtide_serving.clock import SystemClock
from graphtide_serving.loop import Worker, run
from graphtide_telemetry import events
from graphtide_telemetry.health import STUCK_SECONDS, Finding, Pulse

_LOG = structlog.get_logger()


class Sequencers:
    """Runs the sequencers and mergers of all streams."""

    def __init__(
        self,
        wanted: Callable[[], Collection[StreamName]],
        make: Callable[[StreamName], Worker],
        look_seconds: float = 2.0,
        *,
        elsewhere: Collection[str] = (),
        stuck_seconds: float = STUCK_SECONDS,
    ) -> None:
        """Make a worker for each wanted stream that is not put in order elsewhere; look for new ones every so many seconds."""
        self._elsewhere = frozenset(elsewhere)
        self._stuck_seconds = stuck_seconds
        self._pulses: dict[str, Pulse] = {}
        self._wanted = wanted
        self._make = make
        self._look_seconds = look_seconds
        self._stop = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, name="sequencers", daemon=True)
        self._threads: dict[str, threading.Thread] = {}
        self._stops: dict[str, threading.Event] = {}

    def start(self) -> None:
        """Begin."""
        self._supervisor.start()

    def alive(self) -> list[Finding]:
        """Return of each sequencer whether it makes rounds."""
        return [pulse.alive() for pulse in list(self._pulses.values())]

    def ready(self) -> list[Finding]:
        """Return for each sequencer whether it is open; one that failed is noted, since the other streams continue."""
        return [pulse.ready_beside_others() for pulse in list(self._pulses.values())]

    @property
    def running(self) -> int:
        """How many sequencers run."""
        return sum(thread.is_alive() for thread in list(self._threads.values()))

    def close(self) -> None:
        """Let every sequencer end its round, and wait for that."""
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
                there = frozenset(self._wanted()) - self._elsewhere
                for name in self._threads.keys() - there:
                    self._end(name)
                for name in there - self._threads.keys():
                    with self._logged():
                        self._begin(StreamName(name))
            self._stop.wait(self._look_seconds)

    @contextmanager
    def _logged(self) -> Iterator[None]:
        """Log what goes wrong within; it is tried again at the next look."""
        try:
            yield
        except GraphtideError as error:
            _LOG.warning(events.SEQUENCERS_LOOK_FAILED, error=str(error))
        except Exception as error:
            _LOG.exception(events.SEQUENCERS_LOOK_FAILED, error=str(error))

    def _begin(self, stream: StreamName) -> None:
        worker = self._make(stream)
        self._pulses[stream] = pulse = Pulse(worker.name, SystemClock(), self._stuck_seconds)
        self._stops[stream] = stop = threading.Event()
        thread = threading.Thread(target=run, args=(worker, stop), kwargs={"pulse": pulse}, name=worker.name, daemon=True)
        self._threads[stream] = thread
        thread.start()

    def _end(self, name: str) -> None:
        """Let the sequencer of a stream that was deleted go; it is waited for, so that the next of its name begins after it."""
        self._stops[name].set()
        self._threads[name].join()
        for held in (self._pulses, self._stops, self._threads):
            del held[name]
