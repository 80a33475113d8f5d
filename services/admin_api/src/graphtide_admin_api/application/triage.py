"""What people decide of matches: acknowledgements and mutes, records of the log that every process of the API follows.

At most `MOST_MUTES` mutes hold at once; of acknowledgements the newest are known. A mute that is over holds no more, and its
record is taken back when somebody makes another.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from itertools import islice
from threading import Condition
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_core.ports.log import Message
from graphtide_log.follower import Follower
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_wire import triage
from graphtide_wire.triage import AcknowledgementRecord, MuteRecord

from graphtide_admin_api.domain.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import datetime

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, Record
    from graphtide_wire.topics import Topics

MOST_MUTES: Final = 1_000
MOST_ACKNOWLEDGEMENTS: Final = 100_000
"""That are known; older ones are forgotten, and their records taken back."""

_SEEN_SECONDS: Final = 5.0
_FLUSH_SECONDS: Final = 10.0
_LOG = structlog.get_logger()


class Decisions:
    """What was decided; for one thread at once."""

    def __init__(self) -> None:
        """Know nothing."""
        self.mutes: dict[str, MuteRecord] = {}
        self.acknowledgements: OrderedDict[tuple[str, str], AcknowledgementRecord] = OrderedDict()

    def take(self, record: Record) -> None:
        """Take a record of the topic; one that cannot be read counts as none."""
        try:
            self._take(record.key or b"", record.value)
        except PoisonRecordError as error:
            _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)

    def _take(self, key: bytes, value: bytes | None) -> None:
        name = key.decode(errors="replace")
        if triage.is_mute(key):
            self.mutes.pop(name.partition("@")[2], None)
            if value is not None:
                mute = triage.decode_mute(key, value)
                self.mutes[mute.id] = mute
        elif triage.is_acknowledgement(key):
            pattern, _, match_id = name.partition("@")[2].rpartition("@")
            self.acknowledgements.pop((pattern, match_id), None)
            if value is not None:
                self.acknowledgements[pattern, match_id] = triage.decode_acknowledgement(key, value)


class Triage:
    """Decides and knows what was decided; safe for threads.

    It answers once all that was decided before was read, and raises `TransientError` before, and while the log does not answer.
    """

    def __init__(self, log: Log, topics: Topics, clock: Clock) -> None:
        """Work on a log."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._changed = Condition()
        self._shown: Decisions | None = None

    def mutes(self) -> list[MuteRecord]:
        """Return the mutes that hold, the newest first."""
        now = self._clock.now()
        with self._changed:
            found = [each for each in self._known().mutes.values() if not _is_over(each, now)]
        return sorted(found, key=lambda each: (each.created_at, each.id), reverse=True)

    def acknowledgements(self, most: int) -> list[AcknowledgementRecord]:
        """Return the newest acknowledgements, the newest first."""
        with self._changed:
            found = list(self._known().acknowledgements.values())[-most:]
        return found[::-1]

    def acknowledgement(self, pattern: str, match_id: str) -> AcknowledgementRecord | None:
        """Return the acknowledgement of a match; None if nobody acknowledged it."""
        with self._changed:
            return self._known().acknowledgements.get((pattern, match_id))

    def mute_of(self, pattern: str, vertices: Collection[str]) -> MuteRecord | None:
        """Return a mute that holds for a match of a pattern that binds these vertices; None if there is none."""
        return next((each for each in self.mutes() if covers(each, pattern, vertices)), None)

    def acknowledge(self, pattern: str, match_id: str, note: str, by: str) -> AcknowledgementRecord:
        """Write that somebody looked at a match, and return it once it is known here."""
        record = AcknowledgementRecord(pattern, match_id, note, by, self._clock.now())
        key = triage.acknowledgement_key(pattern, match_id)
        with self._changed:
            known = self._known().acknowledgements
            forgotten = list(islice(known, max(0, len(known) + 1 - MOST_ACKNOWLEDGEMENTS)))
        self._write(
            {
                key: triage.encode_acknowledgement(record),
                **{triage.acknowledgement_key(*each): None for each in forgotten if each != (pattern, match_id)},
            }
        )
        self._wait(lambda known: known.acknowledgements.get((pattern, match_id)) == record)
        return record

    def take_back(self, pattern: str, match_id: str) -> None:
        """Take an acknowledgement back; without one nothing happens."""
        self._write({triage.acknowledgement_key(pattern, match_id): None})
        self._wait(lambda known: (pattern, match_id) not in known.acknowledgements)

    def mute(self, pattern: str | None, vertex: str | None, until: datetime | None, reason: str, by: str) -> MuteRecord:
        """Mute matches, and return the mute once it is known here.

        Raises:
            ProblemError: it would be over at once, it mutes everything, or there are too many.
        """
        now = self._clock.now()
        if until is not None and until <= now:
            raise ProblemError(422, "invalid-mute", f"a mute until {until.isoformat()} is over already")
        if pattern is None and vertex is None:
            raise ProblemError(422, "invalid-mute", "a mute names a pattern, a vertex, or both")
        with self._changed:
            over = [each for each in self._known().mutes.values() if _is_over(each, now)]
            held = len(self._known().mutes) - len(over)
        if held >= MOST_MUTES:
            raise ProblemError(409, "too-many-mutes", f"{held:,} mutes hold, and no more may: end some")
        record = MuteRecord(uuid.uuid4().hex, pattern, vertex, until, reason, by, now)
        ended: dict[bytes, bytes | None] = {triage.mute_key(each.id): None for each in over}
        self._write({**ended, triage.mute_key(record.id): triage.encode_mute(record)})
        self._wait(lambda known: record.id in known.mutes)
        return record

    def unmute(self, id: str) -> None:
        """End a mute.

        Raises:
            ProblemError: there is none of that id.
        """
        with self._changed:
            if id not in self._known().mutes:
                raise ProblemError(404, "not-found", f"there is no mute {id!r}")
        self._write({triage.mute_key(id): None})
        self._wait(lambda known: id not in known.mutes)

    def show(self, decisions: Decisions) -> None:
        """Answer from what was read to its end."""
        with self._changed:
            self._shown = decisions
            self._changed.notify_all()

    def take(self, record: Record) -> None:
        """Take a record that came since."""
        with self._changed:
            self._known().take(record)
            self._changed.notify_all()

    def _write(self, changed: Mapping[bytes, bytes | None]) -> None:
        writer = self._log.writer()
        try:
            writer.write([Message(self._topics.triage, key, value) for key, value in changed.items()])
            writer.flush(_FLUSH_SECONDS)
        finally:
            writer.close()

    def _wait(self, is_seen: Callable[[Decisions], bool]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._shown is not None and is_seen(self._shown), _SEEN_SECONDS)

    def _known(self) -> Decisions:
        if self._shown is None:
            message = "what was decided of matches is being read; try again in a moment"
            raise TransientError(message)
        return self._shown


