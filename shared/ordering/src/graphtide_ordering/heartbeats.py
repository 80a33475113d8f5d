"""A heartbeat is an ordered record without edges: it carries the watermark while no edge does.

So readers learn that time has passed without edges, or without wanted edges. They emit what follows from time alone, such as an
edge that left its component, at once and not with the next edge.
Invariant: a heartbeat has a later watermark than the record before it, written at least the interval before. It carries the
time of the newest edge before it. So what readers know of edges, and where windows begin, is as it would be without heartbeats.
An epoch has none before its first edge: no edge could leave a window. A part of a stream has one, as parts are merged, and none
may hold the others because it has no edge. It says that the newest edge has the time of the watermark: some part has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import msgspec
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_wire import ordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.log import Message
    from graphtide_wire.ordered import OrderedHeader

    from graphtide_ordering.ordered_records import Packing

DEFAULT_HEARTBEAT_SECONDS: Final = 1.0
"""How long a stream may be quiet before its readers get a heartbeat."""

PART_HEARTBEAT_SECONDS: Final = 0.1
"""Time between two heartbeats of a part that gets no edges while others do, at most: a merge of the parts waits for it."""

LIVE_HEARTBEAT_SECONDS: Final = 0.5
"""Time between two heartbeats of a quiet stream under a live clock, at most."""


class LastRecord(msgspec.Struct, frozen=True):
    """The times of the last ordered record.

    Attributes:
        epoch: of the stream.
        newest: time of the newest edge of the epoch; the least time before the first.
        passed: no edge before this time follows, as readers know.
    """

    epoch: int
    newest: int
    passed: int

    @classmethod
    def by(cls, header: OrderedHeader) -> LastRecord:
        """Return the times of a record. A heartbeat repeats a watermark past the record's edges."""
        return cls(header.epoch, header.last_ts, header.last_ts if header.records else header.watermark)


class Passing(Protocol):
    """A stream whose time passes: its epoch, watermark, edges that went out, and the number of the next one."""

    @property
    def epoch(self) -> int:
        """How often times began anew."""
        ...

    @property
    def watermark(self) -> int | None:
        """No earlier edge will go out; None before the first."""
        ...

    @property
    def ordered(self) -> int:
        """Edges that went out so far."""
        ...

    @property
    def numbered(self) -> int:
        """Number of the next edge."""
        ...


class Heartbeats:
    """Decides when a stream's readers get a heartbeat.

    Attributes:
        last_record: the times that they know; None before the first record.
        at: since when they know it, in seconds of the caller's clock.
        seconds: how long the stream may be quiet.
    """

    def __init__(
        self, packing: Packing, seconds: float, last_record: LastRecord | None, at: float, *, before_edges: bool = False
    ) -> None:
        """Continue from the last record; with `before_edges` an epoch may begin with a heartbeat."""
        self._packing = packing
        self._before_edges = before_edges
        self.seconds = seconds
        self.last_record = last_record
        self.at = at

    def is_due(self, stream: Passing, now: float) -> bool:
        """Whether a heartbeat is due, if nothing else goes out."""
        last_record, watermark = self.last_record, stream.watermark
        if watermark is None or now - self.at < self.seconds:
            return False
        if last_record is None:
            return self._before_edges
        has_begun = last_record.newest > MIN_EVENT_TIME or self._before_edges
        return last_record.epoch == stream.epoch and has_begun and last_record.passed < watermark

    def after(self, messages: Sequence[Message], stream: Passing, now: float) -> list[Message]:
        """Return the heartbeat that goes out after these ordered records, the last so far; mostly none is due."""
        if messages:
            self.last_record, self.at = LastRecord.by(ordered.header(messages[-1].headers)), now
        watermark = stream.watermark
        if watermark is None or not self.is_due(stream, now):
            return []
        before = self.last_record
        if before is None or before.newest == MIN_EVENT_TIME:
            before = LastRecord(stream.epoch, watermark, watermark)
        heartbeat = self._packing.heartbeat(before, watermark, stream.ordered, stream.numbered)
        self.last_record, self.at = msgspec.structs.replace(before, passed=watermark), now
        return [heartbeat]
