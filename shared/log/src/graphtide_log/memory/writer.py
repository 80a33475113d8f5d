"""Writing to the log in memory, by transactions and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import FatalError

from graphtide_log.memory.partition import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.ports.log import Message, Position, TopicPartition

    from graphtide_log.memory.partition import Transaction
    from graphtide_log.memory.state import State


class MemoryWriter:
    """A `LogWriter` of the log in memory: what is taken is kept at once."""

    def __init__(self, state: State) -> None:
        """Write to this log."""
        self._state = state

    def write(self, messages: Iterable[Message]) -> None:
        """Take the messages."""
        with self._state.changed:
            try:
                self._state.append(messages, None)
            finally:
                self._state.changed.notify_all()

    def flush(self, timeout: float) -> None:
        """Return: nothing is ever under way."""

    def close(self) -> None:
        """Return: nothing is held."""


class MemoryTransactor:
    """A `LogTransactor` of the log in memory."""

    def __init__(self, state: State, id: str) -> None:
        """Work under this id, once opened."""
        self._state = state
        self._id = id
        self._epoch = 0

    def open(self) -> None:
        """Take the id from its holder."""
        with self._state.changed:
            self._epoch = self._state.take(self._id)

    def begin(self) -> None:
        """Start a transaction."""
        with self._state.changed:
            self._state.check(self._id, self._epoch)
            if self._state.transaction(self._id) is not None:
                message = "a transaction is open already"
                raise FatalError(message)
            self._state.begin(self._id)

    def write(self, messages: Iterable[Message]) -> None:
        """Take messages into the transaction."""
        with self._state.changed:
            self._state.append(messages, self._transaction())

    def commit(self, group: str, positions: Mapping[TopicPartition, Position]) -> None:
        """Show what was written, and set the group's positions."""
        with self._state.changed:
            self._transaction()
            self._state.place(group, positions)
            self._state.end(self._id, Outcome.COMMITTED)

    def abort(self) -> None:
        """Forget what was written."""
        with self._state.changed:
            self._transaction()
            self._state.end(self._id, Outcome.ABORTED)

    def close(self) -> None:
        """Leave an open transaction to the next owner."""

    def _transaction(self) -> Transaction:
        self._state.check(self._id, self._epoch)
        transaction = self._state.transaction(self._id)
        if transaction is None:
            message = "no transaction is open"
            raise FatalError(message)
        return transaction
