"""What people say of matches: acknowledgements, and mutes of alerts.

Both are records of the log, which every process follows.
"""

from __future__ import annotations

import uuid
from threading import Condition
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_log.follower import Follower
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_wire.acknowledgements import (
    AcknowledgementRecord,
    acknowledgement_key,
    decode_acknowledgement,
    encode_acknowledgement,
    encode_removal,
)
from graphtide_wire.mutes import MuteIndex, MuteKey, MuteRecord, encode_end, encode_mute

from graphtide_admin_api.domain.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, Message, Record
    from graphtide_wire.topics import Topics

_LOG = structlog.get_logger()

MOST_MUTES: Final = 1_000
MOST_ACKNOWLEDGEMENTS: Final = 50_000
"""Acknowledgements that are kept; the oldest go first."""

_SEEN_SECONDS: Final = 5.0
_FLUSH_SECONDS: Final = 10.0
_LINGER_SECONDS: Final = 0.05
_SWEEP_SECONDS: Final = 10.0


class KnownMarks:
    """Marks as the log has them; for one thread at once."""

    def __init__(self, topics: Topics) -> None:
        """Know none."""
        self._topics = topics
        self.mutes = MuteIndex()
        self.acknowledgements: dict[bytes, AcknowledgementRecord] = {}

    def take(self, record: Record) -> None:
        """Take a record of one of the topics; one that cannot be read counts as none."""
        try:
            if record.topic == self._topics.mutes:
                self.mutes.take(record)
            else:
                self.acknowledgements.pop(record.key or b"", None)
                if record.value is not None:
                    self.acknowledgements[record.key or b""] = decode_acknowledgement(record)
        except PoisonRecordError as error:
            _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)


