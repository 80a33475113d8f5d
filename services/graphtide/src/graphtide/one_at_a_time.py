"""A guard of what one thread may use at a time: a second one gets an error, instead of both doing damage."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType


class OneAtATime:
    """A context whose block runs once at a time; a second entry is refused, not kept waiting."""

    __slots__ = ("_lock", "_name")

    def __init__(self, name: str) -> None:
        """Prepare; the name is for the message."""
        self._name = name
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        """Enter.

        Raises:
            RuntimeError: the block is running.
        """
        if not self._lock.acquire(blocking=False):
            message = f"{self._name} is in use: one thread may call it at a time, and no source of its own records"
            raise RuntimeError(message)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Leave."""
        self._lock.release()
