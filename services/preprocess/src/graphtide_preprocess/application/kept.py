"""What the job keeps from one micro-batch to the next: a head, and blocks by number.

What is put counts once the micro-batch is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec
from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_ordering.frozen_sequencer import FrozenSequencer
from graphtide_ordering.heartbeats import LastRecord

from graphtide_preprocess.domain.registered import Registration

if TYPE_CHECKING:
    from collections.abc import Iterator


class KeptBlocks(Protocol):
    """Blocks by number."""

    def get(self, number: int) -> bytes:
        """Return a block that is kept."""
        ...

    def put(self, number: int, block: bytes) -> None:
        """Keep a block."""
        ...

    def remove(self, number: int) -> None:
        """Keep it no longer."""
        ...


class Kept(Protocol):
    """The state of one stream.

    Attributes:
        waiting: blocks with waiting edges, in the order of their arrival.
        sent: edges that went out, by micro-batch.
    """

    @property
    def waiting(self) -> KeptBlocks: ...  # noqa: D102 - said above

    @property
    def sent(self) -> KeptBlocks: ...  # noqa: D102 - said above

    def head(self) -> bytes | None:
        """Return the head; None before the first micro-batch."""
        ...

    def keep_head(self, head: bytes) -> None:
        """Keep this head."""
        ...

    def published(self) -> bytes | None:
        """Return the statistics that were published last; None if none were."""
        ...

    def keep_published(self, record: bytes) -> None:
        """Keep these statistics."""
        ...


FORM = 1
"""Number of the form of what is kept; another is refused."""


class WaitingBlock(msgspec.Struct, frozen=True, array_like=True):
    """A block with waiting edges: its greatest time says how long."""

    arrival: int
    newest: int


class SentBlock(msgspec.Struct, frozen=True, array_like=True):
    """The edges of a micro-batch: the time of the last says when they leave the window, and the number of the edge after it."""

    micro_batch: int
    last_ts: int
    number: int = 0


class KeptWaiting(NamedTuple):
    """The edges of a block, packed, with the ordinal of the first."""

    ordinal: int
    edges: bytes

    def written(self) -> bytes:
        """Return it as bytes."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def read(cls, text: bytes) -> KeptWaiting:
        """Return what was written."""
        return msgspec.msgpack.decode(text, type=cls)


class Head(
    msgspec.Struct,
    rename={"micro_batch": "turn", "registrations": "wishes", "last_record": "told", "last_record_at": "told_at"},
):
    """Everything but the blocks.

    Attributes:
        identity: made at the first micro-batch; copies in memory are known by it.
        micro_batch: number of the last micro-batch.
        written: number of the last micro-batch that wrote something.
        written_at: when, in milliseconds.
        sequencer: how far the stream is.
        attributes: of the stream, in the order they were found.
        left_out: names of attributes that found no room in the last micro-batch.
        registrations: of the registered patterns, by name.
        arrivals: blocks taken so far.
        waiting: blocks with waiting edges.
        sent: micro-batches whose edges are in the window.
        published_at: when statistics were published last, in milliseconds.
        is_counted: whether edges went out since.
        last_record: the times of the last ordered record; None before the first.
        last_record_at: when, in milliseconds.
        form: see `FORM`.
        lateness: ticks of lateness that the last micro-batch was put in order by; None before that was kept.
        duplicates: the policy for duplicates that it was put in order by.
    """

    identity: str
    micro_batch: int = 0
    written: int = 0
    written_at: int = 0
    sequencer: FrozenSequencer = FrozenSequencer()
    attributes: list[str] = []
    left_out: int = 0
    registrations: dict[str, Registration] = {}
    arrivals: int = 0
    waiting: list[WaitingBlock] = []
    sent: list[SentBlock] = []
    published_at: int = 0
    is_counted: bool = False
    last_record: LastRecord | None = None
    last_record_at: int = 0
    form: int = FORM
    lateness: int | None = None
    duplicates: str = DuplicatePolicy.REJECT.value


def later(blocks: KeptBlocks, sent: list[SentBlock], micro_batch: int) -> Iterator[tuple[int, bytes]]:
    """Yield what went out after a micro-batch, in its order."""
    return ((each.micro_batch, blocks.get(each.micro_batch)) for each in sent if each.micro_batch > micro_batch)
