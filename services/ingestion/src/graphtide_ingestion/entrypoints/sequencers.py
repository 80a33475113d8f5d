"""A thread for each stream's sequencer; streams that come up later get theirs within seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog
from graphtide_core.errors import GraphtideError, TransientError
from graphtide_core.ids import StreamName
from graphtide_runtime.loop import run

from graphtide_ingestion.application.sequencing_worker import SequencingWorker
from graphtide_ingestion.application.streams import Streams

_LOG = structlog.get_logger()


class Sequencers:
    """Runs the sequencers of all streams until one cannot go on."""

    def __init__(self, streams: Streams, make: Callable[[StreamName], SequencingWorker], look_seconds: float = 2.0) -> None:
        """Make a worker for each stream that there is, and look for new ones every so many seconds."""
        self._streams = streams
        self._make = make
        self._look_seconds = look_seconds
        self._stop = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, name="sequencers", daemon=True)
        self._threads: dict[str, threading.Thread] = {}
        self._failed: GraphtideError | None = None

    def start(self) -> None:
        """Begin."""
        self._supervisor.start()

    def check(self) -> None:
        """Do nothing while all goes well.

        Raises:
            GraphtideError: what ended a sequencer.
        """
        if self._failed is not None:
            raise self._failed

    @property
    def running(self) -> int:
        """How many sequencers run."""
        return sum(thread.is_alive() for thread in self._threads.values())

    def close(self) -> None:
        """Let every sequencer end its round, and wait for that."""
        self._stop.set()
        if self._supervisor.is_alive():
            self._supervisor.join()
        for thread in self._threads.values():
            thread.join()

    def _supervise(self) -> None:
        while not self._stop.is_set():
            try:
                for name in self._streams.look() - self._threads.keys():
                    self._begin(StreamName(name))
            except TransientError as error:
                _LOG.warning("sequencers.look_failed", error=str(error))
            self._stop.wait(self._look_seconds)

    def _begin(self, stream: StreamName) -> None:
        worker = self._make(stream)
        thread = threading.Thread(target=self._run, args=(worker,), name=worker.name, daemon=True)
        self._threads[stream] = thread
        thread.start()

    def _run(self, worker: SequencingWorker) -> None:
        try:
            run(worker, self._stop)
        except GraphtideError as error:
            _LOG.error("sequencer.ended", worker=worker.name, error=str(error))
            self._failed = error
