"""Readers over anything that gives blocks for a decoder: what readers of all formats share.

Cost: one call of the decoder a block. A block without a record is handed on only if it gave dead letters, so that the caller
can take them before there are more.
"""

from __future__ import annotations

import difflib
from functools import partial
from typing import TYPE_CHECKING, Any

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.time import MAX_EVENT_TIME
from graphtide_native.records import Sequencer, take_dead_letters

from graphtide.readers.reader import Settled, UnusableValues
from graphtide.record import is_nowhere

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_native.records import Decoder, EdgeBatch

    from graphtide.readers.source import ByteSource


_LONGEST = 100
"""Characters of a name that a similar one is looked for."""

_ORDERED_AT_ONCE = 1 << 16
"""Rows of a table put in order that are handed on together."""


class DecodingReader:
    """A reader over blocks that one decoder understands."""

    def __init__(
        self,
        decoder: Decoder,
        blocks: Callable[[], Iterator[object]],
        *,
        decode: Callable[[Any], EdgeBatch] | None = None,
        name: str,
        source: ByteSource | None = None,
        columns: list[str] | None = None,
        added: Sequence[str] = (),
        place: str = "line",
        refused: list[DeadLetter] | None = None,
        to_order: int | None = None,
        is_live: bool = False,
        typed: Collection[str] = (),
        mapped: Mapping[str, str] | None = None,
        fields: Sequence[str] | None = None,
        zone: str | None = None,
    ) -> None:
        """Join a decoder and its blocks.

        Args:
            decoder: understands the blocks.
            blocks: gives them; called once.
            decode: understands one of them; None is `decoder.decode`, which takes bytes.
            name: what messages call the stream.
            source: closed at the end.
            columns: the stream's, where the decoder sees only some.
            added: attributes beside the columns that the decoder finds.
            place: what the line of a dead letter counts.
            refused: where `blocks` leaves letters of records that it replaced by substitutes.
            is_live: see `Reader.is_live`.
            to_order: how many records to put in order of time before the first is handed on; None leaves them as they come.
            typed: columns with a declared type; they must be there.
            mapped: columns that fields of a record, or parts of a statement, are read from; they must be there.
            fields: the columns of a table; None for those that the decoder finds.
            zone: that of times that name none, as it was said; None for UTC.
        """
        self._decoder = decoder
        self._blocks = blocks
        self._understand: Callable[[Any], EdgeBatch] = decode or decoder.decode
        self._name = name
        self._source = source
        self._columns = columns
        self._added = added
        self._letters: list[DeadLetter] = []
        self._place = place
        self._refused = [] if refused is None else refused
        self._to_order = to_order
        self._is_live = is_live
        self._typed = frozenset(typed)
        self._mapped = {name: actual for name, actual in (mapped or {}).items() if not is_nowhere(actual)}
        self._fields = fields
        self._is_to_check = bool(typed) or bool(self._mapped)
        self._zone = zone

    def batches(self) -> Iterator[EdgeBatch]:
        """Yield batches; see `Reader.batches`."""
        try:
            yield from self._decode() if self._to_order is None else self._ordered(self._to_order)
        finally:
            self.close()

    def _decode(self) -> Iterator[EdgeBatch]:
        # Where the blocks break off, what came before is handed out already; the record that was cut is lost with the rest.
        for block in self._blocks():
            yield from self._handed_on(partial(self._understand, block))
        yield from self._handed_on(self._decoder.finish)

    def _ordered(self, most: int) -> Iterator[EdgeBatch]:
        """Yield batches in order of time; records keep their ordinals, which are ids where none is given."""
        waiting = Sequencer(MAX_EVENT_TIME, most)
        for batch in self._decode():
            # Only what is the whole range of time earlier goes at once.
            yield waiting.push(batch)
        while waiting.pending:
            released = waiting.relieve(max(0, waiting.pending - _ORDERED_AT_ONCE))
            if released is not None:
                yield released
        self._letters += take_dead_letters(waiting)

    def _handed_on(self, step: Callable[[], EdgeBatch]) -> Iterator[EdgeBatch]:
        batch = self._named(step)
        if self._is_to_check:
            self._refuse_unknown_columns()
        letters = take_dead_letters(self._decoder)
        if self._refused:
            letters = sorted([*letters, *self._refused], key=lambda letter: letter.line)
            self._refused.clear()
        self._letters += letters
        if len(batch) or letters:
            yield batch

    def _refuse_unknown_columns(self) -> None:
        known, fields = self.columns, self._fields or self._decoder.columns()
        if known is None or fields is None:
            return
        self._is_to_check = False
        for name in sorted(self._typed - {*known}):
            message = f"{self._name}: a type is declared for {name!r}, but there is no such column{_hint(name, known)}"
            raise UnreadableStreamError(message)
        if not self._mapped:
            return
        from graphtide_core.stream_fields import explain_lacking  # noqa: PLC0415 - most runs have names of their own

        if (lacking := explain_lacking(self._mapped, fields)) is not None:
            message = f"{self._name}: {lacking}"
            raise UnreadableStreamError(message)

    def _named(self, step: Callable[[], EdgeBatch]) -> EdgeBatch:
        """Run a step of the decoder, which does not know what its stream is called."""
        try:
            return step()
        except UnreadableStreamError as error:
            message = f"{self._name}: {error}"
            raise UnreadableStreamError(message) from error

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected since the last call."""
        letters, self._letters = self._letters, []
        return letters

    def start_at(self, ordinal: int) -> None:
        """Continue to count from an ordinal; see `Reader.start_at`."""
        self._decoder.start_at(ordinal)

    @property
    def records(self) -> int:
        """Ordinal that the next record will have."""
        return self._decoder.ordinal()

    def close(self) -> None:
        """Close the stream."""
        if self._source is not None:
            self._source.close()

    @property
    def columns(self) -> list[str] | None:
        """The stream's columns, once known."""
        if self._columns:
            return self._columns
        found = self._decoder.columns()
        return None if found is None else [*found, *self._added]

    @property
    def has_ids(self) -> bool:
        """Whether the stream gives ids."""
        return self._decoder.has_ids()

    @property
    def has_operations(self) -> bool:
        """Whether the stream gives operations."""
        return self._decoder.has_operations()

    @property
    def has_zoneless_times(self) -> bool:
        """Whether dates were read as those of UTC; see `Reader.has_zoneless_times`."""
        return self._zone is None and self._decoder.has_zoneless_times()

    @property
    def is_sorted_here(self) -> bool:
        """Whether records were sorted; see `Reader.is_sorted_here`. What is in memory has no order of its own."""
        return False

    @property
    def filtered(self) -> int:
        """Records that are not of the stream; see `Reader.filtered`."""
        return self._decoder.filtered()

    @property
    def is_live(self) -> bool:
        """Whether records are handed on as they come; see `Reader.is_live`."""
        return self._is_live

    @property
    def unusable_values(self) -> list[UnusableValues]:
        """Wanted attributes whose values are missing because none can have them; see `Reader.unusable_values`."""
        return [UnusableValues(*reported) for reported in self._decoder.unusable_values()]

    @property
    def settled(self) -> list[Settled]:
        """Columns of CSV that were found to hold texts; see `Reader.settled`."""
        return [Settled(*reported) for reported in self._decoder.settled() if reported[0] not in self._typed]

    @property
    def place(self) -> str:
        """What the line of a dead letter counts; see `Reader.place`."""
        return self._place

    def locate(self, record: int, line: int) -> str:
        """Return where a record is; see `Reader.locate`."""
        where = self._name if self._place == "record" else f"{self._name}, {self._place} {line:,}"
        return f"{where}: record {record:,}"

    @property
    def bytes_read(self) -> int:
        """Bytes of the source read so far."""
        return self._source.read if self._source else 0

    @property
    def bytes_total(self) -> int | None:
        """Size of the source, if it has one."""
        return self._source.total if self._source else None


def _hint(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name[:_LONGEST], known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
