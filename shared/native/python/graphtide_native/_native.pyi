"""The extension's classes, in alphabetical order, with their contracts.

Every `decode`, `finish`, `push` and `filter` releases the GIL for the batch. A decoder that raises
`graphtide_core.errors.UnreadableStreamError` is spent.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from graphtide_core.edge import Value

from graphtide_native.funnel import NativeFunnel
from graphtide_native.record_form import RecordForm

__all__ = [
    "AddedFields",
    "ArrowDecoder",
    "CsvDecoder",
    "Decoder",
    "Duplicates",
    "EdgeBatch",
    "EventDetector",
    "Features",
    "JsonLinesDecoder",
    "LookupTable",
    "MatchBatch",
    "Matcher",
    "Occurrences",
    "OrderScan",
    "RawBatchDecoder",
    "ResultEdges",
    "ResultsAt",
    "Sequencer",
    "StatementDecoder",
    "Statistics",
    "Symbols",
    "TableBuilder",
    "TableLayout",
    "check_graph_query",
    "check_pattern",
    "check_unit",
    "last_of_ascending",
    "python_lists",
]

@final
class AddedFields:
    """Adds fields to the records of a text that comes in blocks."""

    @staticmethod
    def csv(delimiter: str, quote: str | None, comment: str, names: list[tuple[str, str]]) -> AddedFields:
        """Prepare for CSV with a header line: names and values of the fields; one that the header has is left out."""

    @staticmethod
    def json(members: str) -> AddedFields:
        """Prepare for JSON Lines: the members of an object, without its braces."""

    def feed(self, block: bytes) -> bytes:
        """Return the next block with the fields."""

    def finish(self) -> bytes:
        """Return what is left at the end."""

@final
class ArrowDecoder(Decoder):
    """Decoder of Arrow IPC: each block is one whole IPC stream, a schema and its record batches, without compression.

    `ts` is of an integer type, counted in ticks already, or a timestamp of any unit or a date, converted and rounded down. As
    `form` says, it may also be a text or a number. A `form` says the zone of timestamps without one and the label of edges
    without one. A record's line is its 1-based row; a dead letter's bytes are the row as a JSON object.
    """

    def __new__(
        cls,
        symbols: Symbols,
        attributes: Sequence[str],
        columns: Mapping[str, str],
        ticks_per_second: int = 1000,
        *,
        types: Mapping[str, str] | None = None,
        form: RecordForm | None = None,
    ) -> ArrowDecoder: ...
    def check_columns(self, schema: object) -> None:
        """Check the columns of the next record batches: anything with `__arrow_c_schema__`.

        Raises:
            UnreadableStreamError: one is missing, or of a type that it cannot have.
        """

    def decode_rows(self, rows: object) -> EdgeBatch:
        """Decode a record batch in memory: anything with `__arrow_c_array__` whose buffers are as long as they say.

        Copies no column, but looks at each offset, code and text of them.

        Raises:
            UnreadableStreamError: as `decode`.
            pyarrow.ArrowException: an offset or a code leads out of its column, or a text is not UTF-8.
        """

@final
class CsvDecoder(Decoder):
    """Decoder of CSV (RFC 4180); `delimiter` is a character or several, or `whitespace` for blanks and tabs.

    A `form` says where columns are named, and how times, numbers and missing values are written. Quotes protect a delimiter of
    one ASCII character; with others they have no meaning.

    With `keep_raw`, records keep their bytes, so that a later stage that rejects one has them. With `substitutes`, a line of
    the one character SUBSTITUTE (0x1A) stands for a record that was rejected before. It is counted, and has no dead letter.

    With `settle`, the first block (its first 256 KiB) settles which columns hold texts: every value of such a column is one.
    Else, and in other columns, a value has the type that it looks like.
    """

    def __new__(
        cls,
        symbols: Symbols,
        attributes: Sequence[str],
        columns: Mapping[str, str],
        delimiter: str = ",",
        *,
        types: Mapping[str, str] | None = None,
        settle: bool = False,
        keep_raw: bool = False,
        substitutes: bool = False,
        form: RecordForm | None = None,
    ) -> CsvDecoder: ...

class Decoder:
    """What all decoders do.

    `attributes` names what to decode beside the columns of every record; a name the stream does not have is missing in every
    record. `columns` maps canonical names (`ts src dst label src_label dst_label id op`) to the stream's own. `types` declares
    of attributes, decoded or not, that they are `string`, `integer`, `number` or `boolean`. A record with another value is
    rejected, and an Arrow column of another type is refused.
    """

    def decode(self, block: bytes) -> EdgeBatch:
        """Return the records that `block` completes; blocks may cut records anywhere."""

    def finish(self) -> EdgeBatch:
        """Return what the end of the stream completes; call once, last."""

    def decode_pieces(
        self, pieces: Sequence[bytes], line: int, latest: Sequence[int] | None = None
    ) -> tuple[EdgeBatch, list[tuple[int, int, int, int | None, int]]]:
        """Return the records of pieces of a stream, each complete, and for each piece its identity.

        That is: how many records, and how many dead letters since they were taken, there are up to its end; the ordinal that
        follows. Then its greatest `ts`, None if it has no record, and its first line. Lines are counted from `line`, and those
        of two pieces differ. Columns are those that the stream began with. Records that are later than the `latest` of their
        piece are rejected.
        """

    def take_dead_letters(self) -> list[tuple[int, str, bytes]]:
        """Return (line, reason, bytes) of the records rejected since the last call."""

    def columns(self) -> list[str] | None:
        """Return the stream's columns once known; always None for JSON Lines."""

    def has_ids(self) -> bool:
        """Return whether the stream gives ids: by its columns, or for JSON Lines by a record so far."""

    def has_operations(self) -> bool:
        """Return whether the stream gives operations, as `has_ids` does."""

    def has_zoneless_times(self) -> bool:
        """Return whether a date so far named no zone, where a `form` says how times are written."""

    def discovered(self) -> list[str]:
        """Return the attributes that good records had and nobody asked for, at most 256.

        Decoders of JSON Lines look if they shall `discover`, those of raw batches always, others never.
        """

    def unusable_values(self) -> list[tuple[str, str, int, int]]:
        """Return wanted attributes with values that no attribute can have, in good records: such values are missing.

        That is: name, what the values are instead, how many records had one, the line of the first.
        """

    def settled(self) -> list[tuple[str, int, str]]:
        """Return the columns that the first block showed to hold texts, with the line of the first text and the text."""

    def filtered(self) -> int:
        """Return how many records so far are not of the stream, as its statement says; they have ordinals."""

    def ordinal(self) -> int:
        """Return the ordinal that the next record will have."""

    def start_at(self, ordinal: int) -> None:
        """Continue counting from an ordinal: the stream is a later piece of one whose records have ordinals for ids."""

    def accept_until(self, latest: int) -> None:
        """Reject records that are later than this, from the next on; at first all are taken."""