class Marks:
    """Acknowledgements and mutes; safe for threads. All but `show` and `take` may raise `TransientError`.

    Two processes may exceed a bound together by the few records that they write at one time.
    """

    def __init__(self, log: Log, topics: Topics, clock: Clock) -> None:
        """Know nothing yet."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._changed = Condition()
        self._shown: KnownMarks | None = None

    def show(self, known: KnownMarks) -> None:
        """Answer from what was read to its end."""
        with self._changed:
            self._shown = known
            self._changed.notify_all()

    def take(self, record: Record) -> None:
        """Take a record that came since."""
        with self._changed:
            self._known().take(record)
            self._changed.notify_all()

    def of_match(self, pattern: str, match_id: str, body: bytes) -> tuple[AcknowledgementRecord | None, str | None]:
        """Return the acknowledgement of a match, and the id of a mute that covers it; None for either that it does not have."""
        with self._changed:
            known = self._known()
            acknowledgement = known.acknowledgements.get(acknowledgement_key(pattern, match_id))
            mute = known.mutes.find(pattern, body, self._clock.now())
            return acknowledgement, None if mute is None else mute.id

    def acknowledge(self, pattern: str, match_id: str, note: str, by: str) -> AcknowledgementRecord:
        """Acknowledge a match, or replace its acknowledgement; that the match was reported is not looked up."""
        key = acknowledgement_key(pattern, match_id)
        record = AcknowledgementRecord(pattern, match_id, by, self._clock.now(), note)
        with self._changed:
            kept = self._known().acknowledgements
            is_full = len(kept) >= MOST_ACKNOWLEDGEMENTS and key not in kept
            oldest = next(iter(kept.values())) if is_full else None
        messages = [encode_acknowledgement(self._topics.acknowledgements, record)]
        if oldest is not None:
            messages.append(encode_removal(self._topics.acknowledgements, oldest.pattern, oldest.match_id))
        self._write(messages, lambda known: known.acknowledgements.get(key) == record)
        return record

    def take_back(self, pattern: str, match_id: str) -> None:
        """Delete the acknowledgement of a match.

        Raises:
            ProblemError: it has none.
        """
        key = acknowledgement_key(pattern, match_id)
        with self._changed:
            if key not in self._known().acknowledgements:
                raise ProblemError(404, "not-found", f"match {match_id} of pattern {pattern!r} is not acknowledged")
        message = encode_removal(self._topics.acknowledgements, pattern, match_id)
        self._write([message], lambda known: key not in known.acknowledgements)

    def mutes(self) -> list[MuteRecord]:
        """Return the mutes that hold, the newest first."""
        now = self._clock.now()
        with self._changed:
            held = [mute for mute in self._known().mutes.by_id.values() if mute.holds(now)]
        return sorted(held, key=lambda mute: (mute.created_at, mute.id), reverse=True)

    def mute(self, pattern: str | None, vertex: str | None, until: datetime | None, reason: str, by: str) -> MuteRecord:
        """Mute matches.

        Raises:
            ProblemError: it would end before now, or there are too many.
        """
        now = self._clock.now()
        if until is not None and until <= now:
            raise ProblemError(422, "invalid-range", "a mute ends after now")
        if len(self.mutes()) >= MOST_MUTES:
            raise ProblemError(409, "too-many-mutes", f"there are {MOST_MUTES:,} mutes already; end some that nobody needs")
        record = MuteRecord(
            id=uuid.uuid4().hex,
            pattern=pattern,
            key=None if vertex is None else MuteKey(vertex),
            until=until,
            reason=reason,
            created_at=now,
            created_by=by,
        )
        self._write([encode_mute(self._topics.mutes, record)], lambda known: record.id in known.mutes.by_id)
        return record

    def get(self, id: str) -> MuteRecord:
        """Return a mute that holds.

        Raises:
            ProblemError: there is none.
        """
        found = next((mute for mute in self.mutes() if mute.id == id), None)
        if found is None:
            raise no_mute(id)
        return found

    def end(self, id: str) -> None:
        """End a mute. Raises as `get`."""
        self.get(id)
        self._write([encode_end(self._topics.mutes, id)], lambda known: id not in known.mutes.by_id)

    def sweep(self) -> None:
        """Delete the mutes that are over."""
        now = self._clock.now()
        with self._changed:
            over = [mute.id for mute in self._known().mutes.by_id.values() if not mute.holds(now)]
        if over:
            self._write([encode_end(self._topics.mutes, id) for id in over], None)

    def _write(self, messages: Sequence[Message], is_seen: Callable[[KnownMarks], bool] | None) -> None:
        """Write records, and return once they are seen, or after a few seconds."""
        writer = self._log.writer()
        try:
            writer.write(list(messages))
            writer.flush(_FLUSH_SECONDS)
        finally:
            writer.close()
        if is_seen is not None:
            with self._changed:
                self._changed.wait_for(lambda: self._shown is not None and is_seen(self._shown), _SEEN_SECONDS)

    def _known(self) -> KnownMarks:
        if self._shown is None:
            message = "acknowledgements and mutes are being read; try again in a moment"
            raise TransientError(message)
        return self._shown


def no_mute(id: str) -> ProblemError:
    """Return the problem that there is no such mute."""
    return ProblemError(404, "not-found", f"there is no mute {id!r}")


class MarksFeed:
    """A `Worker` that follows acknowledgements and mutes, and deletes mutes that are over."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, marks: Marks) -> None:
        """Prepare; nothing is opened yet."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._marks = marks
        self._followers: list[Follower] = []
        self._due = 0.0

    @property
    def name(self) -> str:
        """What logs call it."""
        return "marks"

    def open(self) -> None:
        """Read all that is there, and show it.

        Raises:
            TransientError: the log does not answer.
        """
        self._log.admin().ensure(self._topics.of_deployment())
        known = KnownMarks(self._topics)
        for topic in (self._topics.mutes, self._topics.acknowledgements):
            self._followers.append(Follower(self._log, topic))
            for record in self._followers[-1].to_the_end():
                known.take(record)
        self._marks.show(known)

    def step(self) -> None:
        """Take what is new, and delete what is over now and then."""
        followers = open_worker(self._followers or None, "the marks")
        records = [record for follower in followers for record in follower.poll()]
        for record in records:
            self._marks.take(record)
        if self._clock.monotonic() >= self._due:
            self._due = self._clock.monotonic() + _SWEEP_SECONDS
            self._marks.sweep()
        if not records:
            self._clock.sleep(_LINGER_SECONDS)

    def close(self) -> None:
        """Give back the readers; what was read stays."""
        close_all(self._followers)
        self._followers = []
