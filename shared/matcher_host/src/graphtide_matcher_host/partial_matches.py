"""The partial matches of a host's patterns, published as views that people and programs read.

The host looks at one pattern at a time, between two rounds, and hands bytes over. A thread of its own gives them their form and
sends them. So a slow or lost Redis keeps no match waiting: views that find no room are dropped, and the next ones come later.
Invariant: looking and sending take at most a share of the processor's time (`ViewSettings.share`), on average. After every look
the host waits until the time spent is that share of the time that passed. A pattern is looked at at most every
`ViewSettings.seconds`; where the patterns are many, less often.
Cost: memory for `MOST_WAITING` looks of `MOST_LOOK_BYTES` each at most.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog
from graphtide_core.merged_streams import whole_of
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, metrics
from graphtide_telemetry.instruments import add
from graphtide_wire.partial_matches import FORMAT, PartialMatchesRecord, encode_partial_matches, read_view

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from graphtide_core.ids import PatternName
    from graphtide_core.partial_matches import PartialMatches
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.partial_matches import PartialMatchStore

    from graphtide_matcher_host.assignment import Assignment
    from graphtide_matcher_host.stream_work import StreamWork

_LOG = structlog.get_logger()

MOST_WAITING: Final = 64
"""Views that wait to be sent."""

MOST_BYTES: Final = 256 * 1024
"""Bytes of a view; a larger one shows fewer partial matches."""

MOST_LOOK_BYTES: Final = 4 * MOST_BYTES
"""Bytes of a look before it is encoded; a larger one is repeated for fewer partial matches."""

_LEAST_SECONDS: Final = 10.0
_MOST_SECONDS: Final = 24 * 3600.0
"""How long a view lasts at least and at most, whatever the window."""

_PAUSE_SECONDS: Final = 5.0
"""How long nothing is sent after the store has failed."""


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """How views are published.

    Attributes:
        seconds: between two views of a pattern at least; 0 publishes none.
        share: of the processor's time that views take at most.
        most: partial matches of a view.
    """

    seconds: float = 2.0
    share: float = 0.02
    most: int = 100


class _Look(NamedTuple):
    """What the host saw of a pattern."""

    pattern: PatternName
    version: int
    part: str
    at: datetime
    position: int
    found: bytes
    seconds: float


class _Gone(NamedTuple):
    """A pattern that runs here no more."""

    pattern: PatternName
    part: str


class Publisher:
    """Sends views on a thread of its own, which starts with the first view."""

    def __init__(self, store: PartialMatchStore) -> None:
        """Send to a store."""
        self._store = store
        self._waiting: queue.Queue[_Look | _Gone | None] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._spent = 0.0
        self._lock = threading.Lock()
        self._not_before = 0.0

    def offer(self, each: _Look | _Gone) -> bool:
        """Take what is to be sent; say whether there was room."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="partial-matches", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(each)
        except queue.Full:
            add(metrics.PARTIAL_MATCH_VIEWS, 1, {key.OUTCOME: "dropped"})
            return False
        return True

    def take_spent(self) -> float:
        """Return the seconds of the processor that sending took since the last call."""
        with self._lock:
            spent, self._spent = self._spent, 0.0
        return spent

    def close(self) -> None:
        """End the thread, without what still waits."""
        if self._thread is None:
            return
        while True:
            try:
                self._waiting.get_nowait()
            except queue.Empty:
                break
        self._waiting.put(None)
        self._thread.join()
        self._thread = None

    def _run(self) -> None:
        while (each := self._waiting.get()) is not None:
            begun = time.thread_time()
            if time.monotonic() >= self._not_before:
                self._send(each)
            else:
                add(metrics.PARTIAL_MATCH_VIEWS, 1, {key.OUTCOME: "dropped"})
            with self._lock:
                self._spent += time.thread_time() - begun

    def _send(self, each: _Look | _Gone) -> None:
        try:
            match each:
                case _Gone(pattern, part):
                    self._store.remove(pattern, part)
                case _Look():
                    self._store.put(each.pattern, each.part, encode_look(each), each.seconds)
                    add(metrics.PARTIAL_MATCH_VIEWS, 1, {key.OUTCOME: "published"})
        except Exception as error:  # The thread must not end: views would stop without a word.
            self._not_before = time.monotonic() + _PAUSE_SECONDS
            add(metrics.PARTIAL_MATCH_VIEWS, 1, {key.OUTCOME: "failed"})
            _LOG.warning(events.PARTIAL_MATCHES_NOT_PUBLISHED, pattern=each.pattern, error=str(error))


