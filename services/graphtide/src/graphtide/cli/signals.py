"""What SIGINT and SIGTERM do to a command: end it with an exit status that names the signal.

While a command starts, the signal ends the process at once. There is nothing to tidy up, and an import may catch or show an
exception. Later the signal is an exception like Ctrl-C's, so that the code that runs can write what it has.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from threading import Event
    from types import FrameType, TracebackType

ENDING: Final = (signal.SIGINT, signal.SIGTERM)


class InterruptedBySignal(KeyboardInterrupt):
    """A signal asks the command to end.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        """Keep which it was."""
        super().__init__()
        self.number = number


def end_at_once() -> None:
    """Let a signal end the process without a word, until `starting` ends; call it from the main thread.

    A signal that the parent ignores stays ignored: SIGINT in jobs that a script has put in the background, say.
    """
    _let(_take(), _end)


@contextmanager
def starting() -> Iterator[None]:
    """Let a signal end the process at once meanwhile, and raise `InterruptedBySignal` from then on.

    Changes nothing in a process whose signals are not ours, which `end_at_once` makes them.
    """
    ours = [number for number in ENDING if signal.getsignal(number) in {_end, _raise}]
    _let(ours, _end)
    try:
        yield
    finally:
        _let(ours, _raise)


class Ending:
    """Signals that ask for an end, kept for work that looks now and then; the second of them ends the process at once.

    Until `listen`, the first does so, too. Use it as a context, in the main thread.

    Attributes:
        number: of the signal that came; None if none did.
    """

    def __init__(self, asked: Event) -> None:
        """Set an event when a signal asks for the end."""
        self.number: int | None = None
        self._asked = asked

    def __enter__(self) -> Self:
        """Take the signals."""
        self._before = {number: signal.getsignal(number) for number in _take()}
        _let(self._before, _end)
        return self

    @property
    def status(self) -> int:
        """The exit status of a command that ended because it was asked to."""
        return 128 + (self.number or signal.SIGINT)

    def listen(self) -> None:
        """Keep signals from now on."""
        _let(self._before, self._keep)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Let signals do again what they did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _keep(self, number: int, frame: FrameType | None) -> None:
        if self.number is not None:
            _end(number, frame)
        self.number = number
        self._asked.set()


def status_of_interrupt(error: BaseException | None) -> int:
    """Return the exit status of a command that a signal ended, as shells have it."""
    return 128 + (error.number if isinstance(error, InterruptedBySignal) else signal.SIGINT)


def _take() -> list[signal.Signals]:
    """Return the signals that the parent process does not ignore."""
    return [number for number in ENDING if signal.getsignal(number) not in {signal.SIG_IGN, None}]


def _let(numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]) -> None:
    for number in numbers:
        signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


def _raise(number: int, _: FrameType | None) -> None:
    raise InterruptedBySignal(number)