@final
class Duplicates:
    """Drops insertions whose id was let through less than `window` ticks before; a deletion releases its id.

    With `edges`, also those whose id is one of the last so many insertions let through, the new one among them. If such
    insertions `replace`, each is let through behind a deletion of its id. Takes batches in order of time.
    """

    def __new__(cls, window: int, edges: int = 0, *, replaces: bool = False) -> Duplicates: ...
    def filter(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the batch without its duplicates, or with deletions before them: the same object if there are none."""

    replaces: bool
    """Whether insertions under a known id replace what had it, from now on."""

    @property
    def dropped(self) -> int:
        """Records dropped so far."""

    @property
    def replaced(self) -> int:
        """Records so far that replaced what had their id."""

@final
class Features:
    """Gives records the values of a stream's features, and what EMIT makes of windows; see `graphtide_native.features`.

    Takes batches in order of time.
    """

    def __new__(cls, spec: str, kept: list[str] | None) -> Features: ...
    def add_to(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the batch with an attribute for each feature, in place of attributes of its name, and what EMIT gives."""

    def advance(self, time: int) -> EdgeBatch | None:
        """Return what EMIT gives of windows that end at a time or before; None for nothing."""

    def clear(self) -> None:
        """Forget all records: times begin anew."""

    @property
    def shed(self) -> int:
        """Records that left windows before their time, because there were too many."""

    @property
    def uncounted(self) -> int:
        """Records that are in no window of EMIT, because it was full."""

    @property
    def held(self) -> int:
        """Records that windows hold."""

@final
class EdgeBatch:
    """Records of one stream, column by column; never changes."""

    def __len__(self) -> int: ...
    @property
    def held_bytes(self) -> int:
        """Bytes that the records take in memory."""

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes that each record has."""

    @property
    def ts(self) -> list[int]:
        """Event times, copied."""

    def is_ordered_from(self, ts: int) -> bool:
        """Whether no record comes before a time, nor before another that it follows."""

    @property
    def last_ts(self) -> int | None:
        """Event time of the last record; None if there is none."""

    @property
    def edges(self) -> int:
        """How many records add an edge: they are neither deletions nor events."""

    @property
    def ordinals(self) -> list[int]:
        """0-based places of the records in their stream, copied."""

    @staticmethod
    def merged(heads: Sequence[tuple[EdgeBatch, int, int | None, str]]) -> tuple[EdgeBatch, list[int]]:
        """Merge what is at hand of streams, up to the end of the first that has no more at hand.

        Args:
            heads: one for each stream, in the order of their names. It has records in order of time, of the same symbols, and
                of the first attributes of the one that has most. It has the place of the first that was not merged yet. It has
                the time from which on records stay, though they are at hand, or None; and the name.

        Returns:
            The records in order of time, of equal times in that of the streams. Each knows its stream, and none has its bytes
            as they came. And for each stream the place of the first that was not merged.

        Raises:
            ValueError: there is no stream, or their attributes are others.
        """

    def numbered(self, first: int) -> EdgeBatch:
        """Return the records with how many edges came before each, deletions and events not counted, in place of ordinals."""

    def placed(self, first: int) -> EdgeBatch:
        """Return the records with ordinals that follow one another from `first` on."""

    def as_one_stream(self, first: int) -> tuple[EdgeBatch, int]:
        """Return records of several streams as those of one without a name, and the ordinal that follows.

        Ordinals, and ids that were made, count records from `first` on.
        """

    def later_than(self, ts: int) -> EdgeBatch:
        """Return the records with a greater `ts`: the same object if all have one."""

    def part(self, start: int, stop: int) -> EdgeBatch:
        """Return the records from place `start` to before `stop`."""

    def raw_text(self, first: int) -> bytes:
        """Return the records' bytes as they came, which the decoder must have kept, one after the other.

        Each stands on the line it had, if the text begins with line `first`: lines that are not a record's are empty.
        """

    @staticmethod
    def joined(parts: Sequence[tuple[EdgeBatch, int, int]]) -> EdgeBatch:
        """Return the records of batches of one stream, each from a place to before another, as one batch.

        Raises:
            ValueError: there is no batch, or the batches do not have the same number of attributes.
        Complexity: O(records); each is copied once.
        """

    def followed_by(self, others: Sequence[EdgeBatch]) -> EdgeBatch:
        """Return the records of this batch and of others of the same stream as one batch.

        Raises:
            ValueError: they have other attributes.
        """

    def to_arrow(self) -> bytes:
        """Return the records as an Arrow IPC stream that `ArrowDecoder` reads back, raw bytes and places in files left out.

        Columns: `ts` (int64), `src`, `dst`, `id` (utf8), `label`, `src_label`, `dst_label` (dictionary). There is `op` where a
        record is a deletion, `graphtide.made` where an id was made, and `graphtide.event` where a record is an event. There is
        `graphtide.stream` (dictionary) where records know their streams. Then comes every attribute that some record has: truth
        value, int64, float64 or utf8 where all records agree. Otherwise it is texts of JSON, and the field's metadata say so.
        An attribute that is called as a column is left out.
        """

    @property
    def raw_bytes(self) -> int:
        """Bytes of the records as they came, with a line end each."""

    @property
    def next_line(self) -> int | None:
        """The line after the last record; None if there is no record."""

    def to_raw_batch(self, line: int, ordinal: int, ordinals: int) -> bytes:
        """Return the records, which have their bytes, as an Arrow IPC stream that `RawBatchDecoder` reads back.

        They are a part of a body that begins with this line and this ordinal. It takes so many ordinals, those of rejected
        records included. Columns: as `to_arrow`, without ids that were made, and `graphtide.raw` (binary), the bytes. Where a
        row is not at its place, `graphtide.line` and `graphtide.ordinal` (uint32), from 0.
        """

    def divide(self, key: str | None, parts: int) -> list[EdgeBatch]:
        """Return the records of each part of a stream, by a field or an attribute; None is by both ends. Deletions go to all.

        The part is that of `graphtide_core.part_key.part_of`. Complexity: O(records, and deletions times parts).
        """

    def narrowed(self, labels: Sequence[str] | None, attributes: Sequence[str]) -> EdgeBatch:
        """Return the records with these labels of edges, or with any, and all deletions, with no attributes but these."""

    def bare(self, attributes: Sequence[str] = ...) -> EdgeBatch:
        """Return the records with these attributes, missing ones too, and without their bytes as they came."""

    def pack(self) -> bytes:
        """Return the batch as bytes for `unpack`; nothing is left out."""

    @staticmethod
    def unpack(block: bytes, symbols: Symbols, attributes: Sequence[str], first: int) -> EdgeBatch:
        """Return what was packed, with these attributes and no others, ordinals moved on by `first`; made ids follow.

        Raises:
            ValueError: the bytes are none of `pack`, or of another version's.
        """

    def labels_among(self, edges: Sequence[str], vertices: Sequence[str]) -> tuple[int, list[str], list[str]]:
        """Return how many records are not deletions, and which of these labels their edges and their vertices have.

        Types of events are labels of edges. A label past the bound of the table of symbols is taken for every other such.
        Complexity: O(records).
        """

    def values_among(self, attributes: Sequence[str]) -> list[tuple[str, bool]]:
        """Return which of these attributes have a value in an insertion, and whether all of these values are numbers.

        Complexity: O(records) for each attribute.
        """

    def to_records(self) -> list[dict[str, Any]]:
        """Return the records as dictionaries: for tests and people, at a few microseconds each."""

@final
class EventDetector:
    """Detects the event patterns of a plan; `graphtide_native.event_detection` wraps it."""

    def __new__(
        cls,
        plan: bytes,
        symbols: Symbols,
        width: int,
        deletions: bool,
        may_change: bool,
        bounds: tuple[int | None, int | None, int | None],
    ) -> EventDetector:
        """Make a plan ready, over records of `width` attributes; bounds on steps a record, instances, and their bytes.

        Raises:
            ValueError: the plan cannot be run.
        """

    def push(self, batch: EdgeBatch) -> tuple[Occurrences, bool, int]:
        """Return what a batch brings about, whether instances were given up at a bound, and how many records were cut."""

    def advance(self, now: int) -> Occurrences:
        """Return what is settled once time is `now`."""

    def finish(self) -> Occurrences:
        """Return what is settled once all bounds have passed."""

    def replan(self, plan: bytes, carried: Sequence[int | None]) -> bool:
        """Go over to another plan; `carried` says which pattern of the plan before each of its patterns is, if any.

        Return whether it has it; False if it reached a bound and the old one stays.

        Raises:
            ValueError: the plan cannot be run.
        """

    def usage(self) -> tuple[int, int, int]:
        """Return how many instances live, lived at most, and the bytes of state."""

    def instances(self) -> list[tuple[int, int]]:
        """Return for each vertex of the plan how many instances are stored, and were at most."""

@final
class JsonLinesDecoder(Decoder):
    """Decoder of JSON Lines; `keep_raw` and `substitutes` as for CSV.

    With a `path` in its `form`, records stand anywhere in a text of JSON, as elements of a list or over several lines.

    With `discover` it notes attributes that records have beside the wanted.
    """

    def __new__(
        cls,
        symbols: Symbols,
        attributes: Sequence[str],
        columns: Mapping[str, str],
        *,
        types: Mapping[str, str] | None = None,
        keep_raw: bool = False,
        substitutes: bool = False,
        discover: bool = False,
        form: RecordForm | None = None,
    ) -> JsonLinesDecoder: ...
    def project(self, attributes: Sequence[str]) -> None:
        """Decode these attributes in place of those before, from the next record on; what was discovered is forgotten."""

_Head = tuple[int, str, bool, int, int, int]
_Assignment = tuple[list[str], list[int], list[str]]
_Component = tuple[list[list[tuple[str, bool]]], list[list[str]], str, list[int] | None, tuple[str, list[str]] | None]
_Occurrence = tuple[str, list[int], list[tuple[str, bool]], int | None]
_Interval = tuple[str, int, list[str], int, int | None, int, list[tuple[str | None, tuple[int, str, str] | None]] | None]
_Fields = list[Value | list[Value]]

@final
class LookupTable:
    """Rows by their keys, with these columns, that decoders look up; it begins without rows. Safe for threads."""

    def __new__(cls, columns: Sequence[str]) -> LookupTable: ...
    def replace(self, rows: TableBuilder) -> None:
        """Take these rows in the place of all that are there; the builder is spent.

        Raises:
            ValueError: the rows have another number of columns, or are in a table.
        """

    @property
    def rows(self) -> int:
        """How many rows there are to be found: one for each key, or all if rows have times."""

    @property
    def bytes(self) -> int:
        """Bytes of memory that they take, about."""

@final
class MatchBatch:
    """Matches in order of detection; wrapped by `graphtide_native.matcher.MatchBatch`."""

    def __len__(self) -> int: ...
    def to_json_lines(self, start: int, size: int) -> tuple[bytes, int]:
        """Return match records from `start` on as JSON Lines, about `size` bytes, and the place of the next match."""

    def counts(self, start: int) -> list[tuple[int, str, int]]:
        """Return how many matches there are from `start` on, by pattern and kind."""

    def held_bytes(self) -> int:
        """Return how many bytes it holds."""

    def field_kinds(self, layout: TableLayout) -> list[int]:
        """Return what kinds of values each field of a table has here, as bits: see `graphtide_native.match_tables`."""

    def table_rows(self, layout: TableLayout, types: list[str | None], start: int) -> object:
        """Return matches from `start` on as a record batch of pyarrow, fields with these types; those of None are left out."""

    def records(self) -> list[tuple[int, str, str, int, int, bytes]]:
        """Return pattern, kind, id, time of detection, place in its instant and record as JSON of every match."""

    def rows(self) -> list[tuple[_Head, _Assignment | _Component | _Occurrence | _Interval, _Fields]]:
        """Return the matches as tuples, with what their patterns return.

        Pattern, kind, shed, times of detection, first and last edge, ids of edges, places of those made, names of vertices.
        """

@final
class TableBuilder:
    """Rows on their way into a table, with so many columns."""

    def __new__(cls, columns: int, has_times: bool, most_rows: int, most_bytes: int) -> TableBuilder: ...
    def add(self, rows: EdgeBatch) -> None:
        """Add rows in the order of their file: their ids are keys, their times those from which they hold.

        Raises:
            UnreadableStreamError: a row has no key, or there are more rows or bytes than the limits.
        """

@final
class TableLayout:
    """The columns of a table of matches; made by `graphtide_native.match_tables`."""

    def __new__(
        cls,
        unit: str,
        named: list[tuple[str, bool]],
        families: tuple[bool, bool, bool],
        fields: list[str],
        queries: list[str],
        labels: list[str],
        patterns: list[tuple[int, int, list[tuple[int | None, list[int]]], list[int]]],
    ) -> TableLayout: ...

@final
class ResultEdges:
    """The results of graph queries as edges; wrapped by `graphtide_native.edge_lines.EdgeLines`."""

    def __new__(cls) -> ResultEdges: ...
    def lines(self, batch: MatchBatch) -> bytes:
        """Return the edges and deletions of reported results as JSON Lines."""

@final
class ResultsAt:
    """The results of graph queries that are valid at an instant; wrapped by `graphtide_native.results_at.ResultsAt`."""

    def __new__(cls, at: int) -> ResultsAt: ...
    def take(self, batch: MatchBatch, start: int) -> bool:
        """Take reports of results from `start` on; return whether one was after the instant. Such reports are ignored."""

    def results(self) -> MatchBatch:
        """Return the results that are valid at the instant."""

@final
class Matcher:
    """The engines of many patterns; wrapped by `graphtide_native.matcher.Matcher`."""

    def __new__(
        cls,
        patterns: bytes,
        symbols: Symbols,
        deletions: bool,
        adaptive: bool,
        traced: int | None,
        work: int | None,
        slice_seconds: float,
    ) -> Matcher: ...
    def push(self, batch: EdgeBatch, start: int, most: int, budget: int | None) -> bool:
        """Begin to take records from `start`; say whether that is done, else let it continue."""

    def finish(self, most: int) -> bool:
        """Begin to take the end of the stream; say whether that is done. What came of it is that of a push."""

    def found(self) -> list[MatchBatch]:
        """Take what the work under way found before it is done, in parts of about as many matches as was asked for."""

    def pushed(self) -> tuple[MatchBatch, int, tuple[str, str] | None, bool, int] | None:
        """Take what came of a push, if it is done and was not taken.

        Returns:
            Matches, how many records were taken, the limit that stopped the run, whether it was ended early, steps.
        """

    def go_on(self) -> bool:
        """Give the work under way another turn; say whether it is done.

        Raises:
            RuntimeError: another thread began it.
        """

    def stop(self) -> None:
        """End the work under way; its answer says how far it came."""

    def refill(self, records: int) -> None:
        """Refill every work budget as so many records do."""

    def find_partial_matches(self, number: int, most: int, budget: int) -> bool:
        """Begin to look for the partial matches of a pattern that are nearest to completion; return whether that is done."""

    def partial_matches(self) -> bytes | None:
        """Take what was found of them, as JSON; None if there is no such pattern, or it was taken."""

    def totals(self) -> dict[str, int]:
        """Return the counts of the whole pass."""

    def add(
        self,
        pattern: bytes,
        unreported: Sequence[EdgeBatch],
        reported: Sequence[EdgeBatch],
        has_begun: bool,
        consumption: tuple[int, int] | None,
    ) -> bool:
        """Begin to add a pattern with its unreported and its reported past; return whether that is done."""

    def added(self) -> int:
        """Take the number of the pattern that was added.

        Raises:
            ValueError: the matcher takes no patterns while it runs.
            RuntimeError: none was.
        """

    def add_graph(self, query: bytes, unreported: Sequence[EdgeBatch], reported: Sequence[EdgeBatch]) -> bool:
        """Begin to add a graph query with its past; say whether that is done; then see `added`."""

    def add_unit(self, unit: bytes, unreported: Sequence[EdgeBatch], reported: Sequence[EdgeBatch]) -> bool:
        """Begin to add event patterns as a unit, with their past; say whether that is done."""

    def added_unit(self) -> list[int]:
        """Take the numbers of the patterns that were added, or have another plan. Raises ValueError where they cannot."""

    def regroup(self, unit: bytes) -> bool:
        """Begin to let one unit have event patterns that have numbers; say whether that is done; then see `replanned`."""

    def remove(self, number: int) -> None:
        """Remove a pattern.

        Raises:
            ValueError: there is none of that number, or the matcher keeps its patterns.
        """

    def replan(self, number: int, pattern: bytes) -> bool:
        """Begin to give a pattern another plan, warmed by a replay of the window; say whether that is done."""

    def replan_graphs(self, queries: bytes, past: Sequence[EdgeBatch]) -> bool:
        """Begin to give graph queries other plans, with their past; say whether that is done; then see `added_unit`."""

    def replanned(self) -> bool:
        """Return whether the patterns have the plan; False if it reached a limit and the old one stays. Raises ValueError."""

    def patterns(self) -> list[dict[str, Any]]:
        """Return the counts of every pattern."""

    def sharing(self, number: int) -> tuple[int, int, int] | None:
        """Return the look-ups of a pattern's searches, those shared, and with how many others; None if none are."""

    def changed(self, most: int) -> list[tuple[int, dict[str, Any]]]:
        """Return counts that are others than when they were returned last, with the numbers of their patterns."""

    def probe(self, is_from_scratch: bool) -> None:
        """Time the verifications of dual simulation from now on."""

    def simulation_work(self, number: int) -> dict[str, int] | None:
        """Return what a pattern's engine of dual simulation did."""

    def shed(self) -> list[int]:
        """Return the numbers of the patterns whose matches may be incomplete."""

    def selected(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the records of the batch that was pushed last that the patterns' state can depend on."""

    def selected_by_queries(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the records of the batch that was pushed last that the state of graph queries can depend on."""

    def wait(self, number: int, consumption: tuple[int, int] | None) -> None:
        """Let a pattern's matches not count until it begins; it had consumed so much, if it consumes and that is known."""

    def begin(self, number: int) -> bool:
        """Begin to let a pattern's matches count; say whether that is done."""

    def take_deduplication(self, number: int, other: Matcher, of: int) -> None:
        """Continue a pattern's deduplication from the same pattern of another matcher at the same position."""

    def consumption(self, number: int) -> tuple[int, int] | None:
        """Return how far a pattern has consumed, if it consumes and has begun."""

    def pass_time(self, watermark: int, most: int) -> bool:
        """Begin to take it that no record before a time follows; say whether that is done. What came is that of a push."""

    def advance(self, now: int, most: int) -> bool:
        """Begin to take it that the stream is at a time; say whether that is done. What came of it is that of a push."""

    def count_from(self, number: int) -> None:
        """Take it that so many edges of the stream came before the next record, deletions not counted."""

    def mark_shed(self, number: int) -> None:
        """Mark a pattern's matches as incomplete from now on."""

    def ask(self, ids: list[str]) -> None:
        """Have traced patterns under dual simulation answer what became of edges of these ids."""

    def funnels(self) -> list[NativeFunnel] | None:
        """Return the trace of every pattern; None if they are not traced."""

@final
class Occurrences:
    """Occurrences of event patterns, in the order in which they were found."""

    def __len__(self) -> int: ...
    @property
    def matches(self) -> int:
        """Matches that were reported, with those that are only counted."""

    def rows(self) -> list[tuple[int, int, str, int, int, list[list[tuple[str, str]]], _Fields]]:
        """Return pattern, branch, kind, time, count, type and id of each event of each slot, and what is returned."""

@final
class OrderScan:
    """Looks at the times of a text alone: whether its records are surely in order of time; a no says nothing."""

    @staticmethod
    def fields(delimiter: int, before: int, quote: int | None, numbers: bool) -> OrderScan:
        """Prepare for rows without their header: the byte between fields, how many come before the time, the quote.

        `numbers` says whether a number is a time.
        """

    @staticmethod
    def json(name: str, numbers: bool) -> OrderScan:
        """Prepare for JSON Lines with times under a name of letters, digits and underscores."""

    def feed(self, block: bytes) -> bool:
        """Look at the next block; return whether all is surely in order so far."""

    def finish(self) -> bool:
        """Look at a last line without an end; return the same."""

@final
class RawBatchDecoder(Decoder):
    """Decoder of what `EdgeBatch.to_raw_batch` returns, or of Arrow IPC that somebody else wrote for the raw topic.

    Each piece is one stream; records have its lines and ordinals, and their bytes if it has them. A row has at least 16 bytes
    of its piece, and a piece takes up to 1,048,576 ordinals and has up to 2,000 columns.
    """

    def __new__(cls, symbols: Symbols, attributes: Sequence[str], ticks_per_second: int = 1000) -> RawBatchDecoder: ...

@final
class Sequencer:
    """Puts records in the order (ts, arrival), waiting `lateness` ticks for late ones.

    A record below the watermark (greatest `ts` so far less the lateness) when it arrives is rejected. At most `max_pending`
    records wait; past that the oldest go early, and what would have gone before them is rejected.
    """

    def __new__(cls, lateness: int = 0, max_pending: int = ...) -> Sequencer: ...
    def push(self, batch: EdgeBatch) -> EdgeBatch:
        """Return what may go: the same object if `batch` is in order and nothing has to wait."""

    def advance(self, bound: int | None) -> EdgeBatch | None:
        """Let the watermark go no further than `bound` less the lateness, or where None as far as records do.

        For several producers that fill one stream: the bound is how far the slowest has come. The watermark never goes back.

        Returns:
            What may go now; None if there never was a batch.
        """

    def set_lateness(self, lateness: int) -> EdgeBatch | None:
        """Wait from now on for records that are late by so much. The watermark does not go back.

        Returns:
            What may go now; None if there never was a batch.
        """

    def settle(self, watermark: int) -> EdgeBatch | None:
        """Set the watermark, unless it is past that already; return what may go now, None if there never was a batch."""

    def reach(self, ts: int) -> EdgeBatch | None:
        """Note that the stream has come to a time elsewhere; return what may go now, None if there never was a batch."""

    def relieve(self, most: int) -> EdgeBatch | None:
        """Set the watermark as far on as it takes for at most `most` records to wait, those of one time going together.

        Returns:
            What may go now; None if there never was a batch.
        """

    def finish(self) -> EdgeBatch | None:
        """Return all that still waits; None if there never was a batch."""

    def lay_out(self, attributes: Sequence[str]) -> None:
        """Give the records that wait exactly these attributes; the next batches have them first, in this order."""

    def take_dead_letters(self) -> list[tuple[int, str, bytes]]:
        """Return (line, reason, bytes) of late records since the last call; fields as JSON where bytes were not kept."""

    @property
    def forced(self) -> int:
        """Records that went early, because too many waited."""

    @property
    def late(self) -> int:
        """Records rejected so far."""

    @property
    def pending(self) -> int:
        """Records that wait."""

    @property
    def watermark(self) -> int | None:
        """Greatest `ts` so far, up to the bound, less the lateness, or what it was set to; None before the first record."""

@final
class StatementDecoder(Decoder):
    """Decoder of records that a STREAM statement reads.

    A record gives one row or several, in the order of the statement's clauses, with one ordinal and one line. Ids that are made
    have the number of the clause as suffix, `17#2`, if there are several. An update is a deletion and an insert.

    `definition` is the JSON of `graphtide_wire.stream_definition.encode_definition`; what it says of the format wins over
    `format` and `form`. `zones` has the clocks of every zone that it names: changes, and until when they are known, as a
    `TimeForm` has them. `types` are those of the attributes. `discovered` has the names that a SET states and nobody asked for.
    `schemas` gives the schema that a message of Avro names by a number: its text. It raises `UnreadableStreamError` if there is
    none. If the schema cannot be had now, it raises `TransientError`, and so does the decoder. `tables` has every table that
    the statement joins, with the columns that it reads. Records see one that is replaced from then on.
    """

    def __new__(
        cls,
        symbols: Symbols,
        attributes: Sequence[str],
        definition: bytes,
        *,
        format: str,
        zones: Mapping[str, tuple[Sequence[tuple[int, int]], int]],
        form: RecordForm | None = None,
        types: Mapping[str, str] | None = None,
        keep_raw: bool = False,
        substitutes: bool = False,
        schemas: Callable[[int], bytes] | None = None,
        tables: Mapping[str, LookupTable] | None = None,
    ) -> StatementDecoder: ...
    def check_columns(self, schema: object) -> None:
        """Check the columns of the next record batches, as `ArrowDecoder` does."""

    def decode_rows(self, rows: object) -> EdgeBatch:
        """Decode a record batch in memory, as `ArrowDecoder` does, if the format is `arrow` or `parquet`."""

@final
class Statistics:
    """Running statistics of a stream; wrapped by `graphtide_native.statistics.StreamStatistics`."""

    def __new__(cls, symbols: Symbols, window: int | None, tumbling: bool, paths: bool, deletions: bool) -> Statistics: ...
    def push(self, batch: EdgeBatch, classes: Sequence[int] | None, most: int) -> list[_StatisticsRow]:
        """Count the first `most` records of a batch, which have these classes; return the tumbling windows that ended."""

    def snapshot(self) -> _StatisticsRow:
        """Return the statistics of the window as it is."""

_StatisticsRow = tuple[
    tuple[int, int] | None,
    tuple[int, int] | None,
    int,
    tuple[int, int, int, int],
    tuple[int, int, int, int],
    list[tuple[str, str, str, int, int]],
    tuple[bytes, bytes] | None,
]
"""Times of the first record and the newest; of the first live edge and the last; vertices. Then for the out-degrees, and
then for the in-degrees: vertices above zero, sum, sum of squares, greatest. Then types as labels of source, edge and target,
class and count. Then paths as `PathCounts.of_sorted` takes them: keys and counts."""

@final
class Symbols:
    """A table of labels and their numbers; one serves a stream's decoder and its matcher."""

    def __new__(cls) -> Symbols: ...
    def __len__(self) -> int: ...
    def learn(self, name: str) -> None:
        """Give a name a number, so that there is room for it whatever comes later."""

def check_graph_query(query: bytes) -> None:
    """Raise ValueError where a matcher would not take a graph query with its plan."""

def check_pattern(pattern: bytes) -> None:
    """Raise ValueError where a matcher would not take a pattern with its plan."""

def last_of_ascending(rows: object, newest: int) -> int | None:
    """Return the last time of a record batch whose first column has times that are at least `newest` and ascend.

    None if that is not sure: they do not, or the column is of another type.
    """

def python_lists(rows: object) -> list[list[Any] | None]:
    """Return the values of each column of a record batch, times as ticks; None for a column of a type that no match has."""

def check_unit(unit: bytes) -> None:
    """Raise ValueError where a matcher would not take event patterns with their plan as a unit."""
