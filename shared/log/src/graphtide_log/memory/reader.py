"""Reading the log in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import FatalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.ports.log import Position, Record, TopicPartition

    from graphtide_log.memory.state import State


class MemoryReader:
    """A `LogReader` of the log in memory."""

    def __init__(self, state: State, group: str | None) -> None:
        """Read for a group, or for none."""
        self._state = state
        self._group = group
        self._next: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._at_end = False

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets, and no others."""
        self._next = dict(positions)
        self._paused = set()
        self._at_end = False

    def poll(self, timeout: float, most: int) -> list[Record]:
        """Return up to `most` records as soon as there are some."""
        found: list[Record] = []
        with self._state.changed:
            known = self._at_end
            self._state.changed.wait_for(lambda: self._read(found, most) or self._at_end > known, timeout)
        return found

    def at_end(self) -> bool:
        """Return whether there was no more to give."""
        return self._at_end

    def ended_at(self, partition: TopicPartition) -> int | None:
        """Return where the partition ends that was read to its end, if nothing came since."""
        with self._state.changed:
            following = self._next.get(partition)
            if following is None or not self._is_at_end(partition, following):
                return None
            return max(following, self._state.partition(partition).stable_end)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Give no records of these until `resume`."""
        self._paused.update(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Give records of these again."""
        self._paused.difference_update(partitions)

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Return the first and the next offset of each."""
        with self._state.changed:
            found = {place: self._state.partition(place) for place in partitions}
            return {place: (partition.first, partition.stable_end) for place, partition in found.items()}

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic."""
        with self._state.changed:
            return self._state.partitions(topic)

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position | None]:
        """Return where the group continues in each."""
        if self._group is None:
            message = "a reader without a group has no positions"
            raise ValueError(message)
        with self._state.changed:
            return {place: self._state.placed(self._group, place) for place in partitions}

    def recorded(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position | None]:
        """Return the same: memory has no other source."""
        return self.committed(partitions)

    def close(self) -> None:
        """Stop reading."""
        self.assign({})

    def _read(self, found: list[Record], most: int) -> bool:
        """Move what there is to `found`, partition by partition, and return whether there was any."""
        wanted = [place for place in self._next if place not in self._paused and self._state.has(place)]
        sources = [(place, self._state.partition(place)) for place in wanted]
        for place, partition in sources:
            if self._next[place] == 0:
                self._next[place] = partition.first
            if not partition.first <= self._next[place] <= partition.end:
                where = f"{place.topic}/{place.partition}"
                message = f"{where} has no offset {self._next[place]}, but {partition.first} to {partition.end}"
                raise FatalError(message)
        for place, partition in sources:
            if len(found) == most:
                break
            records, following = partition.read(self._next.pop(place), most - len(found))
            self._next[place] = following  # At the end of the dict: the next read begins with another.
            found += records
        # The mark of a transaction's end is not a record, so only a read of the rest shows the end.
        self._at_end = all(self._is_at_end(place, following) for place, following in self._next.items())
        return bool(found)

    def _is_at_end(self, place: TopicPartition, following: int) -> bool:
        return self._state.has(place) and not self._state.partition(place).read(following, 1)[0]
