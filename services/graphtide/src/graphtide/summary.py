"""What a run did, in counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from graphtide_core.match import MatchKind

from graphtide.notes import find_unmatched

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from graphtide.pipeline import Pipeline
    from graphtide.readers import Reader
    from graphtide.rejections import Rejections


class RejectedSummary(msgspec.Struct, frozen=True):
    """Records that were rejected for one reason: how many, where the first is, and what was wrong with it.

    `reason` is without the values in it, `example` with them; `line` counts lines, rows or records, as in dead letters.
    """

    reason: str
    records: int
    line: int
    example: str


class PatternSummary(msgspec.Struct, frozen=True):
    """What one pattern did.

    `candidates` counts pairs of a record and a query edge that it satisfied, `discarded` those that no partial match could use.
    `unmatched_edges` are the query edges that no record could be by itself. Often the stream lacks their label or a constant.
    `paused` and `limited` say what its limits did. `timeouts` of an event pattern counts beginnings that did not end in time,
    and what it held counts for all patterns of its unit. `suppressed` counts matches that ONE PER left out. `limit` is the
    limit that it reached last, and `limited_at` the time of the record at which that was.
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
    limit: str = ""
    limited_at: int | None = None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did.

    Attributes:
        read: records read, those of no use too.
        records: edges, events and deletions taken by the matcher. Without a STREAM statement it is one for each record read,
            less `dead_letters` and `duplicates`. Each of `replaced` counts twice, as a deletion and an insert.
        matches: matches reported, without retractions.
        seconds: from the first byte read to the last match written, without start-up and planning.
        records_per_second: `records` by `seconds`.
        engine: name of the engine, or `mixed`.
        plan_seconds: what planning took.
        match_seconds: the part of `seconds` spent matching.
        peak_partial_matches: most partial matches alive at once.
        peak_state_bytes: most bytes of state alive, sampled between chunks of the stream.
        dead_letters: records rejected.
        late: those of them that were late.
        rejected: the same by reason, the most frequent first.
        replaced: records that are in the place of what had their id.
        filtered: records that are not of the stream, as its STREAM statement says.
        duplicates: records dropped because their id was in the window.
        relevant: records whose labels some query edge has.
        deletions: deletions of an edge that was held.
        outcome: `done`, `interrupted`, `output closed`, `limit reached`, or `unreadable`, to the end or at all.
        notes: what patterns ask that the stream never had, and what could not be done as it was meant: sentences.
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
    late: int
    rejected: tuple[RejectedSummary, ...]
    duplicates: int
    replaced: int
    filtered: int
    relevant: int
    deletions: int
    outcome: str
    notes: tuple[str, ...]
    replans: tuple[tuple[int, str, str, str], ...]
    patterns: tuple[PatternSummary, ...]

    def to_json(self) -> bytes:
        """Return the summary as one JSON object."""
        return msgspec.json.encode(self)


def summarize(
    pipeline: Pipeline,
    reader: Reader,
    rejections: Rejections,
    seconds: float,
    outcome: str,
    *,
    notes: Sequence[str],
    unwritten: Counter[tuple[int, MatchKind]],
    filtered: int,
) -> Summary:
    """Return what a run did.

    Args:
        pipeline: the stages.
        reader: of the stream, or of its last piece.
        rejections: of all pieces.
        seconds: that the run took.
        outcome: how it ended.
        notes: those of its end.
        filtered: records of all pieces that are not of the stream.
        unwritten: the matches that were found and not handed on, by pattern and kind.
    """
    matcher = pipeline.matcher
    totals, patterns = matcher.totals(), matcher.patterns()
    engines = {plan.engine for plan in pipeline.plans}
    return Summary(
        read=reader.records,
        records=totals.records,
        matches=totals.matches - sum(count for (_, kind), count in unwritten.items() if kind is MatchKind.MATCH),
        seconds=round(seconds, 6),
        records_per_second=round(totals.records / seconds, 1) if seconds > 0 else 0.0,
        engine=engines.pop() if len(engines) == 1 else "mixed",
        plan_seconds=round(pipeline.plan_seconds, 6),
        match_seconds=round(pipeline.match_seconds, 6),
        peak_partial_matches=totals.peak_partial_matches,
        peak_state_bytes=totals.peak_state_bytes,
        dead_letters=rejections.count,
        late=rejections.late,
        rejected=tuple(
            RejectedSummary(each.reason, each.records, each.first.line, each.first.reason)
            for each in sorted(rejections.reasons.values(), key=lambda each: -each.records)
        ),
        duplicates=pipeline.duplicates,
        replaced=pipeline.replaced,
        filtered=filtered,
        relevant=totals.relevant,
        deletions=totals.deletions,
        outcome=outcome,
        notes=tuple(notes),
        replans=tuple(pipeline.replans),
        patterns=tuple(
            PatternSummary(
                name=report.name,
                engine=plan.engine,
                matches=report.matches - unwritten[number, MatchKind.MATCH],
                retractions=report.retractions - unwritten[number, MatchKind.RETRACT],
                candidates=report.candidates,
                discarded=report.discarded,
                peak_partial_matches=report.peak_partial_matches,
                limited=report.limited,
                paused=report.paused,
                timeouts=report.timeouts - unwritten[number, MatchKind.TIMEOUT],
                suppressed=report.suppressed,
                unmatched_edges=find_unmatched(plan.pattern, report.hits),
                limit=report.limit,
                limited_at=report.limited_at,
            )
            for number, (report, plan) in enumerate(zip(patterns, pipeline.plans, strict=True))
        ),
    )
