"""What SIGINT and SIGTERM do to a command: end it, and tell in its exit status which it was.

While a command starts there is nothing to tidy up, and an exception out of an import may be caught or shown by whoever imports:
so the process ends at once. Later the signal is an exception like Ctrl-C's, so that whatever runs can write what it has.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

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

    What the parent told to be ignored stays ignored: SIGINT in jobs that a script has put in the background, say.
    """
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


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


def status_of_interrupt(error: BaseException | None) -> int:
    """Return the exit status of a command that a signal ended, as shells have it."""
    return 128 + (error.number if isinstance(error, InterruptedBySignal) else signal.SIGINT)


def _let(numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]) -> None:
    for number in numbers:
        signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


def _raise(number: int, _: FrameType | None) -> None:
    raise InterruptedBySignal(number)
