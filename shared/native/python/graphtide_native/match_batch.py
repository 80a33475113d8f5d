"""Matches that the native matcher found, as objects, as records and as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.match import MatchKind

from graphtide_native.match_rows import matches_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.match import Match
    from graphtide_core.plans import AnyPlan

    from graphtide_native import _native

LINES_BYTES = 1 << 20
"""Bytes of match records, about, that are written at once: between two pieces Python handles signals."""

NumberedWords = tuple[int, list[tuple[int, list[tuple[int, list[int | None]]]]]]
"""How results of graph queries are numbered.

How many columns of vertices there are; of each pattern, by its number: the number of its name, and of each output that of its
label and, for each of those columns, its place among those of the output.
"""

_KINDS = {kind.value: kind for kind in MatchKind}


class EncodedMatch(NamedTuple):
    """A match as it is sent: the pattern, match or retraction, the match's id, when it was detected, the record as JSON.

    `nth` is, of a graph query, how many records of the instant brought about something else before; 0 of other patterns.
    """

    pattern: AnyPattern
    kind: MatchKind
    match_id: str
    detected_at: int
    json: bytes
    nth: int = 0


class MatchBatch:
    """Matches in order of detection."""

    def __init__(self, native: _native.MatchBatch, plans: Sequence[AnyPlan]) -> None:
        """Wrap what the matcher gave."""
        self._native = native
        self._plans = plans

    def __len__(self) -> int:
        """Return how many matches there are."""
        return len(self._native)

    def __iter__(self) -> Iterator[Match]:
        """Yield the matches. Complexity: O(edges + vertices) a match, in Python: write with `to_json_lines` where you can.

        Raises:
            FatalError: a row does not have the layout of its pattern's matches: the extension is of another version.
        """
        return matches_of(self._plans, self._native.rows())

    def records(self) -> Iterator[EncodedMatch]:
        """Yield the match records one by one, each already written as JSON."""
        for pattern, kind, match_id, detected_at, nth, record in self._native.records():
            yield EncodedMatch(self._plans[pattern].pattern, _KINDS[kind], match_id, detected_at, record, nth)

    def to_json_lines(self) -> bytes:
        """Return the match records as JSON Lines."""
        return b"".join(lines for lines, _ in self.json_lines())

    def json_lines(self, size: int = LINES_BYTES) -> Iterator[tuple[bytes, int]]:
        """Yield the match records as JSON Lines, in pieces of about `size` bytes, each with the place of the next match."""
        place = 0
        while place < len(self):
            lines, place = self._native.to_json_lines(place, size)
            yield lines, place

    def counts(self, start: int = 0) -> list[tuple[int, MatchKind, int]]:
        """Return how many matches there are from a place on, by the number of the pattern and the kind."""
        return [(pattern, _KINDS[kind], count) for pattern, kind, count in self._native.counts(start)]

    def interval_columns(self, numbered: NumberedWords) -> object | None:
        """Return results of graph queries as a record batch of pyarrow; None where a match is no such result.

        Its columns are `match_id`; `query kind completeness label` as numbers, of kinds and completeness in the order of
        `MatchKind` and `Completeness`; `pattern` and `nth`, numbers; `detected_at first_ts last_ts valid_from valid_to`, ticks;
        `path`; and `vertices.0`, `vertices.1`, …. Complexity: O(vertices and steps) a result, outside of Python.

        Args:
            numbered: what the numbers are.
        """
        return self._native.interval_columns(numbered)
