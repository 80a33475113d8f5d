"""What a run lost beside rejected records, as sentences: duplicates, and what its limits gave up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.suggestion import show

from graphtide.rejections import DuplicateWarning, StreamWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_native.reports import PatternReport

    from graphtide.readers import Reader
    from graphtide.remedies import Remedies
    from graphtide.repeated_ids import FirstDuplicate


MOST_PATTERNS: Final = 20
"""Patterns whose limits have a sentence each."""


class Losses(NamedTuple):
    """Sentences about what was lost: rejected records, duplicates, and the rest."""

    rejected: list[str]
    duplicates: list[str]
    others: list[str]

    @property
    def sentences(self) -> list[str]:
        """All sentences."""
        return [*self.rejected, *self.duplicates, *self.others]

    @property
    def category(self) -> type[StreamWarning]:
        """The warning that has them."""
        return DuplicateWarning if self.duplicates and not (self.rejected or self.others) else StreamWarning


def notes_on_duplicates(dropped: int, first: FirstDuplicate | None, records: int, column: str, remedies: Remedies) -> list[str]:
    """Return the sentence about records that were dropped because their ids came before; nothing if none was.

    Args:
        dropped: how many.
        first: the first of them.
        records: how many were read.
        column: what the stream calls its ids.
        remedies: what to do about it.
    """
    if not dropped or first is None:
        return []
    were = "was dropped as a duplicate" if dropped == 1 else "were dropped as duplicates"
    first_one = f"the first is record {first.record:,} (id {show(first.id)})"
    came = "its id" if dropped == 1 else "their ids"
    return [
        f"{dropped:,} of {records:,} records {were}, {first_one}: {came} came before in the window; "
        f"if {column!r} is not an id, {remedies.without_ids} reads the stream without it"
    ]


def notes_on_limits(reports: Iterable[PatternReport], remedies: Remedies) -> list[str]:
    """Return a sentence for each pattern that gave up work at a limit, or was paused by it; one for all past the first."""
    limited = [each for each in reports if each.limited or each.paused]
    rest = len(limited) - MOST_PATTERNS
    further = [f"{rest:,} more pattern{'s' * (rest != 1)} reached a limit; the summary has them"] if rest > 0 else []
    return [*(_explain_limit(each, remedies) for each in limited[:MOST_PATTERNS]), *further]


def _explain_limit(report: PatternReport, remedies: Remedies) -> str:
    at = "" if report.limited_at is None else f" at time {report.limited_at}"
    raised = f"{remedies.limit(report.limit)} raises it"
    if report.paused:
        missing = "its matches since then are missing"
        return f"pattern {report.name!r} was paused by its limit of {report.limit}{at}: {missing}; {raised}"
    what = "partial match or search" if report.limited == 1 else "partial matches or searches"
    return (
        f"pattern {report.name!r} gave up {report.limited:,} {what} at its limit of {report.limit}, last{at}: "
        f"matches may be missing; {raised}"
    )


def note_on_first_limit(report: PatternReport) -> str:
    """Return the sentence for the moment in which a pattern loses something for the first time."""
    what = "is paused" if report.paused else "gives up partial matches or searches from now on"
    at = "" if report.limited_at is None else f" at time {report.limited_at}"
    return f"pattern {report.name!r} reached its limit of {report.limit}{at} and {what}: matches may be missing"


def notes_on_filtered(filtered: int, records: int) -> list[str]:
    """Return the sentence about records that a statement leaves out; nothing if there are none, or no others."""
    return [_describe_filtered(filtered, records)] if 0 < filtered < records else []


def notes_on_nothing_left(filtered: int, records: int) -> list[str]:
    """Return the sentence about a statement that leaves out all records, which nobody means; nothing otherwise."""
    return [_describe_filtered(filtered, records)] if 0 < filtered == records else []


def _describe_filtered(filtered: int, records: int) -> str:
    were, them = ("was", "it") if filtered == 1 else ("were", "them")
    return f"{filtered:,} of {_count(records)} {were} filtered: WHERE of the statement leaves {them} out"


def notes_on_replaced(replaced: int, records: int) -> list[str]:
    """Return the sentence about records that are in the place of what had their id; nothing if none is."""
    if not replaced:
        return []
    counts = "it counts" if replaced == 1 else "each counts"
    took = "took the place of an earlier one with the same id"
    return [f"{replaced:,} of {_count(records)} {took}: {counts} as a deletion and an insert"]


def _count(records: int) -> str:
    return f"{records:,} record{'s' * (records != 1)}"


def notes_on_columns(reader: Reader, columns: Mapping[str, str]) -> list[str]:
    """Return a sentence for each column that was mapped and that no record had, where the format has no header to refuse."""
    if reader.columns is not None or not reader.records:
        return []
    seen = {"id": reader.has_ids, "op": reader.has_operations}
    return [
        f"no record had {actual!r}, which should be its {name!r}"
        for name, actual in columns.items()
        if actual and not seen.get(name, True)
    ]
