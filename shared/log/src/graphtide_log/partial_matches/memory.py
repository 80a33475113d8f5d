"""Views of partial matches in memory: for one process that needs no server, and for tests."""

from __future__ import annotations

import time
from threading import Lock


class MemoryPartialMatches:
    """A `PartialMatchStore` that lives as long as the object."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = Lock()
        self._views: dict[str, dict[str, tuple[float, bytes]]] = {}

    def put(self, pattern: str, part: str, view: bytes, seconds: float) -> None:
        """Replace the view of a part; it expires after so many seconds."""
        with self._lock:
            self._views.setdefault(pattern, {})[part] = (time.monotonic() + seconds, view)

    def remove(self, pattern: str, part: str) -> None:
        """Drop the view of a part, if there is one."""
        with self._lock:
            parts = self._views.get(pattern, {})
            parts.pop(part, None)
            if not parts:
                self._views.pop(pattern, None)

    def views(self, pattern: str) -> dict[str, bytes]:
        """Return the views that have not expired, by part."""
        now = time.monotonic()
        with self._lock:
            parts = {part: each for part, each in self._views.get(pattern, {}).items() if each[0] > now}
            if parts:
                self._views[pattern] = parts
            else:
                self._views.pop(pattern, None)
        return {part: view for part, (_, view) in parts.items()}

    def close(self) -> None:
        """Do nothing: no connection is open."""
