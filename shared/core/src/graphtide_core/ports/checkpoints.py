"""Stores the state of a pass, so that a process can continue after a crash.

A checkpoint is a manifest and the segments it names. Segments never change: a new checkpoint adds some, keeps some and drops
the rest. The manifest is replaced in one step with its segments, so that a reader sees the one checkpoint or the other, never
a mixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class CheckpointStore(Protocol):
    """Keeps checkpoints by key; safe for use by one thread at once."""

    def manifest(self, key: str) -> bytes | None:
        """Return the newest manifest; None if there is none.

        Raises:
            TransientError: the store does not answer.
        """
        ...

    def segments(self, key: str, names: Iterable[str]) -> list[bytes] | None:
        """Return these segments, in that order; None if one is gone.

        Raises:
            TransientError: the store does not answer.
        """
        ...

    def save(self, key: str, manifest: bytes, added: Mapping[str, bytes], kept: Iterable[str]) -> None:
        """Add segments, drop those that are neither added nor kept, and replace the manifest, all or nothing.

        Raises:
            TransientError: the store does not answer or has no room; nothing was changed, or everything.
        """
        ...

    def expire(self, key: str, seconds: int) -> None:
        """Drop a checkpoint whole after so many seconds, unless one is saved under the key before.

        Raises:
            TransientError: the store does not answer.
        """
        ...

    def close(self) -> None:
        """Give back the connection."""
        ...
