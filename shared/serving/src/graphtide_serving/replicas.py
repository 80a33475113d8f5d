"""Replicas of one service that share its work, by signs of life in the log.

Every replica writes a sign of life twice a second, and reads those of the others. Work falls to one replica by rendezvous
hashing of the work's name with the names of those that are alive. So all agree once they have read the same signs, and only the
work of a replica that comes or goes changes hands.

Agreement is not what keeps results exact: two replicas may do one work for a moment, when they have not read the same. Each
work has a transactional id, and the second to open it shuts out the first, whose open transaction comes to nothing (ADR 46).

A replica that does not read its own signs of life counts itself as lost, and lets all work go.
"""

from __future__ import annotations

import os
import platform
import secrets
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import GraphtideError, PoisonRecordError
from graphtide_log.follower import Follower
from graphtide_telemetry import events
from graphtide_wire.replicas import ReplicaRecord, decode_replica, encode_leaving, encode_replica, replica_of

from graphtide_serving.opened import close_all, open_worker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogWriter, Record
    from graphtide_wire.topics import Topics

_LOG = structlog.get_logger()

_POLL_SECONDS: Final = 0.1
_FLUSH_SECONDS: Final = 5.0
_LEAVE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class ReplicaTimes:
    """Times of signs of life.

    Attributes:
        beat_seconds: between two signs of a replica.
        lost_seconds: without a sign, after which it is lost.
    """

    beat_seconds: float = 0.5
    lost_seconds: float = 2.5


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is known of the replicas, as one value that other threads read.

    Attributes:
        alive: those that may have work.
        until: when this is of no use any more, unless a new sign of our own is read before.
    """

    alive: frozenset[str] = frozenset()
    until: float = float("-inf")


@dataclass(slots=True)
class _Opened:
    writer: LogWriter
    follower: Follower


class Replicas:
    """A `Worker` that gives signs of life, and knows which work falls to this process; safe for threads."""

    def __init__(
        self,
        log: Log,
        topics: Topics,
        role: str,
        clock: Clock,
        *,
        times: ReplicaTimes | None = None,
        replica: str | None = None,
    ) -> None:
        """Prepare; nothing is written yet.

        Args:
            log: that all replicas share.
            topics: its topics.
            role: which replicas share work.
            clock: for times between signs.
            times: of signs of life, the same for all replicas.
            replica: name of this process, and of no other; by default its machine's, its number and a random one.
        """
        self._log = log
        self._topics = topics
        self._role = role
        self._clock = clock
        self._times = times or ReplicaTimes()
        self._replica = replica or f"{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._opened: _Opened | None = None
        self._signs: dict[str, float] = {}
        self._beat = 0
        self._has_left = False
        self._due = self._settled_at = self._stepped_at = 0.0
        self._seen = _Seen()

    @property
    def name(self) -> str:
        """Its name in logs."""
        return f"{self._topics.prefix}.replicas.{self._role}"

    @property
    def replica(self) -> str:
        """The name of this process."""
        return self._replica

    @property
    def alive(self) -> frozenset[str]:
        """The replicas that share the work now; empty while this one does not know them."""
        seen = self._seen
        return seen.alive if self._clock.monotonic() < seen.until else frozenset()

    def owns(self, work: str) -> bool:
        """Return whether a work falls to this process. Complexity: O(replicas)."""
        alive = self.alive
        return self._replica in alive and max(alive, key=lambda each: _weight(work, each)) == self._replica

    def owned(self, works: Iterable[str]) -> frozenset[str]:
        """Return the works that fall to this process."""
        return frozenset(filter(self.owns, works))

    def open(self) -> None:
        """Read the signs that there are. Replicas that gave some may be alive, so no work falls to this one for a while then.

        Raises:
            TransientError: the log does not answer.
        """
        self._log.admin().ensure(self._topics.of_deployment())
        self._opened = opened = _Opened(self._log.writer(), Follower(self._log, self._topics.replicas))
        self._signs, self._seen = {}, _Seen()
        for record in opened.follower.to_the_end():
            self._take(record)
        self._signs.pop(self._replica, None)
        self._settle()
        self._due = self._stepped_at

    def step(self) -> None:
        """Give a sign of life, if it is time, and read those of others.

        Raises:
            TransientError: the log does not answer.
        """
        opened = open_worker(self._opened, self.name)
        if self._clock.monotonic() - self._stepped_at >= self._times.lost_seconds:
            self._settle()
        self._stepped_at = self._clock.monotonic()
        if self._stepped_at >= self._due and not self._has_left:
            self._due = self._stepped_at + self._times.beat_seconds
            opened.writer.write([encode_replica(self._topics.replicas, ReplicaRecord(self._role, self._replica, self._beat))])
            opened.writer.flush(_FLUSH_SECONDS)
            self._beat += 1
        for record in opened.follower.poll(_POLL_SECONDS):
            self._take(record)
        self._look(opened)

    def leave(self) -> None:
        """Leave, so that others need not wait: no sign follows. Call it when its work has ended."""
        self._has_left, self._seen = True, _Seen()
        try:
            writer = self._log.writer()
            try:
                writer.write([encode_leaving(self._topics.replicas, self._role, self._replica)])
                writer.flush(_LEAVE_SECONDS)
            finally:
                writer.close()
        except GraphtideError as error:
            # Others find out when no sign comes.
            _LOG.info(events.REPLICAS_SEEN, role=self._role, replica=self._replica, error=str(error))

    def close(self) -> None:
        """Give back everything; no work falls to this process any more."""
        self._seen = _Seen()
        if self._opened is not None:
            close_all([self._opened.follower, self._opened.writer])
            self._opened = None

    def _settle(self) -> None:
        """Wait for the signs of those that may be alive: nothing was read for a while, or never."""
        self._stepped_at = now = self._clock.monotonic()
        self._signs = dict.fromkeys(self._signs, now)
        self._settled_at = now + self._times.lost_seconds if self._signs else now
        self._seen = _Seen()

    def _take(self, record: Record) -> None:
        try:
            role, replica = replica_of(record)
            if record.value is not None:
                decode_replica(record)
        except PoisonRecordError as error:
            _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, reason=error.reason)
            return
        if role != self._role:
            return
        if record.value is None:
            self._signs.pop(replica, None)
        else:
            self._signs[replica] = self._clock.monotonic()

    def _look(self, opened: _Opened) -> None:
        """Forget the lost, and say who is alive."""
        now = self._clock.monotonic()
        lost = [each for each, at in self._signs.items() if now - at >= self._times.lost_seconds]
        for each in lost:
            del self._signs[each]
        # Of a process that ended at once nobody else says so, and the next to come would wait for it.
        opened.writer.write([encode_leaving(self._topics.replicas, self._role, each) for each in lost if each != self._replica])
        own = self._signs.get(self._replica)
        if own is None or now < self._settled_at or self._has_left:
            self._seen = _Seen()
            return
        alive = frozenset(self._signs)
        if alive != self._seen.alive:
            _LOG.info(events.REPLICAS_SEEN, role=self._role, replica=self._replica, alive=sorted(alive))
        self._seen = _Seen(alive, own + self._times.lost_seconds)


def _weight(work: str, replica: str) -> bytes:
    return blake2b(f"{work}\0{replica}".encode(), digest_size=16).digest()
