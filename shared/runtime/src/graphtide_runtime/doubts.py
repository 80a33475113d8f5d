"""Doubts about committed positions: a worker refuses those that contradict what it wrote in the same transactions.

A coordinator of groups that was made while its partition had no leader knows nothing, or not all, of what was committed (seen
on Kafka 4.0.2 after crashes of a lone broker). Whoever believed it would write again what it wrote before. A commit of a
position that nobody reads makes the coordinator notice, and load again. Who goes on saying so is believed in the end: what
contradicts it may have been written by somebody else.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import TransientError
from graphtide_core.ports.log import Position

if TYPE_CHECKING:
    from graphtide_core.ports.log import LogTransactor, TopicPartition

MOST_DOUBTS: Final = 5
"""How often one partition's positions are refused in turn."""


class Doubts:
    """What a worker has refused to believe; it outlives the worker's openings."""

    def __init__(self, group: str, unread: TopicPartition) -> None:
        """Prepare for a group; `unread` is a partition that the group never reads, so that its position means nothing."""
        self._group, self._unread = group, unread
        self._refused: Counter[TopicPartition] = Counter()

    def dispel(self, partition: TopicPartition) -> None:
        """Note that positions of a partition are as they must be."""
        del self._refused[partition]

    def refuse(self, partition: TopicPartition, contradiction: str, transactor: LogTransactor) -> None:
        """Refuse positions of a partition, and make their coordinator load again; return if they were refused often enough.

        Raises:
            TransientError: they are refused; `contradiction` says why.
        """
        if self._refused[partition] >= MOST_DOUBTS:
            return
        self._refused[partition] += 1
        transactor.begin()
        transactor.commit(self._group, {self._unread: Position(0)})
        message = f"group {self._group} {contradiction}"
        raise TransientError(message)
