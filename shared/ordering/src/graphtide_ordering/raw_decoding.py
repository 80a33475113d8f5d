"""Raw records as edges and dead letters.

Invariant: the result for a record depends on the record, its first ordinal and the version of the stream's statement alone. It
does not depend on records that it is read with. Only attributes past the limit that no pattern reads are an exception. So a
record that is read again gives the same edges with the same ids. Edges that were rejected on their way into the log have left
substitutes. They count, so ids made of ordinals are those of the text as its sender wrote it.

Attributes are found as they come up; those that patterns read are there from the start. The list only grows, so an older batch
has the first columns of a newer one and the sequencer can mix them. Once names found no room, the list begins anew after a
while (`forget`). The sequencer then gives the edges that wait the columns of the new list. Ingestion has decoded batches
already: they are read column by column, and its decisions hold.
Cost: one pass of the decoder, more for a group that has new attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import UnreadableStreamError
from graphtide_core.time import MAX_EVENT_TIME, TimeUnit
from graphtide_native.decoders import Decoding, decoder_of
from graphtide_native.records import RawBatchDecoder, Symbols, take_dead_letters, ticks_per_second
from graphtide_wire.dead_letters import ErrorCode, code_of
from graphtide_wire.raw import RawOrigin, types_of

from graphtide_ordering.faults import failing, is_foreseen, reason_of
from graphtide_ordering.raw_groups import AllDividedRecord, RawGroup, ResetRecord, UnreadableRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.ports.log import Record
    from graphtide_native.records import Decoder, EdgeBatch

    from graphtide_ordering.raw_groups import Member, RawGroups
    from graphtide_ordering.statements import Statement

MOST_ATTRIBUTES: Final = 1_000
"""Most attributes of a stream that are kept although no pattern reads them: invented names must not fill memory."""

FORGET_AFTER: Final = 10_000
"""Edges after which a list of attributes begins anew if it is full: names that are gone make room for others."""

MAX_AHEAD_SECONDS: Final = 300.0
"""How far ahead of the clock an edge may be by default: clocks of senders differ by less."""

_COLUMNS: Final = frozenset({"ts", "src", "dst", "label", "src_label", "dst_label", "id", "op"})
_OF_EDGES: Final = frozenset({"src", "dst", "label"})
_TYPE: Final = "type"


@dataclass(frozen=True, slots=True)
class Ahead:
    """How far ahead of the clock an edge may be.

    One edge in the far future would take the watermark along, and every edge after it would be late for good. The clock is the
    time when the log took the raw record, so every reader of the record decides alike.

    Attributes:
        unit: what a tick of the stream's time is.
        seconds: how far; infinity is any time.
    """

    unit: TimeUnit
    seconds: float

    def latest(self, appended: int) -> int:
        """Return the latest time that is taken from a record that was appended at a time in milliseconds."""
        if self.seconds == inf:
            return MAX_EVENT_TIME
        ticks = ticks_per_second(self.unit)
        return min(MAX_EVENT_TIME, (appended * ticks + 999) // 1_000 + ceil(self.seconds * ticks))


@dataclass(frozen=True, slots=True)
class Refused:
    """A part of a raw record that cannot be used; `line` is 1-based in what its sender sent, if that is known."""

    code: ErrorCode
    reason: str
    raw: bytes
    line: int | None = None


class Piece(NamedTuple):
    """A decoded raw record.

    Attributes:
        record: as it came.
        origin: its headers; None if the record as a whole cannot be used.
        refused: edges that cannot be used.
        ordinals: how many ordinals the record takes: one for each edge, good or bad.
        newest: the greatest time in it, or that its sender knew of; None if there is none.
        end: how many edges of its group there are up to its end.
        line: the decoder's number of its first line; it is unique in a group.
    """

    record: Record
    origin: RawOrigin | None
    refused: tuple[Refused, ...]
    ordinals: int = 0
    newest: int | None = None
    end: int = 0
    line: int = 1

    def sent_line(self, line: int) -> int:
        """Return the sender's line for the decoder's number of a line."""
        first = 1 if self.origin is None or self.origin.line is None else self.origin.line
        return line - self.line + first


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded group of raw records.

    Attributes:
        pieces: one for each record.
        edges: those of all that can be used; None if no record can.
        producer: who sent them, if it said so.
        ends_epoch: the epoch that the group's only record wants to end; None if records have edges.
        filtered: records that are not of the stream, as its statement says.
        refused_before: edges that the service refused that wrote the records: they have ordinals, and their dead letters are
            written. What a divider leaves out is in other parts, and does not count.
    """

    pieces: list[Piece]
    edges: EdgeBatch | None = None
    producer: str | None = None
    ends_epoch: int | None = None
    filtered: int = 0
    refused_before: int = 0


