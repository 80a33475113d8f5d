"""Patterns of texts that were parsed, so that a process parses a text once for all callers.

Patterns do not change, so all who ask share them. Of the texts used last so many are kept as have 33 million characters in all;
their patterns take some 20 bytes a character. A text that is wrong is not kept.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

    from graphtide_core.any_pattern import AnyPattern

MOST_CHARACTERS: Final = 2**25
"""Characters of all texts that are kept: some 200,000 patterns of three edges."""


class ParsedTexts:
    """What was parsed, by text and language; safe for threads. Complexity: O(text) a call, to compare it."""

    def __init__(self, most: int = MOST_CHARACTERS) -> None:
        """Keep texts of so many characters in all."""
        self._most = most
        self._characters = 0
        self._kept: OrderedDict[tuple[str, Hashable], tuple[AnyPattern, ...]] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str, language: Hashable) -> tuple[AnyPattern, ...] | None:
        """Return the patterns of a text; None if it was not parsed in this language, or not lately."""
        with self._lock:
            found = self._kept.get((text, language))
            if found is not None:
                self._kept.move_to_end((text, language))
        return found

    def put(self, text: str, language: Hashable, patterns: tuple[AnyPattern, ...]) -> None:
        """Keep the patterns of a text, in place of those used longest ago; not of one that is more than all may be."""
        if len(text) > self._most:
            return
        with self._lock:
            if (text, language) not in self._kept:
                self._kept[text, language] = patterns
                self._characters += len(text)
            while self._characters > self._most:
                (oldest, _), _ = self._kept.popitem(last=False)
                self._characters -= len(oldest)