def encode_look(look: _Look) -> bytes:
    """Return the record of a look, with so few partial matches that its size is bounded."""
    view = read_view(look.found)
    while len(record := encode_partial_matches(_record(look, view))) > MOST_BYTES and view.nearest:
        view = replace(view, nearest=view.nearest[: len(view.nearest) // 2], truncated=True)
    return record


def _record(look: _Look, view: PartialMatches) -> PartialMatchesRecord:
    return PartialMatchesRecord(FORMAT, look.pattern, look.version, look.part, look.at, look.position, view)


class PartialMatchViews:
    """Looks at the patterns of a host in rotation, within the budget."""

    def __init__(self, store: PartialMatchStore, group: str, clock: Clock, settings: ViewSettings) -> None:
        """Publish to a store, as the host of a group."""
        self._publisher = Publisher(store)
        self._store = store
        self._group = group
        self._clock = clock
        self._settings = settings
        self._due: deque[tuple[StreamWork, PatternName]] = deque()
        self._published: dict[PatternName, str] = {}
        self._begun = float("-inf")
        self._not_before = 0.0

    def look(self, works: Iterable[StreamWork]) -> None:
        """Look at the next pattern that is due, if the budget allows it. Call it between two rounds."""
        settings = self._settings
        now = self._clock.monotonic()
        if settings.seconds <= 0 or now < self._not_before:
            return
        begun = time.thread_time()
        if not self._due:
            if now - self._begun < settings.seconds:
                return
            self._begun = now
            self._rotate(works)
        if self._due:
            self._look_at(*self._due.popleft())
        spent = time.thread_time() - begun + self._publisher.take_spent()
        self._not_before = now + spent / settings.share

    def close(self) -> None:
        """Publish nothing more; what was published expires."""
        self._publisher.close()
        self._due.clear()
        self._published.clear()

    def _rotate(self, works: Iterable[StreamWork]) -> None:
        """Begin anew with all patterns, and take back the views of those that are gone."""
        running: dict[PatternName, str] = {}
        for work in works:
            part = f"{self._group}/{work.stream}"
            for name in work.names():
                running[name] = part
                self._due.append((work, name))
        for name, part in self._published.items():
            if running.get(name) != part:
                self._publisher.offer(_Gone(whole_of(name), part))
        self._published = {name: part for name, part in self._published.items() if running.get(name) == part}

    def _look_at(self, work: StreamWork, name: PatternName) -> None:
        most = self._settings.most
        seen = work.partial_matches(name, most)
        while seen is not None and len(seen[1]) > MOST_LOOK_BYTES and most:
            most //= 4
            seen = work.partial_matches(name, most)
        if seen is None:
            return
        assignment, found = seen
        part = f"{self._group}/{work.stream}"
        seconds = lasting(assignment, self._settings.seconds)
        look = _Look(whole_of(name), assignment.version, part, self._clock.now(), work.position, found, seconds)
        if self._publisher.offer(look):
            self._published[name] = part


def lasting(assignment: Assignment, seconds: float) -> float:
    """Return how long a view lasts: the window, and at least until the next views may come."""
    window = 0.0 if assignment.edges else assignment.window * assignment.unit.nanoseconds / 1e9
    return min(_MOST_SECONDS, max(_LEAST_SECONDS, 10 * seconds, window))
