"""Where the planner and the scaler of a process meet: each is a thread of its own, and neither may touch what the other knows.

The scaler says which shards there are and which are to go. The planner says, when it is asked, what holds its shards. Its
answer names the shards that it used, so it is not taken for one about others. A planner that is not open answers nothing.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_planner.domain.spreading import Held, ShardCount


class Answer(NamedTuple):
    """What holds shards, as the planner saw it when it went by these rooms."""

    held: Held
    shard_counts: Mapping[str, ShardCount]


class ReplicaExchange:
    """The last messages of both sides; safe for threads."""

    def __init__(self, shard_counts: Mapping[str, ShardCount]) -> None:
        """Begin with what holds before the first look."""
        self._lock = Lock()
        self._shard_counts = dict(shard_counts)
        self._is_open = False
        self._is_asked = False
        self._answer: Answer | None = None

    def shard_counts(self) -> Mapping[str, ShardCount]:
        """Return the shards of each service."""
        with self._lock:
            return dict(self._shard_counts)

    def make_room(self, shard_counts: Mapping[str, ShardCount]) -> None:
        """Give the numbers of shards."""
        with self._lock:
            self._shard_counts |= shard_counts

    def is_open(self) -> bool:
        """Whether the planner of this process is the one that plans."""
        with self._lock:
            return self._is_open

    def opened(self) -> None:
        """Say that the planner plans."""
        with self._lock:
            self._is_open = True

    def closed(self) -> None:
        """Say that it does not."""
        with self._lock:
            self._is_open, self._answer = False, None

    def ask(self) -> Answer | None:
        """Return what was answered since the last answer was taken; None asks for one."""
        with self._lock:
            answer, self._answer = self._answer, None
            self._is_asked = answer is None
            return answer

    def withdraw(self) -> None:
        """Ask for nothing any more, and forget what was answered."""
        with self._lock:
            self._is_asked, self._answer = False, None

    def is_asked(self) -> bool:
        """Whether an answer is wanted."""
        with self._lock:
            return self._is_asked

    def answer(self, answer: Answer) -> None:
        """Answer."""
        with self._lock:
            self._is_asked, self._answer = False, answer
