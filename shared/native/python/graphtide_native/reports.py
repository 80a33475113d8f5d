"""Counts of a pass and of its patterns, as the native matcher gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ItemReport:
    """Counts of one item of a plan: `live`, `peak` and `created` partial matches, and the bytes of one."""

    name: str
    live: int
    peak: int
    created: int
    node_bytes: int


@dataclass(frozen=True, slots=True)
class PatternReport:
    """Counts of one pattern.

    `hits` counts, for each query edge, the records that could be it by themselves. `candidates` counts the pairs of a record
    and a query edge that it satisfied. `discarded` counts those that extended no partial match and started none (Lemma 1 of
    paper 004). `limited` counts the partial matches and searches given up at a limit; `limit` is the one reached last, empty if
    none. `limited_at` is the time of the record at which that was, None if none was. `work` counts steps, where work is
    bounded; `suppressed` the matches left out because one of their key was emitted.
    """

    name: str
    hits: tuple[int, ...]
    candidates: int
    discarded: int
    matches: int
    extensions: int
    retractions: int
    timeouts: int
    suppressed: int
    limited: int
    limit: str
    limited_at: int | None
    work: int
    paused: bool
    partial_matches: int
    peak_partial_matches: int
    state_bytes: int
    items: tuple[ItemReport, ...]


@dataclass(frozen=True, slots=True)
class Sharing:
    """What the searches of a pattern do together with those of other patterns.

    Attributes:
        look_ups: of its searches, from every query edge that may be the last.
        shared: of those, the ones that are made once for other patterns, too.
        others: with how many patterns it shares one.
    """

    look_ups: int
    shared: int
    others: int

    def __str__(self) -> str:
        """Return it as EXPLAIN says it."""
        patterns = "pattern" if self.others == 1 else "patterns"
        return f"{self.shared:,} of {self.look_ups:,} look-ups, with {self.others:,} other {patterns}"


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of a whole pass; `relevant` are the records whose labels some query edge has.

    `unordered` are records refused, since their time is before the time that the stream had come to.
    """

    records: int
    relevant: int
    matches: int
    deletions: int
    peak_partial_matches: int
    peak_state_bytes: int
    state_bytes: int
    unordered: int


def report_of(emitted: dict[str, Any]) -> PatternReport:
    """Return what the extension says of a pattern."""
    items = tuple(ItemReport(*item) for item in emitted["items"])
    return PatternReport(**{**emitted, "limit": emitted["limit"] or "", "hits": tuple(emitted["hits"]), "items": items})
