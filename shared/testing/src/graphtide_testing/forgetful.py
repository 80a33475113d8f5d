"""A log that forgets what was committed, as a Kafka does whose coordinator was made too soon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphtide_core.errors import FatalError, TransientError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.log import Log, Position, TopicPartition


class ForgetfulLog:
    """A log, but that readers get another position than what was committed, for every partition.

    Attributes:
        times: how often they still do.
        shows_commits: whether its records of commits can be read, which are right.
        waits: whether readers get no position, since the log waits for a transaction.
    """

    def __init__(self, log: Log, answer: Position | None, times: int, *, shows_commits: bool = False) -> None:
        """Answer `answer` so many times."""
        self._log, self._answer, self.times, self.shows_commits = log, answer, times, shows_commits
        self.waits = False

    def reader(self, group: str | None) -> Any:
        """Return a reader that reports no committed offset."""
        reader: Any = self._log.reader(group)
        known = reader.committed

        def committed(partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position | None]:
            self.times -= 1
            if self.waits and self.times >= 0:
                message = "a transaction has not ended"
                raise TransientError(message)
            return dict.fromkeys(partitions, self._answer) if self.times >= 0 else known(partitions)

        def recorded(partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Position | None]:
            if not self.shows_commits:
                message = "the topic of commits may not be read"
                raise FatalError(message)
            found: dict[TopicPartition, Position | None] = known(partitions)
            return found

        reader.committed, reader.recorded = committed, recorded
        return reader

    def __getattr__(self, name: str) -> Any:
        """Do all else as the log does."""
        return getattr(self._log, name)
