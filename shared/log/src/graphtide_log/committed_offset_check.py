"""Checks committed positions: a position that contradicts what the worker wrote in the same transactions is not believed.

A coordinator of groups may not know all that was committed, or wait for a transaction that ended long ago. That lasts for a
moment or until the broker restarts (seen on Kafka 4.0.2 after crashes of a lone broker). A worker that believed it would write
again what it wrote before. So the worker reads the records of commits instead, which the log keeps (ADR 35). Where they cannot
be read, it refuses the position a few times. Each time it commits an unused position, which makes a coordinator notice and load
again. After that it believes the position: another process may have written what contradicts it.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import FatalError, TransientError
from graphtide_core.ports.log import Position
from graphtide_telemetry import events

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from graphtide_core.ports.log import LogReader, LogTransactor, TopicPartition

    Positions = Mapping[TopicPartition, Position | None]

MOST_REFUSALS: Final = 5
"""How often one worker's positions are refused in a row."""

_LOG = structlog.get_logger()


class CommittedOffsetCheck:
    """The refusals of a worker's positions; it outlives the worker's openings."""

    def __init__(self, group: str, unread: TopicPartition) -> None:
        """Prepare for a group; `unread` is a partition that the group never reads, so that its position means nothing."""
        self._group, self._unread = group, unread
        self._refused: Counter[frozenset[TopicPartition]] = Counter()

    def settled(
        self,
        reader: LogReader,
        places: Collection[TopicPartition],
        contradiction: Callable[[Positions], str | None],
        transactor: LogTransactor,
    ) -> Positions:
        """Return where the group continues in some partitions.

        Args:
            reader: of the group.
            places: the partitions.
            contradiction: returns what positions contradict, in words that follow the name of the group; None if nothing.
            transactor: of the group, open, and in no transaction.

        Raises:
            TransientError: the positions are refused; open again.
        """
        try:
            said = reader.committed(places)
        except TransientError as error:
            # The transactor is open, so what it left unfinished has ended, even if the coordinator waits.
            recorded = self._recorded(reader, places)
            if recorded is None or contradiction(recorded) is not None:
                raise
            _LOG.warning(events.POSITIONS_RECOVERED, worker=self._group, error=str(error))
            return recorded
        if (flaw := contradiction(said)) is None:
            del self._refused[frozenset(places)]
            return said
        recorded = self._recorded(reader, places) or said
        if contradiction(recorded) is None:
            _LOG.warning(events.POSITIONS_RECOVERED, worker=self._group, error=flaw)
            return recorded
        key = frozenset(places)
        if self._refused[key] < MOST_REFUSALS:
            self._refused[key] += 1
            transactor.begin()
            transactor.commit(self._group, {self._unread: Position(0)})
            message = f"group {self._group} {flaw}"
            raise TransientError(message)
        _LOG.warning(events.POSITIONS_BELIEVED, worker=self._group, error=flaw)
        return recorded

    def _recorded(self, reader: LogReader, places: Collection[TopicPartition]) -> Positions | None:
        """Return the positions by the records of commits; None where the log does not show these."""
        try:
            return reader.recorded(places)
        except FatalError as error:
            _LOG.warning(events.COMMITS_UNREADABLE, worker=self._group, error=str(error))
            return None


def recorded_positions(reader: LogReader, places: Collection[TopicPartition]) -> Positions:
    """Return where a group continues by the records of commits, or by its coordinator where the log does not show these.

    For a worker that opens seldom and has nothing else to compare with.

    Raises:
        TransientError: neither can be read.
    """
    # Kafka makes its topic of commits when a coordinator is first asked for.
    with suppress(TransientError):
        reader.committed(places)
    try:
        return reader.recorded(places)
    except FatalError as error:
        _LOG.warning(events.COMMITS_UNREADABLE, error=str(error))
        return reader.committed(places)
