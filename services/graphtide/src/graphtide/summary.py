"""What a run did, in counts."""

from __future__ import annotations

import msgspec


class PatternSummary(msgspec.Struct, frozen=True):
    """What one pattern did.

    `candidates` counts pairs of a record and a query edge it satisfied, `discarded` those of them that no partial match could
    use; `unmatched_edges` are the query edges that no record could be by itself: often a label or a constant that the stream
    does not have. `paused` and `limited` say what its limits did. `timeouts` of an event pattern counts beginnings that did not
    end in time, and what it held counts for all patterns of its unit. `suppressed` counts matches that ONE PER left out.
    """

    name: str
    engine: str
    matches: int
    retractions: int
    candidates: int
    discarded: int
    peak_partial_matches: int
    limited: int
    paused: bool
    unmatched_edges: tuple[str, ...]
    timeouts: int = 0
    suppressed: int = 0


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did.

    Attributes:
        read: records read, those of no use too.
        records: records taken by the matcher: read, less `dead_letters` and `duplicates`.
        matches: matches reported, without retractions.
        seconds: from the first byte read to the last match written, without start-up and planning.
        records_per_second: `records` by `seconds`.
        engine: name of the engine, or `mixed`.
        plan_seconds: what planning took.
        match_seconds: the part of `seconds` spent matching.
        peak_partial_matches: most partial matches alive at once.
        peak_state_bytes: most bytes of state alive, sampled between chunks of the stream.
        dead_letters: records rejected.
        duplicates: records dropped because their id was in the window.
        relevant: records whose labels some query edge has.
        deletions: deletions of an edge that was held.
        outcome: `done`, `interrupted`, `output closed`, `limit reached`, or `unreadable`, to the end or at all.
        replans: plans that changed with the stream: after how many records, pattern, engine before and after.
        patterns: what each pattern did.
    """

    read: int
    records: int
    matches: int
    seconds: float
    records_per_second: float
    engine: str
    plan_seconds: float
    match_seconds: float
    peak_partial_matches: int
    peak_state_bytes: int
    dead_letters: int
    duplicates: int
    relevant: int
    deletions: int
    outcome: str
    replans: tuple[tuple[int, str, str, str], ...]
    patterns: tuple[PatternSummary, ...]

    def to_json(self) -> bytes:
        """Return the summary as one JSON object."""
        return msgspec.json.encode(self)
