"""How a command ends: its exit status, and the words on standard error."""

from __future__ import annotations

import sys
from typing import Final

from graphtide_core.errors import FatalError, GraphtideError, InvalidQueryError, LimitExceededError, UnreadableStreamError

DONE: Final = 0
FAILED: Final = 1
INVALID_PATTERN: Final = 2
UNREADABLE_STREAM: Final = 3
LIMIT_REACHED: Final = 4
INTERRUPTED: Final = 130
OUTPUT_CLOSED: Final = 141

_STATUS: Final[tuple[tuple[type[GraphtideError], int], ...]] = (
    (InvalidQueryError, INVALID_PATTERN),
    (UnreadableStreamError, UNREADABLE_STREAM),
    (LimitExceededError, LIMIT_REACHED),
    (FatalError, FAILED),
)


def status_of(error: GraphtideError) -> int:
    """Return the exit status for an error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), FAILED)


def say(text: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(f"graphtide: {text}\n")
