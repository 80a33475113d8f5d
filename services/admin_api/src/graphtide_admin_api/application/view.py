"""What the control topics say now, followed all the time, for whoever asks."""

from __future__ import annotations

from collections import Counter
from threading import Condition
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_runtime.follower import Follower
from graphtide_runtime.telemetry import events
from graphtide_wire import control, statistics
from graphtide_wire.control import PlanRecord

from graphtide_admin_api.domain.standing import Standing, standing_of

if TYPE_CHECKING:
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, Record
    from graphtide_wire.control import PatternRecord, StatusRecord
    from graphtide_wire.statistics import StatisticsRecord
    from graphtide_wire.topics import Topics

_LOG = structlog.get_logger()
_PLANNER: Final = "planner"


class View:
    """The last that each control topic says of each name; safe for threads."""

    def __init__(self, topics: Topics) -> None:
        """Know nothing."""
        self._topics = topics
        self._changed = Condition()
        self._patterns: dict[str, PatternRecord] = {}
        self._versions: dict[str, int] = {}
        self._plans: dict[str, PlanRecord] = {}
        self._said: dict[str, dict[str, StatusRecord]] = {}
        self._statistics: dict[str, StatisticsRecord] = {}
        self._ready = False

    def patterns(self) -> list[PatternRecord]:
        """Return the patterns that are registered, by their names."""
        with self._changed:
            return [self._patterns[name] for name in sorted(self._patterns)]

    def pattern(self, name: str) -> PatternRecord | None:
        """Return a pattern; None if it is not registered."""
        with self._changed:
            return self._patterns.get(name)

    def standing(self, record: PatternRecord) -> Standing:
        """Return how a pattern stands."""
        with self._changed:
            plan, said = self._plans.get(record.name), self._said.get(record.name, {})
            status = said.get(f"{plan.service}.{plan.shard}") if plan is not None else None
            return standing_of(record, plan, status, said.get(f"{_PLANNER}.0"))

    def statistics(self, stream: str) -> StatisticsRecord | None:
        """Return the newest snapshot of a stream."""
        with self._changed:
            return self._statistics.get(stream)

    def last_version(self, name: str) -> int:
        """Return the greatest version that anyone said of a name, of deleted patterns too; 0 if there was none."""
        with self._changed:
            said = [status.version for status in self._said.get(name, {}).values()]
            return max([self._versions.get(name, 0), *said])

    @property
    def is_ready(self) -> bool:
        """Whether all that was there at the start was read."""
        return self._ready

    def wait_for(self, name: str, etag: str | None, timeout: float) -> bool:
        """Return once a pattern is seen with this ETag (None: deleted); False if it is not within `timeout` seconds."""

        def is_seen() -> bool:
            found = self._patterns.get(name)
            return (found.etag if found is not None else None) == etag

        with self._changed:
            return self._changed.wait_for(is_seen, timeout)

    def begin(self) -> None:
        """Forget everything: it is read anew."""
        with self._changed:
            self._ready = False
            for known in (self._patterns, self._plans, self._said, self._statistics):
                known.clear()

    def ready(self) -> None:
        """Take note that all that was there was read."""
        with self._changed:
            self._ready = True
            self._changed.notify_all()

    def take(self, record: Record) -> None:
        """Take a record of a control topic; one that cannot be read changes nothing."""
        name = (record.key or b"").decode(errors="replace")
        try:
            with self._changed:
                self._take(record, name)
                self._changed.notify_all()
        except PoisonRecordError as error:
            _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)

    def states(self) -> Counter[str]:
        """Return how many patterns are in each state."""
        return Counter(self.standing(record).state for record in self.patterns())

    def _take(self, record: Record, name: str) -> None:
        topics = self._topics
        if record.topic == topics.patterns:
            self._patterns.pop(name, None)
            if record.value is not None:
                pattern = control.decode_pattern(record.value)
                self._patterns[name] = pattern
                self._note_version(name, pattern.version)
        elif record.topic == topics.plans:
            self._plans.pop(name, None)
            if record.value is not None:
                plan = control.decode_plan(record.value)
                self._note_version(name, plan.version)
                if isinstance(plan, PlanRecord):
                    self._plans[name] = plan
        elif record.topic == topics.status:
            pattern_name, _, host = name.rpartition("@")
            said = self._said.setdefault(pattern_name, {})
            said.pop(host, None)
            if record.value is not None:
                said[host] = control.decode_status(record.value)
        elif record.value is not None:
            self._statistics[name] = statistics.decode_statistics(record.value)

    def _note_version(self, name: str, version: int) -> None:
        self._versions[name] = max(version, self._versions.get(name, 0))


class Viewer:
    """A `Worker` that keeps a view."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, view: View, *, linger_seconds: float = 0.05) -> None:
        """Prepare; nothing is opened yet."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._view = view
        self._linger = linger_seconds
        self._followers: tuple[Follower, ...] = ()

    @property
    def name(self) -> str:
        """What logs call it."""
        return "view"

    def open(self) -> None:
        """Read all that is there.

        Raises:
            TransientError: the log does not answer.
        """
        topics = self._topics
        self._log.admin().ensure(topics.of_deployment())
        self._view.begin()
        names = (topics.patterns, topics.plans, topics.status, topics.statistics)
        self._followers = tuple(Follower(self._log, name) for name in names)
        for follower in self._followers:
            for record in follower.to_the_end():
                self._view.take(record)
        self._view.ready()

    def step(self) -> None:
        """Take what is new."""
        if not self._followers:
            message = "the view is not open"
            raise TransientError(message)
        records = [record for follower in self._followers for record in follower.poll()]
        for record in records:
            self._view.take(record)
        if not records:
            self._clock.sleep(self._linger)

    def close(self) -> None:
        """Give back the readers; what was read stays."""
        for follower in self._followers:
            follower.close()
        self._followers = ()
