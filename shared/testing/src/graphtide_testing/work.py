"""Work that is counted, not timed: how many functions are called, on any machine the same."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


class TooMuchWorkError(AssertionError):
    """Something calls more functions than it may; raised where it calls one too many, so that what is endless ends."""


def calls(act: Callable[[], object], most: int) -> int:
    """Return how many functions are called by an act, those of the interpreter too.

    Raises:
        TooMuchWorkError: they are more than `most`.
    """
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        if count > most:
            sys.setprofile(before)
            message = f"more than {most:,} functions are called"
            raise TooMuchWorkError(message)

    before = sys.getprofile()
    # What others left behind is not collected meanwhile: callbacks of that would count.
    gc.collect()
    gc.disable()
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count
