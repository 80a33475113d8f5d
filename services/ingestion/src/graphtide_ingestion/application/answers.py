"""First answers by idempotency key: a request with a known key gets the first answer again.

Answers are kept in memory, for a time and up to a number. After a restart of the service a repeated request is written again.
The filter of duplicates then drops those of its edges that have ids.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

    from graphtide_core.ports.clock import Clock

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[Answer]):
    answer: Answer
    until: float


class Answers(Generic[Answer]):
    """Answers by key; for one thread. Cost: O(1) a call, amortised."""

    def __init__(self, clock: Clock, seconds: float, most: int) -> None:
        """Keep `most` answers for so many seconds."""
        self._clock = clock
        self._seconds = seconds
        self._most = most
        self._kept: OrderedDict[Hashable, _Kept[Answer]] = OrderedDict()

    def get(self, key: Hashable) -> Answer | None:
        """Return the answer that was first given to this key."""
        self._forget()
        kept = self._kept.get(key)
        return None if kept is None else kept.answer

    def put(self, key: Hashable, answer: Answer) -> None:
        """Keep an answer; the oldest leaves if there are too many."""
        self._kept[key] = _Kept(answer, self._clock.monotonic() + self._seconds)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def drop(self, key: Hashable) -> None:
        """Forget an answer, so that the next request with the key is a first one."""
        self._kept.pop(key, None)

    def _forget(self) -> None:
        now = self._clock.monotonic()
        while self._kept and next(iter(self._kept.values())).until <= now:
            self._kept.popitem(last=False)
