"""A raw record as edges and dead letters.

Invariant: what comes out depends on the record and its first ordinal alone. So a record that is read again gives the same edges
with the same ids. A decoder serves one record, because it counts lines.

Attributes are found as they come up. Their list only grows, so an older batch has the first columns of a newer one and the
sequencer can mix them. Cost: one pass of the decoder, one more for a record that has new attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import PoisonRecordError, UnreadableStreamError
from graphtide_native.records import CsvDecoder, JsonLinesDecoder, Symbols, take_dead_letters
from graphtide_wire import raw
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.raw import RawEdges, RawFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_core.ports.log import Record
    from graphtide_native.records import Decoder, EdgeBatch

MOST_ATTRIBUTES: Final = 1_000
"""Attributes of a stream that are kept: a sender that invents names without end must not fill memory."""

LONGEST_TRACEPARENT: Final = 100
"""Characters of a trace's name; a longer one is none."""

_COLUMNS: Final = frozenset({"ts", "src", "dst", "label", "src_label", "dst_label", "id", "op"})


@dataclass(frozen=True, slots=True)
class Refused:
    """A part of a raw record that cannot be used; `line` is 1-based in what its sender sent, if that is known."""

    code: ErrorCode
    reason: str
    raw: bytes
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """A raw record, read.

    Attributes:
        edges: those that can be used; None where the record as a whole cannot.
        refused: the others.
        ordinals: how many ordinals the record takes: one for each edge, good or bad.
        producer: who sent it, if it said so.
        content_type: how its edges are written, as far as that could be told.
        lines_before: what is to be added to a line that the decoder names to have the line in what the sender sent.
        traceparent: trace it belongs to.
    """

    edges: EdgeBatch | None
    refused: tuple[Refused, ...]
    ordinals: int = 0
    producer: str | None = None
    content_type: str | None = None
    lines_before: int = 0
    traceparent: str | None = None


class RawDecoder:
    """Reads the raw records of one stream."""

    def __init__(self) -> None:
        """Start with no attribute known."""
        self._symbols = Symbols()
        self._attributes: list[str] = []

    @property
    def attributes(self) -> list[str]:
        """The attributes found so far, in the order in which they were."""
        return list(self._attributes)

    def decode(self, record: Record, ordinal: int) -> Decoded:
        """Read a record whose first edge has this ordinal."""
        try:
            edges = raw.decode(record)
            traceparent = edges.traceparent if len(edges.traceparent or "") <= LONGEST_TRACEPARENT else None
        except PoisonRecordError as error:
            return Decoded(None, (Refused(ErrorCode.MALFORMED, error.reason, record.value or b""),))
        header_lines = 1 if edges.format is RawFormat.CSV else 0
        lines_before = (edges.line or 1) - 1 - header_lines
        try:
            batch, letters, following = self._read(edges, ordinal)
        except UnreadableStreamError as error:
            refused = Refused(ErrorCode.MALFORMED, str(error), record.value or b"", edges.line)
            return Decoded(None, (refused,), 0, edges.producer, edges.format.value, lines_before, traceparent)
        return Decoded(
            edges=batch,
            refused=tuple(Refused(code_of(each.reason), each.reason, each.raw, each.line + lines_before) for each in letters),
            ordinals=following - ordinal,
            producer=edges.producer,
            content_type=edges.format.value,
            lines_before=lines_before,
            traceparent=traceparent,
        )

    def _read(self, edges: RawEdges, ordinal: int) -> tuple[EdgeBatch, list[DeadLetter], int]:
        """Return the edges, what was put aside, and the ordinal after the last."""
        decoder = self._decoder(edges)
        found = _run(decoder, edges, ordinal)
        while self._learn(decoder.discovered()):
            decoder = self._decoder(edges)
            found = _run(decoder, edges, ordinal)
        return found, take_dead_letters(decoder), decoder.ordinal()

    def _decoder(self, edges: RawEdges) -> Decoder:
        if edges.format is RawFormat.JSON_LINES:
            return JsonLinesDecoder(self._symbols, self._attributes, {}, keep_raw=True, discover=True)
        # A header has to be read to know its names; a decoder that is asked for none reads it.
        header = CsvDecoder(self._symbols, [], {})
        header.decode(_header(edges))
        self._learn(header.columns() or [])
        return CsvDecoder(self._symbols, self._attributes, {}, keep_raw=True)

    def _learn(self, names: Sequence[str]) -> bool:
        """Add what is new; return whether anything was."""
        new = [name for name in dict.fromkeys(names) if name not in self._attributes and name not in _COLUMNS]
        room = MOST_ATTRIBUTES - len(self._attributes)
        self._attributes += new[:room]
        return bool(new[:room])


def code_of(reason: str) -> ErrorCode:
    """Return the code for a decoder's reason."""
    if reason.startswith("op "):
        return ErrorCode.UNKNOWN_OPERATION
    too_long = reason.startswith("the record is longer than ") or reason.endswith(" are allowed")
    return ErrorCode.TOO_LARGE if too_long else ErrorCode.MALFORMED


def _header(edges: RawEdges) -> bytes:
    """Return the header line.

    Raises:
        UnreadableStreamError: it is none: edges would be read as one, or what is in it as edges.
    """
    columns = (edges.columns or "").strip()
    if not columns or "\n" in columns:
        message = "the columns are not one header line"
        raise UnreadableStreamError(message)
    return columns.encode() + b"\n"


def _run(decoder: Decoder, edges: RawEdges, ordinal: int) -> EdgeBatch:
    decoder.start_at(ordinal)
    if edges.format is RawFormat.CSV:
        decoder.decode(_header(edges))
    batch = decoder.decode(edges.body)
    rest = decoder.finish()
    if not len(rest):
        return batch
    return batch.followed_by([rest]) if len(batch) else rest
