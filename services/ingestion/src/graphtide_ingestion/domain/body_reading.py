"""A body of edges, read block by block: good edges to pass on, bad ones for the dead letters.

Good edges keep their bytes, lines and ordinals. A passage is handed on as a batch, so that the sequencer need not decode it
again. It is handed on as text in four cases. It has few edges, whose batch would be larger; it has attributes that were not
decoded. Or a known column looks like texts, or its values would take too much memory. Text is handed on as it came, with two
exceptions. The header line gets the canonical names, and each rejected edge gets a substitute on its line, because a reader of
the text counts it.
Cost: one pass of the decoder.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from graphtide_core.errors import PoisonRecordError, UnreadableStreamError
from graphtide_core.ports.log import Record
from graphtide_native.decoders import Decoding, decoder_of
from graphtide_native.records import SUBSTITUTE, JsonLinesDecoder, take_dead_letters
from graphtide_ordering.raw_decoding import MOST_ATTRIBUTES, Refused
from graphtide_wire import raw
from graphtide_wire.dead_letters import ErrorCode, code_of

from graphtide_ingestion.domain.stream_types import RECORD_COLUMNS, StreamTypes, seen_in_columns, seen_in_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.formats import StreamFormat
    from graphtide_native.records import Decoder, EdgeBatch
    from graphtide_wire.stream_schema import Kind

MOST_EDGE_BYTES: Final = 512 * 1024
"""Bytes of one edge."""


MOST_HEADER_CHARACTERS: Final = 16 * 1024
"""Characters of a header line, which goes with every passage."""

SETTLED_BY: Final = 256 * 1024
"""Bytes at the beginning of a body with a header line that settle what its columns are."""

_HEADER_BYTES: Final = 64 * 1024


LEAST_BATCH: Final = 2048
"""A batch of so many edges costs no more than their text, even with its larger record in the log (ADR 37)."""

MOST_VALUES: Final = 1024 * 1024
"""Values of attributes that a passage has in memory at most, of 16 bytes each, those that are missing included."""

_MOST_BATCH_BYTES: Final = 2 * 1024 * 1024
_OF_EDGES: Final = frozenset({"src", "dst", "label"})
_TYPE: Final = "type"
_MARK: Final = "graphtide."
"""Begins the names of columns that a batch has beside attributes."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Edges to pass on: they begin with line `line` of the body, and are `edges` many, or none but substitutes.

    The body is a batch or text. `columns` is the header line of a text whose format has one, and `types` has types of
    attributes, as raw edges do.
    """

    body: bytes
    edges: int
    line: int
    format: StreamFormat
    columns: str | None = None
    types: str | None = None
    is_batch: bool = False


class BodyReader:
    """Reads a body in a text format.

    The beginning of one with a header line is held until it has settled what its columns are, unless all of that is known. Then
    blocks are held until they are as large as a passage.

    Attributes:
        accepted: edges passed on so far.
        seen: attributes in the beginning of the body, and what they are.
        writes_letters: whether what it rejects is a dead letter by that: it is not passed on.
        filtered: records that are not of the stream: none, since no statement says which are.
        statement: the version from which on the stream has no statement any more; None if it never had one.
    """

    writes_letters: ClassVar[bool] = True
    filtered: ClassVar[int] = 0

    def __init__(
        self,
        format: StreamFormat,
        columns: Mapping[str, str] | None = None,
        most_bytes: int = MOST_EDGE_BYTES,
        *,
        substitutes: bool = False,
        types: StreamTypes | None = None,
        least_batch: int | None = LEAST_BATCH,
        statement: int | None = None,
    ) -> None:
        """Read one body.

        Args:
            format: how it is written.
            columns: the body's own names of fields by canonical names (`ts`, `src`, …); those left out are canonical.
            most_bytes: bytes of a passage's text, about; a larger edge is rejected.
            substitutes: whether it may have substitutes already, for edges that were rejected before.
            types: what is known of the stream's attributes.
            least_batch: least edges of a passage that becomes a batch; None passes all on as text.
            statement: the version from which on the stream has no statement any more.

        Raises:
            UnreadableStreamError: a canonical name is unknown.
        """
        self.accepted = 0
        self.statement = statement
        self.seen: dict[str, Kind] = {}
        self._format = format
        self._types = types or StreamTypes()
        self._names = dict(columns or {})
        self._renamed = {own: canonical for canonical, own in (columns or {}).items()}
        self._attributes: list[str] = []
        self._least_batch = least_batch
        self._decoder = self._decoder_of([])
        self._beginning: bytearray | None = bytearray()
        self._reported: str | None = None
        self._most_bytes = most_bytes
        self._substitutes = substitutes
        self._columns: str | None = None
        self._line = 1
        self._ordinal = 0
        self._blocks: list[bytes] = []
        self._held_bytes = 0

    def push(self, block: bytes) -> tuple[list[Passage], list[Refused]]:
        """Take a block; return what is ready to be passed on, and what was rejected.

        Raises:
            UnreadableStreamError: the body as a whole is not what it claims to be.
        """
        if self._beginning is not None:
            self._beginning += block
            if not self._is_enough(self._beginning, len(block)):
                return [], []
            block, self._beginning = bytes(self._beginning), None
            self._look(block)
        held = b""
        if self._held_bytes + len(block) > self._most_bytes:
            held = self._held()
        self._blocks.append(block)
        self._held_bytes += len(block)
        return self._read(held) if held else ([], [])

    def finish(self) -> tuple[list[Passage], list[Refused]]:
        """Take the end of the body.

        Raises:
            UnreadableStreamError: as `push`.
        """
        if self._beginning is not None:
            block, self._beginning = bytes(self._beginning), None
            self._look(block)
            self._blocks.append(block)
        return self._read(self._held(), is_last=True)

    def _held(self) -> bytes:
        """Return what is held, and hold nothing."""
        held = b"".join(self._blocks)
        self._blocks, self._held_bytes = [], 0
        return held

    def _read(self, text: bytes, *, is_last: bool = False) -> tuple[list[Passage], list[Refused]]:
        """Decode what was held."""
        has_all = self._project(text)
        batch = self._decoder.decode(text)
        if is_last and len(tail := self._decoder.finish()):
            batch = batch.followed_by([tail])
        return self._taken(batch, is_whole=not self._discover() and has_all)

    def _project(self, text: bytes) -> bool:
        """Decode all attributes that are known if they are not too many for this text; return whether it is so."""
        if self._least_batch is None:
            return False
        fits = (text.count(b"\n") + 1) * len(self._attributes) <= MOST_VALUES
        if isinstance(self._decoder, JsonLinesDecoder):
            self._decoder.project(self._attributes if fits else [])
        return fits

    def _discover(self) -> bool:
        """Decode from now on what the text had beside what was decoded; return whether there was something."""
        new = [name for name in self._decoder.discovered() if name not in self._attributes]
        self._ask_for([*self._attributes, *new])
        return bool(new)

    def _ask_for(self, attributes: Iterable[str]) -> None:
        """Decode these attributes from now on, if a batch can have them: else all is handed on as text."""
        self._attributes = list(attributes)
        # Which events have an attribute `type` depends on the edges of the stream, which the sequencer alone knows.
        if len(self._attributes) > MOST_ATTRIBUTES or any(name == _TYPE or name.startswith(_MARK) for name in self._attributes):
            self._least_batch = None

    def _is_enough(self, beginning: bytearray, new: int) -> bool:
        """Return whether the beginning can be decoded: it shows the types of all columns, or they are known."""
        if not self._format.has_header or len(beginning) >= SETTLED_BY:
            return True
        end = beginning.find(b"\n")
        if end < 0 or end < len(beginning) - new:
            return False
        names = self._header_names(bytes(beginning[: end + 1]))
        return names is not None and self._types.know(names)

    def _header_names(self, line: bytes) -> list[str] | None:
        """Return the names in a header line; none if it is damaged, None if it is not complete."""
        header = decoder_of(self._format, Decoding(columns=self._names))
        try:
            header.decode(line)
        except UnreadableStreamError:
            return []
        names = header.columns()
        return None if names is None else [self._renamed.get(name, name) for name in names]

    def _look(self, beginning: bytes) -> None:
        """Find out what the attributes are."""
        if not self._format.has_header:
            self.seen = seen_in_json(beginning, self._types.read)
            # A declared attribute is not discovered.
            self._ask_for({**self._types.refusing, **self.seen})
            return
        header = decoder_of(self._format, Decoding(columns=self._names))
        try:
            header.decode(beginning[:_HEADER_BYTES])
        except UnreadableStreamError:
            self._least_batch = None
            return
        names = header.columns() or []
        if not self._types.know(self._renamed.get(name, name) for name in names):
            self.seen = seen_in_columns(self._format, beginning, names, self._names, self._types.of_csv, read=self._types.read)
        self._ask_for_columns(names)

    def _ask_for_columns(self, names: list[str]) -> None:
        """Decode all columns of a header line, if the sequencer could read them."""
        canonical = [self._renamed.get(name, name) for name in names]
        columns = RECORD_COLUMNS if _OF_EDGES & set(canonical) else RECORD_COLUMNS | {_TYPE}
        self._ask_for(name for name in canonical if name not in columns)
        if not names or len(set(canonical)) < len(canonical):
            self._least_batch = None
        if self._least_batch is not None:
            self._decoder = self._decoder_of(self._attributes)

    def _decoder_of(self, attributes: list[str]) -> Decoder:
        known = self._types.of_csv if self._format.has_header else self._types.refusing
        asked = Decoding(attributes=attributes, columns=self._names, types=known, settle=True, keep_raw=True, discover=True)
        return decoder_of(self._format, asked)

    def _taken(self, batch: EdgeBatch, *, is_whole: bool) -> tuple[list[Passage], list[Refused]]:
        """Return passages of what was decoded, which is all that the text has if it `is_whole`, and what was rejected."""
        letters = take_dead_letters(self._decoder)
        rejected = deque(each.line for each in letters)
        refused = [
            Refused(code_of(each.reason), each.reason, each.raw, each.line)
            for each in letters
            if not (self._substitutes and each.raw == SUBSTITUTE)
        ]
        if self._format.has_header and self._columns is None and (names := self._decoder.columns()) is not None:
            self._columns = _header([self._renamed.get(name, name) for name in names])
            if len(self._columns) > MOST_HEADER_CHARACTERS:
                message = f"the header line has more than {MOST_HEADER_CHARACTERS} characters"
                raise UnreadableStreamError(message)
            self._line = 2
            settled = [name for name, _, _ in self._decoder.settled()]
            texts: dict[str, Kind] = {name: "string" for name in settled if not self._types.know([name])}
            if any(name not in texts and name not in self._types.of_csv for name in settled):
                # The decoder read a known column as texts; in the stream each of its values has the type that it looks like.
                self._least_batch = None
            self.seen |= texts
            declared = {name: kind for name, kind in {**texts, **self._types.of_csv}.items() if name in names}
            self._reported = msgspec.json.encode(declared, order="sorted").decode() if declared else None
        parts = list(self._parts(batch))
        if too_large := [part for part in parts if self._is_too_large(part)]:
            refused += (found := [self._too_large(part) for part in too_large])
            rejected = deque(sorted([*rejected, *(each.line or 0 for each in found)]))
            first, *others = [part for part in parts if not self._is_too_large(part)] or [batch.part(0, 0)]
            parts = list(self._parts(first.followed_by(others)))
        passages: list[Passage] = []
        for number, part in enumerate(parts, 1):
            end = part.next_line or self._line
            if number == len(parts) and rejected:
                end = max(end, rejected[-1] + 1)
            lines = [rejected.popleft() for _ in range(len(rejected)) if rejected[0] < end]
            passages += self._passage(part, lines, end, is_whole=is_whole)
        return passages, refused

    def _is_too_large(self, part: EdgeBatch) -> bool:
        return len(part) == 1 and part.raw_bytes - 1 > self._most_bytes

    def _too_large(self, part: EdgeBatch) -> Refused:
        """Return the only edge of a part as a rejected one."""
        text = part.raw_text(self._line)
        line = self._line + len(text) - len(text.lstrip(b"\n"))
        return Refused(ErrorCode.TOO_LARGE, f"the edge is longer than {self._most_bytes} bytes", text.strip(b"\n"), line)

    def _parts(self, batch: EdgeBatch) -> Iterator[EdgeBatch]:
        """Yield parts whose text fits a passage, as far as edges do by themselves."""
        if len(batch) < 2 or batch.raw_bytes <= self._most_bytes:
            yield batch
            return
        middle = len(batch) // 2
        yield from self._parts(batch.part(0, middle))
        yield from self._parts(batch.part(middle, len(batch)))

    def _passage(self, part: EdgeBatch, rejected: list[int], end: int, *, is_whole: bool) -> list[Passage]:
        """Return the lines from where the last passage ended to before `end`, if there are any: edges, and rejected ones."""
        edges, line, ordinal = len(part), self._line, self._ordinal
        self._line, self._ordinal = end, ordinal + edges + len(rejected)
        self.accepted += edges
        if is_whole and self._least_batch is not None and edges >= self._least_batch:
            body = part.to_raw_batch(line, ordinal, edges + len(rejected))
            if len(body) <= _MOST_BATCH_BYTES:
                return [Passage(body, edges, line, self._format, is_batch=True)]
        text = _with_substitutes(part.raw_text(line), line, rejected, end)
        return [Passage(text, edges, line, self._format, self._columns, self._reported)] if text else []


def _with_substitutes(text: bytes, first: int, rejected: list[int], end: int) -> bytes:
    """Return the text, which begins with a line, with substitutes for rejected edges, as far as the last of its lines."""
    if not rejected:
        return text
    text += b"\n" * (end - first - text.count(b"\n"))
    lines = text.split(b"\n")
    for line in rejected:
        if first <= line and not lines[line - first]:
            lines[line - first] = SUBSTITUTE
    return b"\n".join(lines)


def events_as_lines(body: bytes) -> tuple[bytes, list[Refused]]:
    """Return the edges of a batch of CloudEvents, and the events that have none, with substitutes for them.

    Lines of what is refused are places in the batch.

    Raises:
        PoisonRecordError: the body is not a batch.
    """
    try:
        events = msgspec.json.decode(body, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = f"no batch of CloudEvents: {error}"
        raise PoisonRecordError(reason, body) from error
    lines: list[bytes] = []
    refused: list[Refused] = []
    for place, event in enumerate(events, 1):
        try:
            lines += event_as_lines(bytes(event)).splitlines()
        except PoisonRecordError as error:
            refused.append(Refused(ErrorCode.MALFORMED, error.reason, bytes(event), place))
            lines.append(SUBSTITUTE)
    return b"\n".join(lines), refused


def event_as_lines(
    body: bytes, content_type: str = "application/cloudevents+json", reported: tuple[tuple[str, bytes], ...] = ()
) -> bytes:
    """Return the edges of one CloudEvent or of one JSON value, one a line; `reported` are the headers of a binary CloudEvent.

    Raises:
        PoisonRecordError: there are none.
    """
    record = Record("", 0, 0, 0, None, body, (("content-type", content_type.encode()), *reported))
    return raw.decode(record).body


def _header(names: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()
