"""Connections of HTTP that cost no more than they should, for any behaviour of the other side.

A connection without a request has seconds to send one. A client is cut off if it is silent, sends headers byte by byte, or
sends the rest of a body that was answered already. So is a client that does not read its answer. At the bound on connections
the one that has had no request under way for longest gives way to a new one. So silence shuts no other client out.
Cost: a timer a request; at the bound, a look at all connections.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from graphtide_serving.protection.strict_heads import StrictHeads

if TYPE_CHECKING:
    import asyncio


class BoundedConnection(H11Protocol):
    """Uvicorn's protocol within bounds.

    Attributes:
        most: connections at once.
        request_seconds: how long a request with its headers may take to come, and an answer to be read on.
        stalled_seconds: how long a client may read nothing of an answer under way.
    """

    most: ClassVar = 512
    request_seconds: ClassVar = 10.0
    stalled_seconds: ClassVar = 30.0

    _timer: asyncio.TimerHandle | None = None
    _unsent: float = math.inf
    _waits_since: float = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in what it extends
        """Begin; another connection gives way if there are too many."""
        super().connection_made(transport)
        self.conn._receive_buffer = StrictHeads()  # noqa: SLF001 - h11 has no setting for it
        self._wait()
        if len(self.connections) > self.most:
            waiting = [each for each in self.connections if isinstance(each, BoundedConnection) and not each.is_serving]
            min(waiting, key=lambda each: each.waits_since).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._watch(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; the clock stops when they complete the headers of a request."""
        super().data_received(data)
        if self.is_serving and not self.flow.write_paused:
            self._watch(None)

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is there already."""
        super().on_response_complete()
        if not self.is_serving:
            self._wait()

    def pause_writing(self) -> None:
        """Note that what was sent is not read."""
        super().pause_writing()
        self._watch(self.stalled_seconds)

    def resume_writing(self) -> None:
        """Note that it is read on."""
        super().resume_writing()
        if self.is_serving:
            self._watch(None)

    @property
    def is_serving(self) -> bool:
        """Whether a request is under way: its headers came, and its answer is not complete."""
        cycle = self.cycle
        return bool(cycle) and not cycle.response_complete

    @property
    def waits_since(self) -> float:
        """Since when there has been no request under way, by the clock of the loop."""
        return self._waits_since

    def _wait(self) -> None:
        self._waits_since = self.loop.time()
        self._watch(self.request_seconds)

    def _watch(self, seconds: float | None) -> None:
        """Look again after so many seconds; never if None."""
        if self._timer is not None:
            self._timer.cancel()
        self._unsent = math.inf
        self._timer = self.loop.call_later(seconds, self._look, seconds) if seconds is not None else None

    def _look(self, seconds: float) -> None:
        """End the connection, unless an answer is being read."""
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:
            self._unsent = unsent
            self._timer = self.loop.call_later(seconds, self._look, seconds)
        else:
            self.transport.abort()
