"""The loop around every service's work: rounds, retries with back-off, a graceful end.

The one place that catches the `GraphtideError` of work. A worker that fails in passing is closed and opened again, so that it
goes on from what it committed and from nothing else. What is fatal ends the loop and is raised.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import structlog
from graphtide_core.errors import TransientError

from graphtide_runtime.clock import SystemClock
from graphtide_runtime.health import CURRENT, Pulse
from graphtide_runtime.telemetry import attributes as key
from graphtide_runtime.telemetry import events, metrics
from graphtide_runtime.telemetry.instruments import add

if TYPE_CHECKING:
    from threading import Event

_LOG = structlog.get_logger()


class Worker(Protocol):
    """Work in rounds."""

    @property
    def name(self) -> str:
        """What logs call it."""
        ...

    def open(self) -> None:
        """Take what the work needs, going on from what was committed; called again after `close`."""
        ...

    def step(self) -> None:
        """Do one round; wait for work a fraction of a second at most."""
        ...

    def close(self) -> None:
        """Give back what `open` took, committing nothing; never fails, and may be called twice."""
        ...


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before work that failed is tried again.

    A random time up to a bound, so that those who failed together do not come back together; the bound doubles with every
    failure in a row.
    """

    first_seconds: float = 0.1
    most_seconds: float = 15.0

    def seconds(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row, at least one."""
        bound = min(self.most_seconds, self.first_seconds * 2 ** min(failures - 1, 30))
        return random.uniform(bound / 2, bound)  # noqa: S311 - spreads load, keeps no secret


def run(worker: Worker, stop: Event, backoff: Backoff | None = None, pulse: Pulse | None = None) -> None:
    """Do rounds until `stop` is set; retry for ever what may succeed later. `pulse` is told of every round.

    Raises:
        FatalError: the worker cannot go on.
    """
    policy = backoff or Backoff()
    heart = pulse or Pulse(worker.name, SystemClock())
    CURRENT.set(heart)
    log = _LOG.bind(worker=worker.name)
    failures = 0
    while not stop.is_set():
        pause = 0.0
        heart.beat()
        try:
            worker.open()
            log.info(events.WORK_OPENED)
            while not stop.is_set():
                worker.step()
                heart.did_round()
                failures = 0
        except TransientError as error:
            failures += 1
            pause = policy.seconds(failures)
            heart.failed(str(error))
            add(metrics.WORKER_FAILURES, 1, {key.WORKER: worker.name})
            log.warning(events.WORK_FAILED, error=str(error), failures=failures, retry_in=round(pause, 3))
        finally:
            worker.close()
        stop.wait(pause)
    heart.end("it was told to end")
    log.info(events.WORK_ENDED)
