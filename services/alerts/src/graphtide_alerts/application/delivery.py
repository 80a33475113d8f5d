"""The worker that delivers matches to one target: each at least once, and exactly accounted for.

The order of a step, which a crash may end anywhere:

1. Read matches; they wait in their order.
2. Decide on the first: not asked for, muted, over the rate, or an attempt. One that may succeed later waits in its place,
   so a target gets its matches in order, and other targets have workers of their own.
3. In one transaction write the dead alerts, the counts, and the position behind the last match that is settled.

A crash before 3 leaves counts and position as they were, so matches are delivered again, with the same ids. So a match is
counted once, and `accepted` is `delivered` + `dead` + `muted` + `summed` in every record of counts. A message that sums up
matches over the rate follows a commit of them: it says the same after a crash. Memory: O(matches read at once).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import structlog
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Position, TopicPartition
from graphtide_log.committed_offset_check import recorded_positions
from graphtide_log.follower import Follower
from graphtide_serving.loop import Backoff
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, metrics
from graphtide_telemetry.instruments import Gauges, add
from graphtide_wire import headers, matches
from graphtide_wire.targets import (
    REQUEST_SECONDS,
    AlertAnswer,
    AlertCounts,
    DeadAlert,
    decode_counts,
    encode_answer,
    encode_counts,
    encode_dead_alert,
)
from msgspec.structs import replace

from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError
from graphtide_alerts.domain.alert import alert_of_dead, alert_of_match, alert_of_sample, alert_of_sum
from graphtide_alerts.domain.selection import Choice, choose

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, LogTransactor, Message, Record
    from graphtide_wire.matches import MatchEvent
    from graphtide_wire.targets import AlertRequest, TargetRecord
    from graphtide_wire.topics import Topics

    from graphtide_alerts.application.known import Known
    from graphtide_alerts.application.ports import Sender
    from graphtide_alerts.domain.alert import Alert

_LOG = structlog.get_logger()

MOST_READ: Final = 500
"""Matches that are read at once, and settled matches that are not committed."""

_MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Pace:
    """How often attempts are made, and positions committed.

    Attributes:
        most_attempts: for one alert; after them it is dead.
        backoff: between two attempts.
        commit_seconds: between two commits, while matches wait.
        linger_seconds: that a step waits for matches.
    """

    most_attempts: int = 12
    backoff: Backoff = field(default_factory=lambda: Backoff(0.5, 120.0))
    commit_seconds: float = 1.0
    linger_seconds: float = 0.2


@dataclass(slots=True)
class _Attempts:
    """The attempts for one alert: how many were made, and when the next is due."""

    alert: Alert
    made: int = 0
    due: float = 0.0


@dataclass(slots=True)
class _Opened:
    reader: LogReader
    transactor: LogTransactor
    sender: Sender
    counts: AlertCounts
    committed: AlertCounts
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    waiting: deque[Record] = field(default_factory=deque)
    attempts: _Attempts | None = None
    summing: _Attempts | None = None
    letters: list[Message] = field(default_factory=list)
    unsettled: int = 0
    committed_at: float = 0.0


class Delivery:
    """A `Worker` for one target."""

    def __init__(
        self,
        log: Log,
        topics: Topics,
        clock: Clock,
        *,
        target: TargetRecord,
        known: Known,
        make: Callable[[TargetRecord], Sender],
        pace: Pace | None = None,
    ) -> None:
        """Prepare; nothing is opened yet. `make` makes the way to the target."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._target = target
        self._known = known
        self._make = make
        self._pace = pace or Pace()
        self._opened: _Opened | None = None
        self._gauges = Gauges()
        self._at = {key.TARGET: target.name}

    @property
    def name(self) -> str:
        """Its transactional id, which only one process at once may have, and its group."""
        return f"{self._topics.prefix}.alerts.{self._target.name}"

    def open(self) -> None:
        """Shut others out, and continue from what was committed; the first time from where the target starts.

        Raises:
            TransientError: the log does not answer, or the targets are being read.
        """
        self._known.targets()
        transactor = self._log.transactor(self.name)
        transactor.open()
        reader = self._log.reader(self.name)
        places = reader.partitions(self._topics.matches)
        counts = self._kept_counts()
        self._opened = opened = _Opened(reader, transactor, self._make(self._target), counts, counts)
        starts = dict(zip(places, self._target.starts, strict=False))
        first = reader.ends(places)
        # Matches that retention took before they were read are lost to alerts.
        opened.positions = {
            place: max(first[place][0], starts.get(place, 0), 0 if position is None else position.offset)
            for place, position in recorded_positions(reader, places).items()
        }
        reader.assign(opened.positions)
        self._gauges.add(metrics.WAITING_ALERTS, lambda: [(len(opened.waiting), self._at)])

    def step(self) -> None:
        """Settle one match, or wait for one, and commit when it is time.

        Raises:
            TransientError: the log does not answer; open again to continue.
            FencedError: another took over.
        """
        opened = open_worker(self._opened, self.name)
        if not opened.waiting and opened.unsettled < MOST_READ:
            opened.waiting.extend(opened.reader.poll(0.0 if opened.unsettled else self._pace.linger_seconds, MOST_READ))
        request = self._known.next_request(self._target.name)
        if request is not None:
            self._answer(opened, request)
        now = self._clock.monotonic()
        is_idle = not (self._sum_up(opened, now) and self._settle(opened, now))
        is_time = now - opened.committed_at >= self._pace.commit_seconds
        if opened.unsettled and (is_time or not opened.waiting or opened.unsettled >= MOST_READ):
            self._commit(opened)
        elif is_idle and opened.waiting:
            self._clock.sleep(min(self._pace.linger_seconds, 0.05))

    def close(self) -> None:
        """Give back everything."""
        self._gauges.close()
        if self._opened is not None:
            close_all([self._opened.reader, self._opened.transactor, self._opened.sender])
            self._opened = None

    def _kept_counts(self) -> AlertCounts:
        """Return the counts of the target, from its last commit; a target that is made anew counts anew."""
        found: AlertCounts | None = None
        follower = Follower(self._log, self._topics.alert_counts)
        try:
            for record in follower.to_the_end():
                if record.key == self._target.name.encode():
                    found = _read_counts(record)
        finally:
            follower.close()
        if found is not None and found.created_at == self._target.created_at:
            return found
        return AlertCounts(target=self._target.name, created_at=self._target.created_at)

    def _settle(self, opened: _Opened, now: float) -> bool:
        """Settle the first match that waits; return whether there was one, and it was due."""
        if not opened.waiting:
            return False
        if opened.attempts is None:
            self._decide(opened, opened.waiting[0], now)
        else:
            return self._attempt(opened, opened.attempts, now)
        return True

    def _decide(self, opened: _Opened, record: Record, now: float) -> None:
        try:
            event = matches.decode(record)
        except PoisonRecordError as error:
            _LOG.warning(events.MATCH_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
            self._settled(opened)
            return
        said = self._known.annotations(event.pattern)
        match choose(self._target, event, said):
            case Choice.NOT_WANTED:
                self._settled(opened)
            case Choice.RETRACTION:
                self._settled(opened, retractions=1)
            case Choice.WANTED if self._known.is_muted(event.pattern, event.body, self._clock.now()):
                self._settled(opened, accepted=1, muted=1)
            case Choice.WANTED if self._is_over_rate(opened):
                self._settled(opened, accepted=1, summed=1, unsaid=1)
            case Choice.WANTED:
                opened.attempts = _Attempts(alert_of_match(event, _id_of(record, event), said, self._target))
                self._attempt(opened, opened.attempts, now)

    def _attempt(self, opened: _Opened, attempts: _Attempts, now: float) -> bool:
        """Attempt the first match, if it is time; return whether it was."""
        if now < attempts.due:
            return False
        reason = self._try(opened, attempts, now)
        if reason is None:
            self._settled(opened, accepted=1, delivered=1, sent=1)
        elif reason:
            opened.letters.append(self._letter(attempts, reason))
            self._settled(opened, accepted=1, dead=1)
        return True

    def _try(self, opened: _Opened, attempts: _Attempts, now: float) -> str | None:
        """Make an attempt; return None if the target took it, the reason if it never will, and an empty text otherwise."""
        attempts.made += 1
        try:
            opened.sender.send(attempts.alert)
        except UndeliverableError as error:
            add(metrics.FAILED_ATTEMPTS, 1, self._at)
            return str(error) or repr(error)
        except UndeliveredError as error:
            add(metrics.FAILED_ATTEMPTS, 1, self._at)
            if attempts.made >= self._pace.most_attempts:
                return str(error) or repr(error)
            attempts.due = now + self._pace.backoff.seconds(attempts.made)
            opened.counts = replace(opened.counts, retried=opened.counts.retried + 1)
            return ""
        return None

    def _is_over_rate(self, opened: _Opened) -> bool:
        minute = int(self._clock.now().timestamp()) // _MINUTE
        if minute != opened.counts.minute:
            opened.counts = replace(opened.counts, minute=minute, sent=0)
        return self._target.rate is not None and opened.counts.sent >= self._target.rate

    def _sum_up(self, opened: _Opened, now: float) -> bool:
        """Send the sum of a minute that is over, if there is one; return whether matches may go on."""
        minute = int(self._clock.now().timestamp()) // _MINUTE
        counts = opened.counts
        if opened.summing is None:
            if not counts.unsaid or minute == counts.minute or opened.attempts is not None:
                return True
            if opened.unsettled:
                self._commit(opened)
            opened.summing = _Attempts(alert_of_sum(self._target, counts.minute, counts.unsaid))
        if now < opened.summing.due:
            return False
        reason = self._try(opened, opened.summing, now)
        if reason == "":
            return False
        if reason is not None:
            opened.letters.append(self._letter(opened.summing, reason))
        opened.counts = replace(opened.counts, unsaid=0, minute=minute, sent=0)
        opened.summing = None
        opened.unsettled += 1
        return True

    def _settled(self, opened: _Opened, **counted: int) -> None:
        """Move past the first match, and count what became of it."""
        record = opened.waiting.popleft()
        opened.attempts = None
        opened.positions[TopicPartition(record.topic, record.partition)] = record.offset + 1
        opened.unsettled += 1
        if counted:
            changed = {name: getattr(opened.counts, name) + count for name, count in counted.items()}
            opened.counts = replace(opened.counts, **changed)

    def _letter(self, attempts: _Attempts, reason: str) -> Message:
        alert = attempts.alert
        return encode_dead_alert(
            self._topics.dead_alerts,
            DeadAlert(
                target=self._target.name,
                id=alert.id,
                reason=reason,
                attempts=attempts.made,
                at=self._clock.now(),
                pattern=alert.pattern,
                match=None if alert.match is None else alert.match.decode(),
                unsaid=alert.unsaid,
            ),
        )

    def _commit(self, opened: _Opened) -> None:
        opened.transactor.begin()
        opened.transactor.write([*opened.letters, encode_counts(self._topics.alert_counts, opened.counts)])
        opened.transactor.commit(self.name, {place: Position(offset) for place, offset in opened.positions.items()})
        opened.letters.clear()
        opened.unsettled = 0
        self._measure(opened)
        opened.committed_at = self._clock.monotonic()

    def _answer(self, opened: _Opened, request: AlertRequest) -> None:
        """Make the attempt that a user asks for, beside the matches that wait; it counts nowhere."""
        if (self._clock.now() - request.at).total_seconds() > REQUEST_SECONDS:
            return
        dead = request.dead
        if dead is None:
            alert = alert_of_sample(f"test-{request.id}", self._target)
        else:
            alert = alert_of_dead(dead, self._known.annotations(dead.pattern or ""), self._target)
        outcome: Literal["delivered", "failed", "refused"] = "delivered"
        reason = None
        try:
            opened.sender.send(alert)
        except (UndeliveredError, UndeliverableError) as error:
            outcome = "failed" if isinstance(error, UndeliveredError) else "refused"
            reason = str(error)
        answer = AlertAnswer(id=request.id, target=request.target, alert=alert.id, outcome=outcome, reason=reason)
        opened.transactor.begin()
        opened.transactor.write([encode_answer(self._topics.alert_answers, answer)])
        opened.transactor.commit(self.name, {})

    def _measure(self, opened: _Opened) -> None:
        """Add what was committed to the metrics."""
        for outcome in ("delivered", "dead", "muted", "summed"):
            settled = getattr(opened.counts, outcome) - getattr(opened.committed, outcome)
            add(metrics.SETTLED_ALERTS, settled, {**self._at, key.OUTCOME: outcome})
        opened.committed = opened.counts


def _id_of(record: Record, event: MatchEvent) -> str:
    """Return the id of the event, which a change of a component shares with no other; of a match it is the match id."""
    return headers.text(headers.by_name(record.headers), "ce_id") or event.match_id


def _read_counts(record: Record) -> AlertCounts | None:
    try:
        return None if record.value is None else decode_counts(record)
    except PoisonRecordError as error:
        _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
        return None
