"""The work that streams need, by their statements: a stream that is not divided has a sequencer, a divided one more.

A divided stream has a divider, and each of its parts has a sequencer. Work has a name, by which replicas share it: that of the
stream or part that is put in order. The name of a divider is the stream and the number of its parts, as in `payments/8`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import parts_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_ordering.division import Division

    from graphtide_ingestion.application.stream_statements import LastStatements


class DividedStreams:
    """Knows which streams are divided, by their last statements; safe for threads."""

    def __init__(self, statements: LastStatements) -> None:
        """Follow statements, which another worker reads."""
        self._statements = statements

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
            TransientError: as `division_of`.
        """
        found: set[StreamName] = set()
        for stream in streams:
            division = self.division_of(stream)
            if division is None:
                found.add(stream)
            else:
                found |= {StreamName(f"{stream}/{division.parts}"), *parts_of(stream, division.parts)}
        return frozenset(found)

    def divided(self, work: str) -> Division | None:
        """Return what a work divides; None if the work is none of dividing.

        Raises:
            TransientError: as `division_of`.
        """
        stream, mark, parts = work.partition("/")
        if not mark or not parts.isdigit() or "#" in stream:
            return None
        return self.division_of(StreamName(stream))
