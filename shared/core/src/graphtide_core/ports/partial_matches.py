"""Shares views of partial matches between services, for a while.

Nothing depends on a view: a store may lose all of them at any time. A pattern that runs in several parts has a view of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class PartialMatchStore(Protocol):
    """Keeps the newest view of each part of a pattern; safe for use by several threads."""

    def put(self, pattern: str, part: str, view: bytes, seconds: float) -> None:
        """Replace the view of a part; it expires after so many seconds.

        Raises:
            TransientError: the store does not answer or has no room.
        """
        ...

    def remove(self, pattern: str, part: str) -> None:
        """Drop the view of a part, if there is one.

        Raises:
            TransientError: the store does not answer.
        """
        ...

    def views(self, pattern: str) -> Mapping[str, bytes]:
        """Return the views that have not expired, by part.

        Raises:
            TransientError: the store does not answer.
        """
        ...

    def close(self) -> None:
        """Give back the connection."""
        ...
