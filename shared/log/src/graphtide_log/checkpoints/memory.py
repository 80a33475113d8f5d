"""Checkpoints in memory: for one process that needs no server, and for tests."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class MemoryCheckpoints:
    """A `CheckpointStore` that lives as long as the object, shared by the threads of one process."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = Lock()
        self._manifests: dict[str, bytes] = {}
        self._segments: dict[str, dict[str, bytes]] = {}
        self._gone_at: dict[str, float] = {}

    def manifest(self, key: str) -> bytes | None:
        """Return the newest manifest; None if there is none."""
        with self._lock:
            self._forget_expired()
            return self._manifests.get(key)

    def segments(self, key: str, names: Iterable[str]) -> list[bytes] | None:
        """Return these segments, in that order; None if one is gone."""
        with self._lock:
            self._forget_expired()
            kept = self._segments.get(key, {})
            found = [kept.get(name) for name in names]
        whole = [segment for segment in found if segment is not None]
        return whole if len(whole) == len(found) else None

    def save(self, key: str, manifest: bytes, added: Mapping[str, bytes], kept: Iterable[str]) -> None:
        """Add segments, drop those that are neither added nor kept, and replace the manifest, all or nothing."""
        with self._lock:
            self._forget_expired()
            self._gone_at.pop(key, None)
            before = self._segments.get(key, {})
            self._segments[key] = {name: before[name] for name in kept if name in before} | dict(added)
            self._manifests[key] = manifest

    def expire(self, key: str, seconds: int) -> None:
        """Drop a checkpoint whole after so many seconds, unless one is saved under the key before."""
        with self._lock:
            self._gone_at[key] = time.monotonic() + seconds

    def close(self) -> None:
        """Do nothing: no connection is open."""

    def _forget_expired(self) -> None:
        now = time.monotonic()
        for key in [key for key, gone_at in self._gone_at.items() if gone_at <= now]:
            del self._gone_at[key]
            self._manifests.pop(key, None)
            self._segments.pop(key, None)
