"""A body of edges, read block by block: good edges as text to pass on, bad ones aside.

Good edges keep their bytes and their lines: where one was put aside, the text has a line with a substitute, which whoever reads
it counts. What is passed on is the text as it came, so that nothing is written anew; a header line gets the canonical names.
Cost: one pass of the decoder.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.errors import PoisonRecordError, UnreadableStreamError
from graphtide_core.ports.log import Record
from graphtide_native.decoders import Decoding, decoder_of
from graphtide_native.records import SUBSTITUTE, take_dead_letters
from graphtide_ordering.raw_decoding import Refused, code_of
from graphtide_wire import raw
from graphtide_wire.dead_letters import ErrorCode

from graphtide_ingestion.domain.stream_types import StreamTypes, seen_in_columns, seen_in_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_core.formats import StreamFormat
    from graphtide_native.records import EdgeBatch
    from graphtide_wire.stream_schema import Kind

MOST_EDGE_BYTES: Final = 512 * 1024
"""Bytes of one edge."""


MOST_HEADER_CHARACTERS: Final = 16 * 1024
"""Characters of a header line, which goes with every passage."""

SETTLED_BY: Final = 256 * 1024
"""Bytes at the beginning of a body with a header line that settle what its columns are."""

_HEADER_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines to pass on: they begin with line `line` of the body and hold `edges` edges, or none but substitutes.

    Of a format with a header line, `columns` is that line, and `types` says of which attributes what they are, as raw edges do.
    """

    text: bytes
    edges: int
    line: int
    format: StreamFormat
    columns: str | None = None
    types: str | None = None


