"""Cache the patterns of parsed texts, so that a process parses a text once for all callers.

Patterns do not change, so callers share them. The cache holds the most recently used texts, up to 33 million characters; their
patterns take some 20 bytes for each character. A text with an error is not cached.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

    from graphtide_core.any_pattern import AnyPattern

MOST_CHARACTERS: Final = 2**25
"""Characters of all cached texts: some 200,000 patterns of three edges."""


class ParsedTexts:
    """A cache by text and language; safe for threads. Complexity: O(text) for each call, to compare it."""

    def __init__(self, most: int = MOST_CHARACTERS) -> None:
        """Cache texts up to a total number of characters."""
        self._most = most
        self._characters = 0
        self._kept: OrderedDict[tuple[str, Hashable], tuple[AnyPattern, ...]] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str, language: Hashable) -> tuple[AnyPattern, ...] | None:
        """Return the patterns of a text; None if it is not cached for this language."""
        with self._lock:
            found = self._kept.get((text, language))
            if found is not None:
                self._kept.move_to_end((text, language))
        return found

    def put(self, text: str, language: Hashable, patterns: tuple[AnyPattern, ...]) -> None:
        """Cache the patterns of a text and evict the least recently used; ignore a text larger than the cache."""
        if len(text) > self._most:
            return
        with self._lock:
            if (text, language) not in self._kept:
                self._kept[text, language] = patterns
                self._characters += len(text)
            while self._characters > self._most:
                (oldest, _), _ = self._kept.popitem(last=False)
                self._characters -= len(oldest)
