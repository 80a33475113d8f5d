"""Verdicts of ordering for requests that wait for them: the sequencer reports them by the log, wherever it runs.

Nothing is read while nobody waits. The first request that waits has the end of the topic looked up before it writes, so that no
verdict of its records is missed. A verdict that does not come in time is not known, and nothing is said in its place.
"""

from __future__ import annotations

import uuid
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError, PoisonRecordError, TransientError
from graphtide_core.ports.log import TopicPartition
from graphtide_ordering.verdicts import sum_verdicts
from graphtide_wire.verdicts import decode_verdict

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log, LogReader, Record
    from graphtide_wire.topics import Topics
    from graphtide_wire.verdicts import VerdictRecord

_POLL_SECONDS: Final = 0.2
_MOST_RECORDS: Final = 1_000
_STAYS_SECONDS: Final = 10.0
"""How long the topic is read on when nobody waits any more: opening a reader takes a while."""

MOST_AWAITED: Final = 1_024
"""Requests that wait at once; of further ones it is not known what became of their edges."""


@dataclass(slots=True)
class AwaitedVerdict:
    """The verdict on the records of one request.

    Attributes:
        receipt: what the records carry.
        is_heard: done once verdicts are listened for, and records may be written.
        verdict: done once there is one of each record.
    """

    receipt: str
    is_heard: Future[None] = field(default_factory=Future)
    verdict: Future[VerdictRecord] = field(default_factory=Future)
    _found: dict[str, VerdictRecord] = field(default_factory=dict)
    _records: int | None = None

    def expect(self, records: int) -> None:
        """Note how many records the request has written."""
        self._records = records
        self._conclude()

    def take(self, verdict: VerdictRecord) -> None:
        """Take the verdict on a record."""
        self._found[verdict.place] = verdict
        self._conclude()

    def _conclude(self) -> None:
        if self._records is not None and len(self._found) == self._records and not self.verdict.done():
            self.verdict.set_result(sum_verdicts(self._found.values(), self.receipt))


class AwaitedVerdicts:
    """A `Worker` that hears of verdicts while requests wait for some; safe for threads."""

    def __init__(self, log: Log, topics: Topics) -> None:
        """Prepare; nothing is opened yet."""
        self._log = log
        self._topics = topics
        self._changed = Condition()
        self._awaited: dict[str, AwaitedVerdict] = {}
        self._reader: LogReader | None = None
        self._idle_polls = 0

    @property
    def name(self) -> str:
        """What logs call it."""
        return "verdicts"

    def begin(self) -> AwaitedVerdict | None:
        """Return what a request waits for, to be given to `end`; None if too many wait."""
        awaited = AwaitedVerdict(uuid.uuid4().hex)
        with self._changed:
            if len(self._awaited) >= MOST_AWAITED:
                return None
            self._awaited[awaited.receipt] = awaited
            if self._reader is not None:
                awaited.is_heard.set_result(None)
            self._changed.notify_all()
        return awaited

    def expect(self, awaited: AwaitedVerdict, records: int) -> None:
        """Note that a request has written so many records."""
        with self._changed:
            awaited.expect(records)

    def end(self, awaited: AwaitedVerdict) -> None:
        """Wait for this no more."""
        with self._changed:
            self._awaited.pop(awaited.receipt, None)

    def open(self) -> None:
        """Do nothing: nobody waits yet.

        Raises:
            TransientError: the log does not answer.
        """
        self._log.admin().ensure(self._topics.of_deployment())

    def step(self) -> None:
        """Hear of what is new, if anybody waits."""
        with self._changed:
            if self._reader is None:
                self._changed.wait_for(lambda: self._awaited, _POLL_SECONDS)
            is_awaited, reader = bool(self._awaited), self._reader
        if reader is None and is_awaited:
            self._listen()
        elif reader is not None:
            self._hear(reader, is_awaited=is_awaited)

    def close(self) -> None:
        """Give back the reader; requests that wait will not know."""
        with self._changed:
            reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def _listen(self) -> None:
        place, reader = TopicPartition(self._topics.verdicts, 0), self._log.reader(None)
        try:
            reader.assign({place: reader.ends([place])[place][1]})
        except BaseException:
            reader.close()
            raise
        with self._changed:
            self._reader, self._idle_polls = reader, 0
            for awaited in self._awaited.values():
                awaited.is_heard.set_result(None)

    def _hear(self, reader: LogReader, *, is_awaited: bool) -> None:
        try:
            records = reader.poll(_POLL_SECONDS, _MOST_RECORDS)
        except FatalError as error:
            # The topic was made anew: what waits is not known.
            raise TransientError(str(error)) from error
        with self._changed:
            for record in records:
                self._take(record)
            self._idle_polls = 0 if is_awaited else self._idle_polls + 1
            is_over = self._idle_polls * _POLL_SECONDS >= _STAYS_SECONDS and not self._awaited
        if is_over:
            self.close()

    def _take(self, record: Record) -> None:
        awaited = self._awaited.get((record.key or b"").decode(errors="replace"))
        if awaited is not None:
            with suppress(PoisonRecordError):
                awaited.take(decode_verdict(record))
