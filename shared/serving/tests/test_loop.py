"""However a worker ends, it is opened again; meanwhile it is not ready, and the process lives."""

from __future__ import annotations

import gc
from threading import Event, Thread
from weakref import ReferenceType, ref

import pytest
from graphtide_core.errors import FatalError, FencedError, GraphtideError, TransientError
from graphtide_serving.loop import Backoff, Patience, run
from graphtide_telemetry.health import Finding, Pulse
from graphtide_testing.clock import ManualClock
from graphtide_testing.waiting import wait_until

PROMPT = Patience(Backoff(0.0), Backoff(0.0), Backoff(0.0))


class Panic(BaseException):
    """What an engine raises that has found a flaw of its own."""


class Failing:
    """A worker that fails once with an error, at a call."""

    name = "failing"

    def __init__(self, error: BaseException, call: str) -> None:
        self.error: BaseException | None = error
        self.call = call
        self.opened = 0
        self.rounds = 0
        self.stop = Event()

    def open(self) -> None:
        self.opened += 1
        self._do("open")

    def step(self) -> None:
        self._do("step")
        self.rounds += 1
        if self.error is None and self.rounds >= 3:
            self.stop.set()

    def close(self) -> None:
        if self.rounds:
            self._do("close")

    def _do(self, call: str) -> None:
        if call == self.call and self.error is not None:
            error, self.error = self.error, None
            raise error


@pytest.mark.parametrize("call", ["open", "step"])
@pytest.mark.parametrize(
    "error",
    [
        TransientError("away"),
        FatalError("no"),
        FencedError("shut out"),
        GraphtideError("any"),
        SystemError("a result with an error set"),
        ZeroDivisionError(),
        MemoryError(),
        Panic("index out of bounds"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_worker_is_opened_again_however_it_ended(error: BaseException, call: str) -> None:
    worker = Failing(error, call)
    run(worker, worker.stop, PROMPT)
    assert (worker.opened, worker.rounds) == (2, 3)


def test_what_goes_wrong_while_closing_is_in_nobodys_way() -> None:
    worker = Failing(SystemError("<built-in method flush> returned a result with an exception set"), "close")
    worker.rounds = 1
    ended = TransientError("away")

    def step() -> None:
        worker.rounds += 1
        if worker.opened == 1:
            raise ended
        worker.stop.set()

    worker.step = step  # type: ignore[method-assign]  # this worker fails twice
    run(worker, worker.stop, PROMPT)
    assert worker.opened == 2


class Held:
    """Something that is dear to keep."""


class Hoarding(Failing):
    """A worker whose failing call keeps a thing, and the error, in its frame: a cycle."""

    def __init__(self) -> None:
        super().__init__(TransientError("away"), "open")
        self.held: ReferenceType[Held] | None = None
        self.is_freed: bool | None = None

    def open(self) -> None:
        self.opened += 1
        if self.held is not None:
            self.is_freed = self.held() is None
            self.error = None
            return
        held = Held()
        self.held = ref(held)
        error = TransientError("away")
        raise error


def test_what_the_frames_of_an_error_held_is_freed_before_the_worker_is_opened_again() -> None:
    worker = Hoarding()
    gc.disable()
    try:
        run(worker, worker.stop, PROMPT)
    finally:
        gc.enable()
    assert worker.is_freed


def since(reason: str) -> str:
    """Return what is said of a worker that fails from the first instant of a manual clock on."""
    return f"{reason} (stands still since 2026-01-01T00:00:00+00:00)"


def test_a_worker_that_waits_to_be_opened_again_is_not_ready_and_lives() -> None:
    worker, pulse = Failing(FencedError("another took it"), "step"), Pulse("failing", ManualClock())
    thread = Thread(target=run, args=(worker, worker.stop, Patience(), pulse), daemon=True)
    thread.start()
    wait_until(lambda: pulse.ready() == Finding("failing", since("another took it")), 30)
    assert pulse.alive() == Finding("failing")
    worker.stop.set()
    thread.join(30)
    assert not thread.is_alive()


def test_who_was_shut_out_waits_longer_the_more_often_it_is_though_rounds_lie_between() -> None:
    class Waits(Backoff):
        """Notes how many failures in a row it was asked for."""

        def seconds(self, failures: int) -> float:
            asked.append(failures)
            if len(asked) == 4:
                worker.stop.set()
            return 0.0

    asked: list[int] = []
    worker = Failing(FencedError("another took it"), "never")
    errors = [FencedError("1"), FencedError("2"), TransientError("3"), TransientError("4")]

    def step() -> None:
        worker.rounds += 1
        if worker.rounds % 2 == 0:
            raise errors.pop(0)

    worker.step = step  # type: ignore[method-assign]  # this worker fails every second time
    run(worker, worker.stop, Patience(Waits(), Waits(), Waits()))
    assert asked == [1, 2, 1, 1]
