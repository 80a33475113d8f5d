"""The progress of a stream's sources, and the time that the watermark may have by it.

A source is a producer that names itself, or else a partition. The watermark waits for the slowest source that is not idle. It
waits, too, for a partition with known records until one of them is read. Cost: O(sources) a record where there
are several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.time import MIN_EVENT_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LONGEST_NAME: Final = 200
"""Characters of a producer's name; one with more counts as none."""


class SourceProgress(msgspec.Struct, array_like=True):
    """How far a source has come, and when it last spoke, in seconds of a clock that never goes back."""

    partition: int
    newest: int
    heard: float


class FrozenProgress(msgspec.Struct, frozen=True):
    """The state of `Progress`, to be kept."""

    sources: dict[str, SourceProgress] = {}
    unheard: tuple[int, ...] = ()
    newest: int | None = None
    opened: float = 0.0
    heard: float = 0.0


class Progress:
    """The sources of one stream."""

    def __init__(self) -> None:
        """Start with no source."""
        self._sources: dict[str, SourceProgress] = {}
        self._unheard: set[int] = set()
        self._newest: int | None = None
        self._opened = 0.0
        self._heard = 0.0

    def open(self, unheard: Iterable[int], newest: int | None, now: float) -> None:
        """Begin to wait: for the sources that are known, and for these partitions.

        `newest` is the time that the stream is known to have reached.
        """
        self._unheard = set(unheard) - {source.partition for source in self._sources.values()}
        for source in self._sources.values():
            source.heard = now
        self._newest = newest
        self._opened = self._heard = now

    def restore(self, partition: int, newest: Mapping[str, int]) -> None:
        """Restore the sources of a partition, and their progress; call `open` after the last."""
        self._sources |= {name: SourceProgress(partition, ts, 0.0) for name, ts in newest.items()}

    def freeze(self) -> FrozenProgress:
        """Return the whole state."""
        sources = {name: msgspec.structs.replace(source) for name, source in self._sources.items()}
        return FrozenProgress(sources, tuple(sorted(self._unheard)), self._newest, self._opened, self._heard)

    def thaw(self, frozen: FrozenProgress) -> None:
        """Restore a frozen state, and nothing else."""
        self._sources = {name: msgspec.structs.replace(source) for name, source in frozen.sources.items()}
        self._unheard = set(frozen.unheard)
        self._newest = frozen.newest
        self._opened, self._heard = frozen.opened, frozen.heard

    def name_of(self, producer: str | None, partition: int) -> str:
        """Return the name of a source; those of partitions cannot be a producer's."""
        return f"={producer}" if producer and len(producer) <= LONGEST_NAME else f"#{partition}"

    def bound_for(self, name: str, partition: int) -> int | None:
        """Return the watermark's bound while a record of this source is taken, before its own times count.

        None where they count one by one, since no other source exists: what is out of order within the record is late then.
        """
        is_alone = len(self._sources) == (name in self._sources) and self._unheard <= {partition}
        if is_alone and self._leads(name):
            return None
        return self.bound

    def advance(self, name: str, partition: int, newest: int, now: float) -> None:
        """Note a record of a source, and the greatest time in it."""
        self._unheard.discard(partition)
        known = self._sources.get(name)
        reached = newest if known is None else max(known.newest, newest)
        self._sources[name] = SourceProgress(partition, reached, now)
        self._heard = max(self._heard, now)
        self._newest = reached if self._newest is None else max(self._newest, reached)

    @property
    def bound(self) -> int:
        """How far the slowest source has come."""
        if self._unheard or not self._sources:
            return MIN_EVENT_TIME
        return min(source.newest for source in self._sources.values())

    def is_held_back(self, name: str, partition: int) -> bool:
        """Whether `bound` stays what it is, however far this source of the partition comes."""
        if self._unheard:
            return bool(self._unheard - {partition})
        known = self._sources.get(name)
        others = [source.newest for other, source in self._sources.items() if other != name]
        return known is not None and bool(others) and min(others) <= known.newest

    @property
    def newest(self) -> int | None:
        """How far the fastest source ever came; None before the first record."""
        return self._newest

    @property
    def heard(self) -> float:
        """When a source spoke last, or when listening began."""
        return self._heard

    def nothing_unread(self) -> None:
        """Note that all partitions were read to their ends: none has records that were not looked at."""
        self._unheard.clear()

    def forget_idle(self, now: float, seconds: float) -> bool:
        """Forget the sources that have not spoken for so long; return whether there were any."""
        idle = [name for name, source in self._sources.items() if now - source.heard >= seconds]
        for name in idle:
            del self._sources[name]
        waited = bool(self._unheard) and now - self._opened >= seconds
        if waited:
            self._unheard.clear()
        return bool(idle) or waited

    @property
    def is_quiet(self) -> bool:
        """Whether it waits for no source."""
        return not self._sources and not self._unheard

    def of_partition(self, partition: int) -> dict[str, int]:
        """Return how far the sources of a partition are, the slowest first."""
        own = [(source.newest, name) for name, source in self._sources.items() if source.partition == partition]
        return {name: newest for newest, name in sorted(own)}

    def _leads(self, name: str) -> bool:
        """Whether no source ever was ahead of this one."""
        known = self._sources.get(name)
        return self._newest is None or (known is not None and known.newest >= self._newest)
