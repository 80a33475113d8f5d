"""What every reader offers, and the options of readers.

Invariant: a reader is read once, by one thread. Its batches come in the order of the stream, and no record is lost: each one is
in a batch or among the dead letters. Memory is bounded by a block and its batch, as long as dead letters are taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import stated_format
from graphtide_core.time import MAX_EVENT_TIME, EventTime, TimeUnit
from graphtide_native.records import Symbols, ticks_per_second

from graphtide.record_options import RecordOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_core.attribute_type import AttributeType
    from graphtide_core.formats import StreamFormat
    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.record_form import RecordForm
    from graphtide_native.records import EdgeBatch


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """Options of a reader.

    Attributes:
        symbols: the table of labels that the matcher shares.
        attributes: names of the attributes to decode; the batches have no others.
        columns: what the stream calls `ts src dst label src_label dst_label id op type`, where it has other names.
        time_unit: what `ts` counts; timestamps of columnar formats are converted to it.
        format: how the stream is written; None for the format by its name and first bytes.
        record_options: how records are written.
        types: declared types of attributes: a record with another value is rejected, a table with another column refused.
        keep_raw: whether records of text formats keep their bytes for a later stage that rejects them; else they keep fields.
        block_size: bytes of text to decode at once.
        block_rows: rows of a columnar format to decode at once.
        latest: records that are later than this are rejected.
        lateness: ticks that a record of one of many files may be late in its file.
        max_pending: records of one of many files that wait at once to be put in order.
        sorts: whether a file that is not in order of time is sorted first; a pipe never is.
        partition: columns that the folders of the file say, with their value for all its records.
        live: whether edges of an iterable without a length are handed on as they come; see `graphtide.readers.pacing`.
    """

    symbols: Symbols = field(default_factory=Symbols)
    attributes: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    time_unit: TimeUnit = TimeUnit.MILLISECOND
    format: StreamFormat | None = None
    record_options: RecordOptions = field(default_factory=RecordOptions)
    types: Mapping[str, AttributeType] = field(default_factory=dict)
    keep_raw: bool = True
    block_size: int = 1 << 20
    block_rows: int = 1 << 16
    latest: EventTime = MAX_EVENT_TIME
    lateness: int = 0
    max_pending: int = 1 << 20
    sorts: bool = False
    partition: Mapping[str, int | str | None] = field(default_factory=dict)
    live: bool = False

    @property
    def declared(self) -> dict[str, str]:
        """Declared types of attributes, as decoders take them."""
        return {name: kind.value for name, kind in self.types.items()}

    @property
    def form(self) -> RecordForm:
        """How records are written, as decoders take it."""
        return self.record_options.form(self.time_unit)

    @property
    def definition(self) -> StreamDefinition | None:
        """The statement that reads the stream; None without one."""
        return next(iter(self.record_options.stream), None)

    @property
    def stated_format(self) -> StreamFormat | None:
        """How the stream is written, as its statement says or else `format`."""
        definition = self.definition
        if definition is None or definition.format is None:
            return self.format
        return stated_format(definition.format.name)

    def for_stream(self, name: str | None) -> ReaderOptions:
        """Return the options for one of the streams by name, or for the only one: with its statement alone, if it has one.

        Raises:
            UnreadableStreamError: there are several statements for one stream.
        """
        given = self.record_options.stream
        if name is None and len(given) > 1:
            names = ", ".join(each.name for each in given)
            message = f"{len(given)} STREAM statements are given for one stream: {names}; keep one of them"
            raise UnreadableStreamError(message)
        own = given if name is None else tuple(each for each in given if each.name == name)
        return self if own == given else replace(self, record_options=replace(self.record_options, stream=own))

    @property
    def ticks_per_second(self) -> int:
        """How many ticks of the stream make a second."""
        return ticks_per_second(self.time_unit)


def times_alone(options: ReaderOptions) -> ReaderOptions:
    """Return the options for a look at the times of a stream."""
    return replace(options, attributes=(), types={}, keep_raw=False, sorts=False)


class UnusableValues(NamedTuple):
    """A wanted attribute that is missing in good records, because no attribute can have the value given.

    That is: its name, what the values are instead, how many records had one, the line of the first.
    """

    name: str
    found: str
    records: int
    line: int


class Settled(NamedTuple):
    """A column of CSV that holds texts, because of one in the beginning of the stream: its name, the text and its line."""

    column: str
    line: int
    text: str


class Reader(Protocol):
    """A stream that is being read."""

    def batches(self) -> Iterator[EdgeBatch]:
        """Yield batches; call once. A batch is empty if records were rejected and none was good.

        Raises:
            UnreadableStreamError: the stream cannot be read, or not further; what could be read was yielded before.
        """
        ...

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected since the last call."""
        ...

    def start_at(self, ordinal: int) -> None:
        """Continue to count from an ordinal: this is a later piece of a stream whose records have ordinals for ids."""
        ...

    @property
    def records(self) -> int:
        """Ordinal that the next record will have: how many were read, bad ones too, from where the count started."""
        ...

    def close(self) -> None:
        """Close the stream; done by itself at its end."""
        ...

    @property
    def columns(self) -> list[str] | None:
        """The stream's columns: known after the first batch at the latest, never for JSON Lines."""
        ...

    @property
    def has_ids(self) -> bool:
        """Whether the stream gives ids, as far as is known: see `Decoder.has_ids`."""
        ...

    @property
    def has_operations(self) -> bool:
        """Whether the stream gives operations, as far as is known."""
        ...

    @property
    def has_zoneless_times(self) -> bool:
        """Whether a date so far named no zone, and the options name none: it was read as one of UTC."""
        ...

    @property
    def is_sorted_here(self) -> bool:
        """Whether a file was out of order of time, and its records were sorted before they were handed on."""
        ...

    @property
    def filtered(self) -> int:
        """Records that are not of the stream, as its statement says: neither taken nor rejected."""
        ...

    @property
    def is_live(self) -> bool:
        """Whether records are handed on as they come, so that the first batch says little about the stream."""
        ...

    @property
    def unusable_values(self) -> list[UnusableValues]:
        """Wanted attributes whose values are missing because no attribute can have them, as far as is known."""
        ...

    @property
    def settled(self) -> list[Settled]:
        """Columns of CSV that were found to hold texts: known after the first batch."""
        ...

    @property
    def place(self) -> str:
        """What the line of a dead letter counts: `line`, `row` or `record`."""
        ...

    def locate(self, record: int, line: int) -> str:
        """Return where a record is, for an error that ends a run: `flows.csv, line 7: record 6`; both count from 1."""
        ...

    @property
    def bytes_read(self) -> int:
        """Bytes of the source read so far, as they lie there; 0 if it is not of bytes."""
        ...

    @property
    def bytes_total(self) -> int | None:
        """Size of the source, if it has one."""
        ...
