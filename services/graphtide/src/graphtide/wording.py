"""Words that stand for one of several things, and the error for an unknown word."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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


def tally(counts: Mapping[str, int]) -> str:
    """Return counts in words, by plurals of what they count: `2 records, 1 match`."""
    return ", ".join(f"{number:,} {_of_number(number, what)}" for what, number in counts.items())


def _of_number(number: int, plural: str) -> str:
    if number != 1:
        return plural
    return plural.removesuffix("es") if plural.endswith("ches") else plural.removesuffix("s")