class BodyReader:
    """Reads a body in a text format.

    The beginning of one with a header line is held until it has settled what its columns are, unless all of that is known.

    Attributes:
        accepted: edges passed on so far.
        seen: attributes in the beginning of the body, and what they are.
    """

    def __init__(
        self,
        format: StreamFormat,
        columns: Mapping[str, str] | None = None,
        most_bytes: int = MOST_EDGE_BYTES,
        *,
        substitutes: bool = False,
        types: StreamTypes | None = None,
    ) -> None:
        """Read one body.

        Args:
            format: how it is written.
            columns: the body's own names of fields by canonical names (`ts`, `src`, …); those left out are canonical.
            most_bytes: bytes of a passage, about; an edge that is larger is put aside.
            substitutes: whether it may have substitutes already, for edges that were put aside before.
            types: what is known of the stream's attributes.

        Raises:
            UnreadableStreamError: a canonical name is none.
        """
        self.accepted = 0
        self.seen: dict[str, Kind] = {}
        self._format = format
        self._types = types or StreamTypes()
        self._names = dict(columns or {})
        self._renamed = {own: canonical for canonical, own in (columns or {}).items()}
        known = self._types.of_csv if format.has_header else self._types.refusing
        self._decoder = decoder_of(format, Decoding(columns=self._names, types=known, settle=True, keep_raw=True))
        self._beginning: bytearray | None = bytearray()
        self._told: str | None = None
        self._most_bytes = most_bytes
        self._substitutes = substitutes
        self._columns: str | None = None
        self._line = 1
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._held_edges = 0
        self._first_line = 1

    def push(self, block: bytes) -> tuple[list[Passage], list[Refused]]:
        """Take a block; return what is ready to be passed on, and what was put aside.

        Raises:
            UnreadableStreamError: the body as a whole is not what it claims to be.
        """
        if self._beginning is not None:
            self._beginning += block
            if not self._is_enough(self._beginning, len(block)):
                return [], []
            block, self._beginning = bytes(self._beginning), None
            self._look(block)
        return self._taken(self._decoder.decode(block))

    def finish(self) -> tuple[list[Passage], list[Refused]]:
        """Take the end of the body.

        Raises:
            UnreadableStreamError: as `push`.
        """
        passages: list[Passage] = []
        refused: list[Refused] = []
        if self._beginning is not None:
            block, self._beginning = bytes(self._beginning), None
            self._look(block)
            passages, refused = self._taken(self._decoder.decode(block))
        more, bad = self._taken(self._decoder.finish())
        return [*passages, *more, *self._passage()], [*refused, *bad]

    def _is_enough(self, beginning: bytearray, new: int) -> bool:
        """Whether the beginning can be decoded: it says all that is to be found out, or nothing is."""
        if not self._format.has_header or len(beginning) >= SETTLED_BY:
            return True
        end = beginning.find(b"\n")
        if end < 0 or end < len(beginning) - new:
            return False
        names = self._header_names(bytes(beginning[: end + 1]))
        return names is not None and self._types.know(names)

    def _header_names(self, line: bytes) -> list[str] | None:
        """Return the names in a header line; none if it is damaged, None if it goes on."""
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
            return
        header = decoder_of(self._format, Decoding(columns=self._names))
        try:
            header.decode(beginning[:_HEADER_BYTES])
        except UnreadableStreamError:
            return
        names = header.columns() or []
        if not self._types.know(self._renamed.get(name, name) for name in names):
            self.seen = seen_in_columns(self._format, beginning, names, self._names, self._types.of_csv, read=self._types.read)

    def _taken(self, batch: EdgeBatch) -> tuple[list[Passage], list[Refused]]:
        letters = take_dead_letters(self._decoder)
        aside = deque(each.line for each in letters)
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
            self._line = self._first_line = 2
            texts: dict[str, Kind] = {name: "string" for name, _, _ in self._decoder.settled() if not self._types.know([name])}
            self.seen |= texts
            declared = {name: kind for name, kind in {**texts, **self._types.of_csv}.items() if name in names}
            self._told = msgspec.json.encode(declared, order="sorted").decode() if declared else None
        passages: list[Passage] = []
        for edges, text in self._texts(batch):
            if edges == 1 and len(text.strip(b"\n")) > self._most_bytes:
                reason = f"the edge is longer than {self._most_bytes} bytes"
                before = len(text) - len(text.lstrip(b"\n"))
                refused.append(Refused(ErrorCode.TOO_LARGE, reason, text.strip(b"\n"), self._line + before))
                kept = b"\n" * before + SUBSTITUTE + b"\n" * (text.count(b"\n") - before)
                passages += self._hold(0, self._with_substitutes(kept, aside))
                continue
            passages += self._hold(edges, self._with_substitutes(text, aside))
        if aside:
            passages += self._hold(0, self._with_substitutes(b"\n" * (aside[-1] + 1 - self._line), aside))
        return passages, refused

    def _with_substitutes(self, text: bytes, aside: deque[int]) -> bytes:
        """Return the text, which begins with the line `_line`, with substitutes for what was put aside in it."""
        end = self._line + text.count(b"\n")
        if not aside or aside[0] >= end:
            return text
        lines = text.split(b"\n")
        while aside and aside[0] < end:
            place = aside.popleft() - self._line
            if place >= 0 and not lines[place]:
                lines[place] = SUBSTITUTE
        return b"\n".join(lines)

    def _hold(self, edges: int, text: bytes) -> list[Passage]:
        """Hold lines that follow; return what is ready to be passed on because of them."""
        passages = self._passage() if self._held_bytes + len(text) > self._most_bytes else []
        self._held.append(text)
        self._held_bytes += len(text)
        self._held_edges += edges
        self._line += text.count(b"\n")
        return passages

    def _texts(self, batch: EdgeBatch) -> Iterator[tuple[int, bytes]]:
        """Yield numbers of edges and their text, in parts that fit a passage, as far as edges do by themselves.

        Each begins with the line that `_line` tells by then.
        """
        text = batch.raw_text(self._line)
        if len(batch) < 2 or len(text) <= self._most_bytes:
            if text:
                yield len(batch), text
            return
        middle = len(batch) // 2
        yield from self._texts(batch.part(0, middle))
        yield from self._texts(batch.part(middle, len(batch)))

    def _passage(self) -> list[Passage]:
        """Return what is held, if anything."""
        held = []
        if self._held:
            text = b"".join(self._held)
            held.append(Passage(text, self._held_edges, self._first_line, self._format, self._columns, self._told))
            self.accepted += self._held_edges
        self._held, self._held_bytes, self._held_edges, self._first_line = [], 0, 0, self._line
        return held


def events_as_lines(body: bytes) -> tuple[bytes, list[Refused]]:
    """Return the edges of a batch of CloudEvents, and the events that have none, with substitutes for them.

    Lines of what is refused are places in the batch.

    Raises:
        PoisonRecordError: the body is no batch.
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
    body: bytes, content_type: str = "application/cloudevents+json", told: tuple[tuple[str, bytes], ...] = ()
) -> bytes:
    """Return the edges of one CloudEvent or of one JSON value, one a line; `told` are headers of a CloudEvent in binary mode.

    Raises:
        PoisonRecordError: there are none.
    """
    record = Record("", 0, 0, 0, None, body, (("content-type", content_type.encode()), *told))
    return raw.decode(record).body


def _header(names: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()
