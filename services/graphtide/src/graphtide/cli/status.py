"""How a command ends: its exit status, and the words on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError, GraphtideError, InvalidQueryError, LimitExceededError, UnreadableStreamError

from graphtide.cli.quiet import is_quiet

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

DONE: Final = 0
FAILED: Final = 1
INVALID_PATTERN: Final = 2
UNREADABLE_STREAM: Final = 3
"""Or no record of it could be used."""
LIMIT_REACHED: Final = 4
TOO_MANY_REJECTED: Final = 5
"""What could be used is matched; of the rest there is more than the call allows."""
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


def status_of_share(rejected: int, records: int, most: Fraction) -> int:
    """Return the exit status of a run that came to its end, and write why if it is for the share of rejected records.

    Args:
        rejected: how many were rejected.
        records: of so many.
        most: the share of records that may be rejected; so many are too many.
    """
    from graphtide.rejections import is_too_much, show_share  # noqa: PLC0415 - verbs without a stream do without

    if 0 < records <= rejected:
        return UNREADABLE_STREAM
    if not is_too_much(rejected, records, most):
        return DONE
    share = show_share(rejected, records)
    say(f"status {TOO_MANY_REJECTED}, since {share} of the records were rejected; --max-rejected PERCENTAGE allows more")
    return TOO_MANY_REJECTED


def say(text: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(f"graphtide: {text}\n")


def note(text: str) -> None:
    """Write a note to standard error, unless the command is quiet."""
    if not is_quiet():
        say(f"note: {text}")


def say_interrupted(error: BaseException) -> None:
    """Say that a signal ended the command, and what was done until then, as far as it is known."""
    say(": ".join(("interrupted", *getattr(error, "__notes__", ()))))
