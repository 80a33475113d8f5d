"""The loop around every service's work: rounds, retries with back-off, a graceful end.

The one place that catches the errors of work. However a worker ends, it is closed and opened again after a while. So it
continues from what it committed and from nothing else. Until then it is not ready, and the log says why. The wait depends on
what ended it:

* What may pass by itself: short.
* What a person has to mend, or an unforeseen error: longer, since trying costs the others something.
* Another process took its identity: longer still. The two would shut each other out in turn; should the other be gone, this one
  takes over.
"""

from __future__ import annotations

import gc
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import structlog
from graphtide_core.errors import FencedError, GraphtideError, TransientError
from graphtide_native.allocator import give_back
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, metrics
from graphtide_telemetry.health import CURRENT, Pulse
from graphtide_telemetry.instruments import add

from graphtide_serving.clock import SystemClock

if TYPE_CHECKING:
    from threading import Event

_LOG = structlog.get_logger()
_BEAT_SECONDS: Final = 5.0

_GIVE_BACK_SECONDS: Final = 60.0
"""How often freed memory goes back to the system, such as that of deleted patterns."""


class Worker(Protocol):
    """Work in rounds."""

    @property
    def name(self) -> str:
        """Its name in logs."""
        ...

    def open(self) -> None:
        """Take what the work needs, and continue from the last commit; called again after `close`."""
        ...

    def step(self) -> None:
        """Do one round; wait for work a fraction of a second at most."""
        ...

    def close(self) -> None:
        """Release what `open` took, without a commit; never fails, and may be called twice."""
        ...


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before work that failed is tried again.

    A random time up to a bound, so workers that failed together do not come back together. The bound doubles with every failure
    in a row.
    """

    first_seconds: float = 0.1
    most_seconds: float = 15.0

    def seconds(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row, at least one."""
        bound = min(self.most_seconds, self.first_seconds * 2 ** min(failures - 1, 30))
        return random.uniform(bound / 2, bound)  # noqa: S311 - spreads load, keeps no secret


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait after each kind of end.

    Attributes:
        passing: after what may pass by itself.
        lasting: after what a person has to mend, or an unforeseen error.
        fenced: after another process took the identity.
        healthy_seconds: rounds without a failure for so long end a row of failures that are not passing.
    """

    passing: Backoff = Backoff()
    lasting: Backoff = Backoff(1.0, 60.0)
    fenced: Backoff = Backoff(10.0, 60.0)
    healthy_seconds: float = 120.0

    def after(self, error: BaseException) -> Backoff:
        """Return how long to wait after an error."""
        if isinstance(error, TransientError):
            return self.passing
        return self.fenced if isinstance(error, FencedError) else self.lasting


def run(worker: Worker, stop: Event, patience: Patience | None = None, pulse: Pulse | None = None) -> None:
    """Do rounds until `stop` is set, opening the worker again however it ended. `pulse` gets a beat for every round."""
    heart = pulse or Pulse(worker.name, SystemClock())
    CURRENT.set(heart)
    log = _LOG.bind(worker=worker.name)
    waits, failures, clock = patience or Patience(), 0, SystemClock()
    while not stop.is_set():
        heart.beat()
        begun = clock.monotonic()
        error = _live(worker, stop, heart)
        if error is None:
            continue
        backoff = waits.after(error.cause)
        is_over = error.did_rounds and (backoff is waits.passing or clock.monotonic() - begun >= waits.healthy_seconds)
        failures = 1 if is_over else failures + 1
        pause = backoff.seconds(failures)
        reason = str(error.cause) or repr(error.cause)
        heart.failed(reason)
        add(metrics.WORKER_FAILURES, 1, {key.WORKER: worker.name})
        foreseen = isinstance(error.cause, GraphtideError)
        trace = None if foreseen else error.cause
        report = log.warning if foreseen else log.error
        report(events.WORK_FAILED, error=reason, failures=failures, retry_in=round(pause, 3), exc_info=trace)
        del error, trace
        _collect_failed()
        _wait(stop, pause, heart)
    heart.end("it was asked to end")
    log.info(events.WORK_ENDED)


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a worker, and whether it had done rounds before."""

    cause: BaseException
    did_rounds: bool


def _live(worker: Worker, stop: Event, heart: Pulse) -> _End | None:
    """Let a worker do rounds until it fails, or is asked to end: None."""
    did_rounds, clock = False, SystemClock()
    try:
        worker.open()
        # It has read topics whole.
        give_back()
        _LOG.info(events.WORK_OPENED, worker=worker.name)
        give_back_at = clock.monotonic() + _GIVE_BACK_SECONDS
        while not stop.is_set():
            worker.step()
            heart.did_round()
            did_rounds = True
            if clock.monotonic() >= give_back_at:
                give_back()
                give_back_at = clock.monotonic() + _GIVE_BACK_SECONDS
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return _End(error, did_rounds)
    finally:
        _close(worker)
    return None


def _collect_failed() -> None:
    """Free the objects that the frames of an error hold.

    A frame that keeps the error it raises is a cycle. Everything in it stays until Python looks at its oldest generation, which
    a quiet process never does. Clients of the log stayed with their threads, connections and buffers, ten file descriptors and
    a megabyte for each crash of Kafka.
    """
    gc.collect()


def _close(worker: Worker) -> None:
    """Close a worker; an error of that is logged and ignored."""
    try:
        worker.close()
    except Exception as error:
        _LOG.exception(events.CLOSE_FAILED, worker=worker.name, error=str(error))


def _wait(stop: Event, seconds: float, heart: Pulse) -> None:
    """Wait, giving signs of life."""
    while seconds > 0 and not stop.wait(min(seconds, _BEAT_SECONDS)):
        seconds -= _BEAT_SECONDS
        heart.beat()
