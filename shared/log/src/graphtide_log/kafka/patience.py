"""Asks again while a trouble may pass by itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

from graphtide_core.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable

_BETWEEN_TRIES: Final = 0.05

_T = TypeVar("_T")


def patiently(ask: Callable[[float], _T], seconds: float) -> _T:
    """Return the answer of `ask`, which gets the seconds that are left.

    Raises:
        TransientError: no other answer within the seconds; the last of them.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask(max(0.0, deadline - time.monotonic()))
        except TransientError:
            if time.monotonic() + _BETWEEN_TRIES >= deadline:
                raise
            time.sleep(_BETWEEN_TRIES)
