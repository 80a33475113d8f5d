"""Signals while a service starts: it has no work yet, so it ends, without a traceback."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


def end_at_once() -> None:
    """Let SIGINT and SIGTERM end the process until the server handles them; call it before any long import.

    Signals that the parent ignores stay ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)
