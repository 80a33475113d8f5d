"""Where to continue in each partition after a crash, and what has to be known there.

The position of a partition is that of its oldest record with a waiting edge, or the next one to read. An edge waits if and only
if its time is past the watermark. Late ones are not past it, and what the watermark reached has gone. So the watermark shows
what was done with every edge between the position and the next offset.

Invariant: `_waiting` rises both in offset and in greatest time. A record is left out if an earlier one of its partition has an
edge as late. That one waits as long, and comes before it. So the first entry past the watermark is the position, and each
record is entered and left once. One edge far in the future does not make the list grow.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple

import msgspec
from graphtide_core.errors import FatalError
from graphtide_core.ports.log import MOST_METADATA_BYTES, Position
from msgspec import Meta

from graphtide_ordering.stream_progress import Counted, FirstRejected, StreamProgress

FORM: Final = 1
"""Number of the form of what is remembered while a stream is in its first epoch."""

FORM_OF_EPOCHS: Final = 2
"""The same afterwards, so that a version that knows no epochs does not continue from one; other numbers are refused."""

FORM_OF_STATEMENTS: Final = 3
"""The same once records are read by a statement, so that a version that knows none does not read them another way."""

MOST_STATEMENTS: Final = 50
"""Versions of a statement that may have read the records of a partition with waiting edges."""

_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Remembered(msgspec.Struct, frozen=True):
    """Fields that are kept beside the position of a partition.

    Attributes:
        next: the offset after the last record read.
        ordinal: of the first edge of the record at the position.
        watermark: of the stream; None before its epoch's first edge.
        ordered: how many edges of the stream went out.
        sources: how far the partition's sources are; the slowest, as many as there is room for.
        form: see `FORM`.
        epoch: of the stream.
        newest: as in `StreamProgress`, likewise what follows.
        numbered: edges of the stream that went out or would have, deletions not counted.
        statements: versions of the stream's statement and the offsets that they begin at, from the one at the position on.
            Before the first of them records are read without a statement; a stream that never had one does not have them.
    """

    next: _Count
    ordinal: _Count
    watermark: _Int64 | None
    ordered: _Count
    sources: dict[str, _Int64] = {}
    form: int = FORM
    epoch: _Count = 0
    newest: _Int64 | None = None
    counted: Counted = Counted()
    recent: Counted = Counted()
    numbered: _Count = 0
    lateness: _Count | None = None
    left_out: _Count = 0
    statements: tuple[tuple[_Count, _Count], ...] | msgspec.UnsetType = msgspec.UNSET
    first: FirstRejected | None = None

    @property
    def stream_progress(self) -> StreamProgress:
        """The progress of the stream then."""
        return StreamProgress(
            self.epoch, self.watermark, self.newest, self.counted, self.recent, self.lateness, self.left_out, self.first
        )


class _Waiting(NamedTuple):
    offset: int
    newest: int
    ordinal: int


@dataclass
class PartitionPosition:
    """One partition, as far as it was read.

    Attributes:
        next: the offset after the last record read.
        ordinal: of the next edge to read.
        statements: offsets at which versions of the statement begin, and the versions, both ascending.
    """

    next: int = 0
    ordinal: int = 0
    statements: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start without waiting edges."""
        self._waiting: deque[_Waiting] = deque()

    def read(self, offset: int, ordinals: int, newest: int | None) -> None:
        """Note a record, how many ordinals it takes, and the greatest time in it; None if it has no edge."""
        if newest is not None and (not self._waiting or newest > self._waiting[-1].newest):
            self._waiting.append(_Waiting(offset, newest, self.ordinal))
        self.next = max(self.next, offset + 1)
        self.ordinal += ordinals

    def use(self, version: int) -> bool:
        """Read records from the next one on by a version of the statement; return False if that cannot be noted now.

        It cannot while edges wait that many other versions have read: what is kept with a position has its bounds.
        """
        if version == self.version_at(self.next):
            return True
        kept = [each for each in self.statements if each[0] < self.next]
        if len(kept) >= MOST_STATEMENTS:
            return False
        self.statements = [*kept, (self.next, version)]
        return True

    def version_at(self, offset: int) -> int:
        """Return the version of the statement that reads the record at an offset; 0 if it is read without one."""
        return next((version for start, version in reversed(self.statements) if start <= offset), 0)

    def forget(self, watermark: int | None) -> None:
        """Drop the records without a waiting edge, at this watermark."""
        while self._waiting and watermark is not None and self._waiting[0].newest <= watermark:
            self._waiting.popleft()

    def forget_all(self) -> None:
        """Forget all records: an epoch is over, and all that waited has gone out."""
        self._waiting.clear()

    def position(self, stream_progress: StreamProgress, ordered: int, numbered: int, sources: dict[str, int]) -> Position:
        """Return where to continue from this progress of the stream."""
        self.forget(stream_progress.watermark)
        first = self._waiting[0] if self._waiting else _Waiting(self.next, 0, self.ordinal)
        begun = sum(start <= first.offset for start, _ in self.statements)
        self.statements = self.statements[max(0, begun - 1) :]
        remembered = Remembered(
            next=self.next,
            ordinal=first.ordinal,
            watermark=stream_progress.watermark,
            ordered=ordered,
            sources=sources,
            form=FORM_OF_STATEMENTS if self.statements else FORM_OF_EPOCHS if stream_progress.epoch else FORM,
            epoch=stream_progress.epoch,
            newest=stream_progress.newest,
            counted=stream_progress.counted,
            recent=stream_progress.recent,
            numbered=numbered,
            lateness=stream_progress.lateness,
            left_out=stream_progress.left_out,
            statements=tuple(self.statements) or msgspec.UNSET,
            first=stream_progress.first,
        )
        return Position(first.offset, _fitting(remembered))


def read_remembered(position: Position) -> Remembered:
    """Return the fields that were kept with a position.

    Raises:
        FatalError: another program wrote it, or a newer version.
    """
    try:
        found = msgspec.json.decode(position.metadata, type=Remembered)
    except msgspec.DecodeError as error:
        message = f"a position of the sequencer is not one: {error}"
        raise FatalError(message) from error
    if found.form not in {FORM, FORM_OF_EPOCHS, FORM_OF_STATEMENTS}:
        known = FORM_OF_STATEMENTS
        message = f"a position of the sequencer has form {found.form}, this version knows {known}: bring it up to date"
        raise FatalError(message)
    return found


def _fitting(remembered: Remembered) -> str:
    """Return the text, with as many sources as there is room for."""
    text = msgspec.json.encode(remembered)
    if len(text) <= MOST_METADATA_BYTES:
        return text.decode()
    room = MOST_METADATA_BYTES - len(msgspec.json.encode(msgspec.structs.replace(remembered, sources={})))
    kept: dict[str, int] = {}
    for name, newest in remembered.sources.items():
        room -= len(msgspec.json.encode({name: newest}))
        if room < 0:
            break
        kept[name] = newest
    return msgspec.json.encode(msgspec.structs.replace(remembered, sources=kept)).decode()
