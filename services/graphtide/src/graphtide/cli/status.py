"""How a command ends: its exit status, and the words on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError, GraphtideError, InvalidQueryError, LimitExceededError, UnreadableStreamError

if TYPE_CHECKING:
    from pathlib import Path

DONE: Final = 0
FAILED: Final = 1
INVALID_PATTERN: Final = 2
UNREADABLE_STREAM: Final = 3
"""Or no record of it could be used."""
LIMIT_REACHED: Final = 4
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


def shown_by(dead_letters: Path | None) -> str:
    """Return what shows the rejected records."""
    return "--dead-letters FILE keeps them" if dead_letters is None else f"they are in {dead_letters}"


def say(text: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(f"graphtide: {text}\n")