def covers(mute: MuteRecord, pattern: str, vertices: Collection[str]) -> bool:
    """Whether a mute is of a match of a pattern that binds these vertices."""
    return mute.pattern in (None, pattern) and (mute.vertex is None or mute.vertex in vertices)


def _is_over(mute: MuteRecord, now: datetime) -> bool:
    return mute.until is not None and mute.until <= now


class TriageFeed:
    """A `Worker` that keeps what was decided."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, kept: Triage, *, linger_seconds: float = 0.1) -> None:
        """Prepare; nothing is opened yet."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._kept = kept
        self._linger = linger_seconds
        self._follower: Follower | None = None

    @property
    def name(self) -> str:
        """What logs call it."""
        return "triage"

    def open(self) -> None:
        """Read all that was decided, and show it.

        Raises:
            TransientError: the log does not answer.
        """
        self._log.admin().ensure(self._topics.of_deployment())
        decisions = Decisions()
        self._follower = Follower(self._log, self._topics.triage)
        for record in self._follower.to_the_end():
            decisions.take(record)
        self._kept.show(decisions)

    def step(self) -> None:
        """Take what is new."""
        records = list(open_worker(self._follower, "the triage").poll())
        for record in records:
            self._kept.take(record)
        if not records:
            self._clock.sleep(self._linger)

    def close(self) -> None:
        """Give back the reader; what was read stays."""
        close_all([self._follower])
        self._follower = None
