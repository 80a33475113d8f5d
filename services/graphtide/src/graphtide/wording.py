"""Words that stand for one of several things, and the error for an unknown word."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def refuse_unless_one_of(word: str, known: Iterable[str], what: str, before: str = "") -> None:
    """Refuse a word that is not one of the known ones.

    Args:
        word: what was given.
        known: what there is.
        what: what the words are, as in `storage`.
        before: how the message begins.

    Raises:
        ValueError: it is unknown; the message has the nearest, and all.
    """
    there = list(known)
    if word in there:
        return
    close = difflib.get_close_matches(word[:100].lower(), there, n=1)
    nearest = f"did you mean {close[0]!r}? " if close else ""
    message = f"{before}there is no {what} {word!r}: {nearest}one of {', '.join(there)}"
    raise ValueError(message)
