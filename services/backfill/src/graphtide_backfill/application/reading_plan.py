"""What the first pass over history finds for reading it again: ordinals, places, and what is settled when."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from graphtide_backfill.domain.profile import Profile, join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_backfill.application.pieces import Piece, PieceReport

_NEVER = 2**63 - 1


class PlannedPiece(NamedTuple):
    """A piece with its ordinal, the number of its first batch, and for each batch the earliest time of all later ones."""

    piece: Piece
    ordinal: int
    place: int
    settled: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """History as it was counted.

    Attributes:
        pieces: in the order of arrival.
        spans: earliest and latest time of each piece; None of one without an edge.
        profile: how edges spread over time.
        records: records, bad ones too.
        rejected: bad ones.
        filtered: records that are not of the stream, as its statement says.
        example: where the first bad record is, and why it is bad; empty if none is.
        has_ids: whether records give ids.
        deletions: whether records may delete.
        in_order: whether all edges arrived in order of time.
        by_part: records that each part of a division needs; empty without one.
    """

    pieces: tuple[PlannedPiece, ...]
    spans: tuple[tuple[int, int] | None, ...]
    profile: Profile
    records: int
    rejected: int
    filtered: int
    example: str
    has_ids: bool
    deletions: bool
    in_order: bool
    by_part: tuple[int, ...] = ()

    def within(self, start: int, end: int) -> tuple[PlannedPiece, ...]:
        """Return the pieces that have edges from `start` to before `end`."""
        return tuple(
            piece
            for piece, span in zip(self.pieces, self.spans, strict=True)
            if span is not None and span[0] < end and span[1] >= start
        )


def reading_plan(pieces: Sequence[Piece], reports: Sequence[PieceReport]) -> ReadingPlan:
    """Return the plan from what each piece reported."""
    ordinals, records = [], Counter[str]()
    for piece, report in zip(pieces, reports, strict=True):
        # A stream counts its own records.
        ordinals.append(records[piece.stream])
        records[piece.stream] += report.records
    places = [0, *accumulate(len(report.spans) for report in reports)]
    spans = [span for report in reports for span in report.spans]
    # What is settled after a batch is the earliest time of all that follow.
    settled = [*accumulate((earliest for earliest, _ in reversed(spans[1:])), min, initial=_NEVER)]
    settled.reverse()
    return ReadingPlan(
        pieces=tuple(
            PlannedPiece(piece, ordinals[number], places[number], tuple(settled[places[number] : places[number + 1]]))
            for number, piece in enumerate(pieces)
        ),
        spans=tuple(
            (min(earliest for earliest, _ in report.spans), max(latest for _, latest in report.spans)) if report.spans else None
            for report in reports
        ),
        profile=join(report.profile for report in reports),
        records=records.total(),
        rejected=sum(report.rejected for report in reports),
        filtered=sum(report.filtered for report in reports),
        example=next((report.example for report in reports if report.example), ""),
        has_ids=any(report.has_ids for report in reports),
        deletions=any(report.has_operations for report in reports),
        in_order=all(report.in_order for report in reports)
        and all(latest <= after for (_, latest), after in zip(spans, settled, strict=False)),
        by_part=tuple(sum(loads) for loads in zip(*(report.by_part for report in reports), strict=True)),
    )
