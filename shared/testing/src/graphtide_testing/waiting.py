"""Waiting for what another thread or process does: it is looked at again and again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def wait_until(
    holds: Callable[[], bool], seconds: float, reported: Callable[[], str] = lambda: "it did not come", *, pause: float = 0.05
) -> float:
    """Return as soon as it holds; return how long that took, in seconds.

    Raises:
        AssertionError: it does not within so many seconds; with what is `reported` then.
    """
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > seconds:
            message = f"not within {seconds:g} seconds: {reported()}"
            raise AssertionError(message)
        time.sleep(pause)
    return time.monotonic() - begun
