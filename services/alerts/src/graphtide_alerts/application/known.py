"""What deliveries go by beside matches: targets, annotations of patterns, and mutes; followed by a worker."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_log.follower import Follower
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_wire.control import AnnotationsForm, decode_pattern
from graphtide_wire.mutes import MuteIndex
from graphtide_wire.targets import AlertRequest, TargetRecord, decode_request, decode_target

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, Record
    from graphtide_serving.loop import Worker
    from graphtide_serving.supervisor import Supervisor
    from graphtide_wire.topics import Topics

    Supervise = Callable[[Callable[[], Collection[str]], Callable[[str], Worker]], Supervisor]

_LOG = structlog.get_logger()
_LINGER_SECONDS: Final = 0.05
MOST_REQUESTS: Final = 1_000
"""Requests that wait; the oldest is passed over for a newer one."""

_NONE: Final = AnnotationsForm()


class Known:
    """The records of control topics; safe for threads."""

    def __init__(self, topics: Topics) -> None:
        """Know nothing."""
        self._topics = topics
        self._lock = Lock()
        self.begin()

    def begin(self) -> None:
        """Forget everything, so that it is read from the beginning: also what ended while the log did not answer."""
        with self._lock:
            self._is_whole = False
            self._mutes = MuteIndex()
            self._annotations: dict[str, AnnotationsForm] = {}
            self._targets: dict[str, TargetRecord] = {}
            self._requests: deque[AlertRequest] = deque(maxlen=MOST_REQUESTS)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics to follow."""
        return self._topics.targets, self._topics.patterns, self._topics.mutes, self._topics.alert_requests

    def take(self, record: Record) -> None:
        """Take a record of one of the topics; one that cannot be read counts as none."""
        try:
            with self._lock:
                self._take(record)
        except PoisonRecordError as error:
            _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)

    def whole(self) -> None:
        """Note that everything which was there has been taken."""
        self._is_whole = True

    def targets(self) -> list[TargetRecord]:
        """Return the targets.

        Raises:
            TransientError: not everything was read yet.
        """
        self._require_whole()
        with self._lock:
            return list(self._targets.values())

    def annotations(self, pattern: str) -> AnnotationsForm:
        """Return the annotations of a pattern; none of one that is not registered any more."""
        self._require_whole()
        with self._lock:
            return self._annotations.get(pattern, _NONE)

    def is_muted(self, pattern: str, body: bytes, now: datetime) -> bool:
        """Whether nobody is to be alerted of a match."""
        self._require_whole()
        with self._lock:
            return self._mutes.find(pattern, body, now) is not None

    def next_request(self, target: str) -> AlertRequest | None:
        """Return a request for an alert to a target, and forget it; None if there is none."""
        with self._lock:
            found = next((each for each in self._requests if each.target == target), None)
            if found is not None:
                self._requests.remove(found)
            return found

    def _take(self, record: Record) -> None:
        name = (record.key or b"").decode(errors="replace")
        if record.topic == self._topics.alert_requests:
            # Those of before the service read everything were for another process.
            if self._is_whole:
                self._requests.append(decode_request(record))
        elif record.topic == self._topics.mutes:
            self._mutes.take(record)
        elif record.topic == self._topics.targets:
            self._targets.pop(name, None)
            if record.value is not None:
                self._targets[name] = decode_target(record)
        else:
            self._annotations.pop(name, None)
            said = None if record.value is None else decode_pattern(record.value).annotations
            if isinstance(said, AnnotationsForm):
                self._annotations[name] = said

    def _require_whole(self) -> None:
        if not self._is_whole:
            message = "targets, patterns and mutes are being read"
            raise TransientError(message)


class Feed:
    """A `Worker` that follows what deliveries go by, and runs a delivery for each target."""

    def __init__(
        self,
        log: Log,
        topics: Topics,
        clock: Clock,
        known: Known,
        *,
        deliver: Callable[[TargetRecord], Worker],
        supervise: Supervise,
    ) -> None:
        """Prepare; nothing is opened yet. `supervise` makes what runs the deliveries that are wanted."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._known = known
        self._deliver = deliver
        self._supervise = supervise
        self._followers: list[Follower] = []
        self._supervisor: Supervisor | None = None
        self._wanted: dict[str, TargetRecord] = {}

    @property
    def name(self) -> str:
        """What logs call it."""
        return f"{self._topics.prefix}.alerts"

    def open(self) -> None:
        """Read all that is there, and begin to deliver.

        Raises:
            TransientError: the log does not answer.
        """
        self._log.admin().ensure(self._topics.of_deployment())
        self._known.begin()
        for topic in self._known.topics:
            self._followers.append(Follower(self._log, topic))
            for record in self._followers[-1].to_the_end():
                self._known.take(record)
        self._known.whole()
        self._supervisor = self._supervise(self._names, lambda name: self._deliver(self._wanted[name]))
        self._supervisor.start()

    def step(self) -> None:
        """Take what is new."""
        records = [
            record for follower in open_worker(self._followers or None, "the feed of alerts") for record in follower.poll()
        ]
        for record in records:
            self._known.take(record)
        if not records:
            self._clock.sleep(_LINGER_SECONDS)

    def close(self) -> None:
        """End the deliveries, and give back the readers."""
        if self._supervisor is not None:
            self._supervisor.close()
            self._supervisor = None
        close_all(self._followers)
        self._followers = []

    def _names(self) -> Collection[str]:
        """Return a name for each state of each target: a target that changed gets another delivery."""
        self._wanted = {f"{each.name} {hash(each)}": each for each in self._known.targets()}
        return self._wanted
