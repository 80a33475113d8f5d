"""Work that is counted, not timed: how many functions are called, on any machine the same.

The interpreter's own profiler counts, in C: an act takes about twice its time, not ten times as with a hook in Python.
"""

from __future__ import annotations

import gc
import signal
from contextlib import contextmanager
from cProfile import Profile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_BETWEEN_LOOKS: Final = 0.25
"""Seconds of processor time until the next look whether an act that still runs has called too many."""


class TooMuchWorkError(AssertionError):
    """An act calls more functions than it may."""

    def __init__(self, most: int) -> None:
        """Name the bound."""
        super().__init__(f"more than {most:,} functions are called")


def calls(act: Callable[[], object], most: int) -> int:
    """Return how many functions an act calls, those of the interpreter too.

    Only the main thread can count: a signal interrupts an act that would never end.

    Raises:
        TooMuchWorkError: they are more than `most`; an act that still runs ends soon after it has called one too many.
    """
    profiler = Profile()

    def look(_signal: int, _frame: FrameType | None) -> None:
        profiler.disable()
        _count(profiler, most, look)
        profiler.enable()

    # What others left behind is not collected meanwhile: callbacks of that would count.
    gc.collect()
    gc.disable()
    profiler.enable()
    try:
        # The last look ends before the profiler does: a later one would enable it again, for the rest of the process.
        with _looking(look):
            act()
    finally:
        profiler.disable()
        gc.enable()
    return _count(profiler, most, look)


def _count(profiler: Profile, most: int, look: Callable[..., None]) -> int:
    """Return the calls so far, without those of looking and of the profiler."""
    entries = profiler.getstats()
    count = sum(each.callcount for each in entries if each.code is not look.__code__ and "_lsprof" not in str(each.code))
    if count > most:
        raise TooMuchWorkError(most)
    return count


@contextmanager
def _looking(look: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGVTALRM, look)
    signal.setitimer(signal.ITIMER_VIRTUAL, _BETWEEN_LOOKS, _BETWEEN_LOOKS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
