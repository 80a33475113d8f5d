"""Which streams this process puts in order: all of a deployment, or those that fall to it among its replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.clock import Clock
    from graphtide_serving.replicas import Replicas

_LIST_SECONDS: Final = 2.0
"""How long a list of streams is good: it asks the log, and who is alive is looked at more often."""


class SequencedStreams:
    """Says which streams are to be put in order here; for one thread."""

    def __init__(self, listed: Callable[[], frozenset[StreamName]], clock: Clock, replicas: Replicas | None) -> None:
        """Prepare; `listed` returns the streams of the deployment that some process puts in order."""
        self._listed = listed
        self._clock = clock
        self._replicas = replicas
        self._streams: frozenset[StreamName] = frozenset()
        self._listed_at: float | None = None

    def wanted(self) -> frozenset[str]:
        """Return the streams.

        Raises:
            TransientError: the log does not answer.
        """
        now = self._clock.monotonic()
        if self._replicas is None or self._listed_at is None or now - self._listed_at >= _LIST_SECONDS:
            self._streams, self._listed_at = self._listed(), now
        return frozenset(self._streams) if self._replicas is None else self._replicas.owned(self._streams)
