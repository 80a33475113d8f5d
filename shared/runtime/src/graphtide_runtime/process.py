"""A process of workers: each in a thread of its own, until a signal, or until one of them cannot go on."""

from __future__ import annotations

import signal
from threading import Event, Thread
from typing import TYPE_CHECKING

import structlog
from graphtide_core.errors import FatalError, GraphtideError

from graphtide_runtime.logs import to_standard_error
from graphtide_runtime.loop import run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_runtime.loop import Worker

_LOG = structlog.get_logger()


class Workers:
    """Workers in threads; what ends one ends all."""

    def __init__(self, workers: Iterable[Worker], stop: Event | None = None) -> None:
        """Prepare; nothing runs yet."""
        self.stop = stop or Event()
        self._failed: list[BaseException] = []
        self._threads = [Thread(target=self._run, args=(worker,), name=worker.name, daemon=True) for worker in workers]

    def start(self) -> None:
        """Let them work."""
        for thread in self._threads:
            thread.start()

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

    def _run(self, worker: Worker) -> None:
        try:
            run(worker, self.stop)
        except BaseException as error:  # A thread must not end in silence: `end` raises it.
            _LOG.error("worker.failed", worker=worker.name, error=str(error), exc_info=not isinstance(error, GraphtideError))
            self._failed.append(error)
            self.stop.set()


def serve(workers: Iterable[Worker]) -> None:
    """Let workers work until SIGTERM or SIGINT; call it from the main thread.

    Raises:
        SystemExit: one of them could not go on; the log says which and why.
    """
    to_standard_error()
    running = Workers(workers)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.stop.set())
    running.start()
    running.stop.wait()
    try:
        running.end()
    except FatalError as error:
        raise SystemExit(1) from error
