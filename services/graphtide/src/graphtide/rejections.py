"""What of a stream could not be used, and the words that say so.

Records that are bad or late are rejected, and values that no attribute can have are missing. Neither is ever silent: commands
say it on standard error, functions warn.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_query.known_attributes import attributes_but_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.ports.dead_letter_sink import DeadLetter

    from graphtide.readers import Settled, UnusableValues

    Warn = Callable[[str], None]

_PACKAGE = __name__.partition(".")[0]


class StreamWarning(UserWarning):
    """Part of a stream could not be used: records were rejected, or values are missing."""


@dataclass(slots=True)
class Rejections:
    """How many records were rejected, and the first of them."""

    count: int = 0
    first: DeadLetter | None = None

    def add(self, letters: Sequence[DeadLetter]) -> None:
        """Take letters that follow those taken before."""
        self.count += len(letters)
        if self.first is None and letters:
            # Bad ones and late ones come apart, each by itself in the order of the stream.
            self.first = min(letters, key=lambda letter: letter.line)

    def is_all(self, records: int) -> bool:
        """Return whether of so many records none could be used, though there was one."""
        return 0 < records <= self.count

    def sentences(self, records: int, place: str, how: str) -> list[str]:
        """Return the sentence about them, nothing if there are none.

        Args:
            records: how many there were of all.
            place: what a letter's line counts: `line`, `row` or `record`.
            how: what shows them.
        """
        if self.first is None:
            return []
        were = "was" if self.count == 1 else "were"
        reason = " ".join(self.first.reason.split())
        first = f"the first at {place} {self.first.line} ({reason})"
        return [f"{self.count:,} of {records:,} record{'s' * (records != 1)} {were} rejected, {first}; {how}"]


def unusable_values_notes(found: Iterable[UnusableValues], place: str) -> list[str]:
    """Return a sentence for each attribute whose values are missing because no attribute can have them."""
    return [
        f"attribute {unusable.name!r} was {unusable.found} in {unusable.records:,} record{'s' * (unusable.records != 1)}, "
        f"the first at {place} {unusable.line}; such a value counts as missing"
        for unusable in found
    ]


def settled_notes(found: Iterable[Settled], patterns: Iterable[AnyPattern], remedy: str) -> list[str]:
    """Return a sentence for each column that is read as text although a pattern takes it for something else.

    `remedy` says what reads column `{column}` otherwise.
    """
    wanted = attributes_but_texts(patterns)
    return [
        f"column {each.column!r} holds texts, because of {each.text!r} in line {each.line}; a pattern compares it with what is "
        f"none, which is never true; {remedy.format(column=each.column)} reads it otherwise"
        for each in found
        if each.column in wanted
    ]


def warn(text: str, category: type[Warning] = StreamWarning) -> None:
    """Warn the code that called into this package."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
