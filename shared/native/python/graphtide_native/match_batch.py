"""Matches that the native matcher found, as objects and as records; as columns by `graphtide_native.match_tables`."""

from __future__ import annotations

from operator import length_hint
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.match import MatchKind

from graphtide_native.match_rows import matches_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.match import Match
    from graphtide_core.plans import AnyPlan

    from graphtide_native import _native

LINES_BYTES = 1 << 20
"""Bytes of match records, about, that are written at once: between two pieces Python handles signals."""

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
        return self.matches_and_place()[0]

    def matches_and_place(self) -> tuple[Generator[Match, None, None], Callable[[], int]]:
        """Return the matches, as `iter` does, and a function that returns the place of the next one."""
        rows = iter(self._native.rows())
        return matches_of(self._plans, rows), lambda: len(self) - length_hint(rows)

    @property
    def held_bytes(self) -> int:
        """Bytes that it holds."""
        return self._native.held_bytes()

    @property
    def plans(self) -> Sequence[AnyPlan]:
        """The plans of the patterns, by their numbers."""
        return self._plans

    @property
    def native(self) -> _native.MatchBatch:
        """The batch of the extension."""
        return self._native

    def with_matches(self, native: _native.MatchBatch) -> MatchBatch:
        """Return other matches of the same patterns."""
        return MatchBatch(native, self._plans)

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