class RawDecoder:
    """Reads the raw records of one stream.

    Attributes:
        left_out: names of attributes that found no room since the list began, counted in each group that has them.
    """

    def __init__(self, ahead: Ahead | None = None, symbols: Symbols | None = None, attributes: Iterable[str] = ()) -> None:
        """Start with these attributes; reject edges further ahead of their record than the bound.

        Names of labels are kept in `symbols`, which several stages may share; None makes a table.
        """
        self._ahead = ahead
        self._symbols = Symbols() if symbols is None else symbols
        self._attributes: dict[str, None] = dict.fromkeys(attributes)
        self._read: frozenset[str] = frozenset()
        self._edges = self.left_out = 0

    def read(self, names: Iterable[str]) -> None:
        """Decode these attributes, beside any others: patterns read them."""
        self._read = frozenset(names) - _COLUMNS - {_TYPE}
        self._attributes |= dict.fromkeys(sorted(self._read))

    @property
    def attributes(self) -> list[str]:
        """The columns of what is decoded next."""
        return list(self._attributes)

    @property
    def is_due(self) -> bool:
        """Whether names found no room, and it is time to make some."""
        return self.left_out > 0 and self._edges >= FORGET_AFTER

    def forget(self) -> list[str]:
        """Begin the list anew; return it: the attributes that patterns read."""
        self._attributes = dict.fromkeys(sorted(self._read))
        self._edges = self.left_out = 0
        return list(self._attributes)

    def decode(self, group: RawGroups, ordinal: int, statement: Statement | None = None) -> Decoded:
        """Read records by a statement, or as edges are sent without one; their first edge has this ordinal.

        Batches were decoded before they came into the log, so no statement reads them.
        """
        if isinstance(group, ResetRecord):
            return Decoded([Piece(group.record, None, ())], ends_epoch=group.reset.ends)
        if isinstance(group, AllDividedRecord):
            return Decoded([Piece(group.record, None, ())])
        if isinstance(group, UnreadableRecord):
            refused = Refused(ErrorCode.MALFORMED, group.reason, group.record.value or b"")
            return Decoded([Piece(group.record, None, (refused,))])
        try:
            return self._decoded(group, ordinal, statement)
        except UnreadableStreamError as error:
            if len(group.members) > 1 and self._can_begin(group, statement):
                return self._without_those_that_fail(group, ordinal, statement)
            # It lies in the columns, which all of them share.
            return Decoded(
                [_unreadable(record, origin, str(error)) for record, origin, _ in group.members], producer=group.producer
            )
        except BaseException as error:
            if is_foreseen(error):
                raise
            return self._without_those_that_fail(group, ordinal, statement)

    def _can_begin(self, group: RawGroup, statement: Statement | None) -> bool:
        """Whether a decoder of the group can be made: its columns, which all records share, are right."""
        try:
            self._decoder(group.members[0].origin, statement)
        except UnreadableStreamError:
            return False
        return True

    def _without_those_that_fail(self, group: RawGroup, ordinal: int, statement: Statement | None) -> Decoded:
        """Read a group that the decoder failed on: records that fail by themselves become dead letters."""

        def fault(members: Sequence[Member]) -> str | None:
            try:
                self._decoded(RawGroup(list(members), group.size), ordinal, statement)
            except UnreadableStreamError as error:
                return str(error)
            except BaseException as error:
                if is_foreseen(error):
                    raise
                return reason_of(error)
            return None

        reasons = {member.record.offset: reason for member, reason in failing(group.members, fault)}
        good = [member for member in group.members if member.record.offset not in reasons]
        decoded = (
            self._decoded(RawGroup(good, group.size), ordinal, statement) if good else Decoded([], producer=group.producer)
        )
        read, pieces, end = iter(decoded.pieces), list[Piece](), 0
        for record, origin, _ in group.members:
            reason = reasons.get(record.offset)
            piece = next(read) if reason is None else _unreadable(record, origin, reason)._replace(end=end)
            end = piece.end
            pieces.append(piece)
        return replace(decoded, pieces=pieces)

    def _decoded(self, group: RawGroup, ordinal: int, statement: Statement | None) -> Decoded:
        like = group.members[0].origin
        bodies = [member.body for member in group.members]
        decoder = self._decoder(like, statement)
        decoder.start_at(ordinal)
        latest = None if self._ahead is None else [self._ahead.latest(member.record.timestamp) for member in group.members]
        batch, ends = decoder.decode_pieces(bodies, 1, latest)
        while self._learn(decoder.discovered()):
            decoder = self._decoder(like, statement)
            decoder.start_at(ordinal)
            batch, ends = decoder.decode_pieces(bodies, 1, latest)
        letters = take_dead_letters(decoder)
        self.left_out += len(self._unknown(decoder.discovered()))
        pieces: list[Piece] = []
        before, known, row, refused_before = 0, ordinal, 0, 0
        is_stated = statement is not None and not like.is_batch
        for place, (end, letters_end, following, newest, line) in enumerate(ends):
            record, origin, _ = group.members[place]
            heard = origin.newest if latest is None or origin.newest is None else min(origin.newest, latest[place])
            piece = Piece(record, origin, (), following - known, _later(newest, heard), end, line)
            if letters_end > before:
                refused = (
                    Refused(code_of(each.reason), each.reason, each.raw, piece.sent_line(each.line))
                    for each in letters[before:letters_end]
                )
                piece = piece._replace(refused=tuple(refused))
            pieces.append(piece)
            if not is_stated and origin.newest is None:
                refused_before += max(0, piece.ordinals - (end - row) - len(piece.refused))
            before, known, row = letters_end, following, end
        self._edges += known - ordinal
        return Decoded(pieces, batch, group.producer, filtered=decoder.filtered(), refused_before=refused_before)

    def _decoder(self, origin: RawOrigin, statement: Statement | None) -> Decoder:
        """Return a decoder of such records; it has read the header line, if the format has one."""
        if origin.is_batch:
            per_second = ticks_per_second(TimeUnit.MILLISECOND if self._ahead is None else self._ahead.unit)
            return RawBatchDecoder(self._symbols, list(self._attributes), per_second)
        types = types_of(origin.types)
        if statement is not None:
            return self._decoder_by(statement, origin, types)
        asked = Decoding(self._symbols, types=types, keep_raw=True, substitutes=True)
        if not origin.format.has_header:
            # A declared attribute is not discovered.
            self._learn(list(types))
            return decoder_of(origin.format, replace(asked, attributes=list(self._attributes), discover=True))
        # A header has to be read to know its names; a decoder that is asked for none reads it.
        header = decoder_of(origin.format, Decoding(self._symbols))
        header.decode(_header(origin).encode())
        names = header.columns() or []
        # Of events it is the type; of edges, an attribute.
        names = names if _OF_EDGES & set(names) else [name for name in names if name != _TYPE]
        self._learn(names)
        self.left_out += len(self._unknown(names))
        decoder = decoder_of(origin.format, replace(asked, attributes=list(self._attributes)))
        decoder.decode(_header(origin).encode())
        return decoder

    def _decoder_by(self, statement: Statement, origin: RawOrigin, types: Mapping[str, str]) -> Decoder:
        decoder = statement.decoder(self._symbols, list(self._attributes), origin.format, types)
        if statement.has_header(origin.format):
            decoder.decode(statement.encode(_header(origin)))
            statement.check_columns(decoder.columns() or ())
        return decoder

    def _learn(self, names: Sequence[str]) -> bool:
        """Add what is new, as far as there is room; return whether anything was added."""
        new = self._unknown(names)
        if new:
            room = MOST_ATTRIBUTES - sum(name not in self._read for name in self._attributes)
            new = new[: max(0, room)]
            self._attributes |= dict.fromkeys(new)
        return bool(new)

    def _unknown(self, names: Iterable[str]) -> list[str]:
        return [name for name in dict.fromkeys(names) if name not in self._attributes and name not in _COLUMNS]


def _later(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


def _unreadable(record: Record, origin: RawOrigin, reason: str) -> Piece:
    return Piece(record, origin, (Refused(ErrorCode.MALFORMED, reason, record.value or b"", origin.line),))


def _header(origin: RawOrigin) -> str:
    """Return the header line.

    Raises:
        UnreadableStreamError: it is not a header line: edges would be read as one, or the header as edges.
    """
    if origin.columns is None:
        message = "a record of a log has no header line: name its columns in the statement, as in FORMAT csv (columns (a, b))"
        raise UnreadableStreamError(message)
    columns = origin.columns.strip()
    if not columns or "\n" in columns:
        message = "the columns are not one header line"
        raise UnreadableStreamError(message)
    return columns + "\n"
