"""A body for a stream that has a STREAM statement: passed on as it came, and read to answer its sender.

The sequencer reads the text by the statement, as it reads raw records of any origin, and makes the dead letters. So the same
bytes give the same edges with the same ids through HTTP and through the raw topic. Passages end where records end.
Cost: one pass of the decoder, and a copy of the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from graphtide_core import formats
from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import Symbols, take_dead_letters
from graphtide_ordering.raw_decoding import Refused
from graphtide_wire.dead_letters import code_of

from graphtide_ingestion.domain.body_reading import MOST_EDGE_BYTES, MOST_HEADER_CHARACTERS, Passage

if TYPE_CHECKING:
    from graphtide_core.formats import StreamFormat
    from graphtide_ordering.statements import Statement
    from graphtide_wire.stream_schema import Kind

LINES: Final = frozenset({formats.JSON_LINES.value, formats.CSV.value, formats.REGEX.value, formats.SYSLOG.value})
"""Formats whose records are lines, or fields with lines in quotes: a body of them may have any size."""

WHOLE: Final = frozenset({formats.JSON.value, formats.ZEEK.value, formats.XML.value})
"""Formats whose bodies are one raw record."""


class StatementReader:
    """Reads a body by a statement.

    Attributes:
        accepted: edges and events that the body gives so far.
        seen: nothing: what attributes are, the statement says.
        writes_letters: it does not: what it rejects is passed on, and the sequencer makes the dead letters.
        statement: the version of the statement.
        filtered: records that are not of the stream so far.
    """

    writes_letters: ClassVar[bool] = False

    def __init__(self, statement: Statement, format: StreamFormat, most_bytes: int = MOST_EDGE_BYTES) -> None:
        """Read one body that comes in a format, unless the statement states another.

        Args:
            statement: of the stream.
            format: how the body says that it is written.
            most_bytes: bytes of a passage, about; a longer record ends the body.

        Raises:
            UnreadableStreamError: bodies of the stated format cannot be taken.
        """
        name = statement.format_name(format)
        if name not in LINES | WHOLE:
            message = f"the statement of the stream reads {name}, which is taken from files and Kafka, not over HTTP"
            raise UnreadableStreamError(message)
        self.accepted = 0
        self.statement: int | None = statement.version
        self._statement = statement
        self.seen: dict[str, Kind] = {}
        self._decoder = statement.decoder(Symbols(), (), format, {})
        self._needs_header = statement.has_header(format)
        self._quote = statement.quote.encode() if name == formats.CSV.value else b""
        self._is_whole = name in WHOLE
        self._most_bytes = most_bytes
        self._held = bytearray()
        self._columns: str | None = None
        self._line = 1

    @property
    def filtered(self) -> int:  # noqa: D102 - said above
        return self._decoder.filtered()

    def push(self, block: bytes) -> tuple[list[Passage], list[Refused]]:
        """Take a block; return what is ready to be passed on, and what the sequencer will reject.

        Raises:
            UnreadableStreamError: the body as a whole is not what it claims to be, or a record is too long.
        """
        self._held += block
        self._take_header()
        if self._needs_header or len(self._held) < self._most_bytes:
            return [], []
        end = 0 if self._is_whole else self._end_of_records()
        if end == 0:
            what = "a body that is read as a whole" if self._is_whole else f"line {self._line}: a record"
            message = f"{what} is longer than {self._most_bytes:,} bytes"
            raise UnreadableStreamError(message)
        text = bytes(self._held[:end])
        del self._held[:end]
        return self._read(text)

    def finish(self) -> tuple[list[Passage], list[Refused]]:
        """Take the end of the body.

        Raises:
            UnreadableStreamError: as `push`.
        """
        if self._held and not self._held.endswith(b"\n"):
            self._held += b"\n"
        self._take_header()
        text = bytes(self._held)
        self._held.clear()
        return self._read(text, is_last=True)

    def _take_header(self) -> None:
        if not self._needs_header:
            return
        end = self._held.find(b"\n") + 1
        if max(end, len(self._held) if end == 0 else 0) > MOST_HEADER_CHARACTERS:
            message = f"the header line has more than {MOST_HEADER_CHARACTERS} characters"
            raise UnreadableStreamError(message)
        if end == 0:
            return
        line = bytes(self._held[:end])
        del self._held[:end]
        self._decoder.decode(line)
        self._statement.check_columns(self._decoder.columns() or ())
        self._columns = line.decode("utf-8-sig").strip()
        self._needs_header, self._line = False, 2

    def _end_of_records(self) -> int:
        """Return where the last whole record ends; 0 if none does. A line break in quotes ends none."""
        end = self._held.rfind(b"\n") + 1
        while end and self._quote and self._held.count(self._quote, 0, end) % 2:
            end = self._held.rfind(b"\n", 0, end - 1) + 1
        return end

    def _read(self, text: bytes, *, is_last: bool = False) -> tuple[list[Passage], list[Refused]]:
        edges = len(self._decoder.decode(text))
        if is_last:
            edges += len(self._decoder.finish())
        self.accepted += edges
        refused = [Refused(code_of(each.reason), each.reason, each.raw, each.line) for each in take_dead_letters(self._decoder)]
        line = self._line
        self._line += text.count(b"\n")
        if not text.strip():
            return [], refused
        format = formats.DEFAULT if self._columns is None else formats.CSV
        return [Passage(text, edges, line, format, self._columns)], refused
