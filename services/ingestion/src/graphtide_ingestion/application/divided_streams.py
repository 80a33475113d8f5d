"""The work that streams need, by their statements: a stream that is not divided has a sequencer, a divided one more.

Each raw partition of a divided stream has a divider, and each part has a sequencer. Replicas share work by its name. That is
the stream or part that is put in order. A divider has the number of parts and the partition in it, too: `payments/8/0`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import has_parts, parts_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from graphtide_ordering.division import Division

    from graphtide_ingestion.application.stream_statements import LastStatements


class DividedStreams:
    """Knows which streams are divided, by their last statements; safe for threads."""

    def __init__(self, statements: LastStatements, partitions_of: Callable[[StreamName], int]) -> None:
        """Follow statements, which another worker reads; `partitions_of` asks the log for the raw partitions of a stream."""
        self._statements = statements
        self._partitions_of = partitions_of
        self._partitions: dict[StreamName, int] = {}

    def division_of(self, stream: StreamName) -> Division | None:
        """Return how a stream is divided; None if it is not.

        Raises:
            TransientError: statements are being read.
        """
        statement = self._statements.of(stream)
        return None if statement is None else statement.division

    def by_vertex(self, streams: Iterable[StreamName]) -> frozenset[StreamName]:
        """Return the streams, parts of these among them, that are divided by vertex.

        Raises:
            TransientError: as `division_of`.
        """
        wholes = {whole_of(stream) for stream in streams}
        found = ((stream, self.division_of(stream)) for stream in wholes)
        return frozenset(stream for stream, division in found if division is not None and division.key.is_vertex)

    def works(self, streams: Iterable[StreamName]) -> frozenset[StreamName]:
        """Return the names of the work that streams need. Complexity: O(streams and parts).

        Raises:
            TransientError: as `division_of`; or the log does not answer.
        """
        found: set[StreamName] = set()
        partitions: dict[StreamName, int] = {}
        for stream in streams:
            division = self.division_of(stream)
            if division is None:
                found.add(stream)
                continue
            partitions[stream] = self._partitions.get(stream) or self._partitions_of(stream)
            found |= {StreamName(f"{stream}/{division.parts}/{number}") for number in range(partitions[stream])}
            found.update(parts_of(stream, division.parts))
        # A stream that is gone may come again with others.
        self._partitions = partitions
        return frozenset(found)

    def divided(self, work: str) -> tuple[Division, int] | None:
        """Return what a work divides, and its raw partition; None if the work is none of dividing.

        Raises:
            TransientError: as `division_of`.
        """
        stream, *numbers = work.split("/")
        if len(numbers) < 2 or has_parts(stream):
            return None
        division = self.division_of(StreamName(stream))
        return None if division is None else (division, int(numbers[1]))
