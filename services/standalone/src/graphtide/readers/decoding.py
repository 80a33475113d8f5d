"""Readers over anything that gives blocks for a decoder: what readers of all formats share.

Cost: one call of the decoder a block. A block without a record is handed on only where it gave dead letters, so that whoever
reads can take them before there are more.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from graphtide_core.errors import UnreadableStreamError
from graphtide_native.records import take_dead_letters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_native.records import Decoder, EdgeBatch

    from graphtide.readers.source import ByteSource


class DecodingReader:
    """A reader over blocks that one decoder understands."""

    def __init__(
        self,
        decoder: Decoder,
        blocks: Callable[[], Iterator[bytes]],
        *,
        name: str,
        source: ByteSource | None = None,
        columns: list[str] | None = None,
    ) -> None:
        """Join a decoder and its blocks; `source` is closed at the end, `columns` known where the decoder sees only some."""
        self._decoder = decoder
        self._blocks = blocks
        self._name = name
        self._source = source
        self._columns = columns
        self._letters: list[DeadLetter] = []

    def batches(self) -> Iterator[EdgeBatch]:
        """Yield batches; see `Reader.batches`."""
        try:
            yield from self._decode()
        finally:
            self.close()

    def _decode(self) -> Iterator[EdgeBatch]:
        # Where the blocks break off, what came before is handed out already; the record that was cut is lost with the rest.
        for block in self._blocks():
            yield from self._handed_on(partial(self._decoder.decode, block))
        yield from self._handed_on(self._decoder.finish)

    def _handed_on(self, step: Callable[[], EdgeBatch]) -> Iterator[EdgeBatch]:
        batch = self._named(step)
        letters = take_dead_letters(self._decoder)
        self._letters += letters
        if len(batch) or letters:
            yield batch

    def _named(self, step: Callable[[], EdgeBatch]) -> EdgeBatch:
        """Run a step of the decoder, which does not know what its stream is called."""
        try:
            return step()
        except UnreadableStreamError as error:
            message = f"{self._name}: {error}"
            raise UnreadableStreamError(message) from error

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records put aside since the last call."""
        letters, self._letters = self._letters, []
        return letters

    def start_at(self, ordinal: int) -> None:
        """Go on counting from an ordinal; see `Reader.start_at`."""
        self._decoder.start_at(ordinal)

    @property
    def records(self) -> int:
        """Ordinal that the next record will have."""
        return self._decoder.ordinal()

    def close(self) -> None:
        """Let go of the stream."""
        if self._source is not None:
            self._source.close()

    @property
    def columns(self) -> list[str] | None:
        """The stream's columns, once known."""
        return self._columns or self._decoder.columns()

    @property
    def has_ids(self) -> bool:
        """Whether the stream gives ids."""
        return self._decoder.has_ids()

    @property
    def has_operations(self) -> bool:
        """Whether the stream gives operations."""
        return self._decoder.has_operations()

    @property
    def bytes_read(self) -> int:
        """Bytes of the source read so far."""
        return self._source.read if self._source else 0

    @property
    def bytes_total(self) -> int | None:
        """Size of the source, if it has one."""
        return self._source.total if self._source else None
