"""What is questionable in patterns, alone or beside a stream's records: sentences, the same by every command and in Python."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graphtide_core.attribute_type import AttributeType
from graphtide_core.time import TimeUnit, iso_time
from graphtide_query.bursts import burst_of
from graphtide_query.families import family_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_native.reports import PatternReport
    from graphtide_query.known_names import AskedNames

    from graphtide.names_seen import NamesSeen


_NEAR_SECONDS: Final = (31_536_000, 4_133_980_800)
"""1971 and 2101."""


class PatternWarning(UserWarning):
    """A pattern does not fit its stream: it asks labels, types or attributes that no record had, or takes numbers for texts."""


def notes_on(
    patterns: Iterable[AnyPattern],
    records: int,
    seen: NamesSeen,
    *,
    first: StatisticsSnapshot | None,
    declared: Mapping[str, AttributeType],
    matched: Container[str] = (),
    unit: TimeUnit,
) -> list[str]:
    """Return sentences about what does not fit the stream, each with its pattern; one sentence for a stream without records.

    Args:
        patterns: which were matched, or are to be.
        records: how many were read, bad ones too.
        seen: what the good ones had.
        first: statistics of the first of them.
        declared: types of attributes that were declared.
        matched: patterns with matches; their notes are about attributes that no record had, and about nothing else.
        unit: what times of the stream count.
    """
    if not records:
        return ["the stream has no records: nothing is matched"]
    from graphtide_query.known_names import notes  # noqa: PLC0415 - a pattern without a stream does without

    names = seen.names(first)
    own = {name for name, kind in declared.items() if kind in {AttributeType.INTEGER, AttributeType.NUMBER}}
    numbers = own | (seen.numbers - declared.keys())
    asked = ((each.name, _ask(each, matched)) for each in patterns)
    found = [f"pattern {name!r}: {text}" for name, each in asked for text in notes(each, names, numbers, "first")]
    return [*notes_on_unit(seen.first_time, unit), *found]


def notes_on_unit(ts: int | None, unit: TimeUnit) -> list[str]:
    """Return a sentence if a time is far from today in its unit and near in another, nothing otherwise."""
    other = None if ts is None or _is_near(ts, unit) else likely_unit(ts)
    if ts is None or other is None:
        return []
    own, likely = (iso_time(ts, each).partition("T")[0] for each in (unit, other))
    return [f"the first time, {ts}, is {own} in {unit.value} and {likely} in {other.value}: does ts count {other.value}?"]


def likely_unit(ts: int) -> TimeUnit | None:
    """Return the unit in which a time lies in the years 1971 to 2100; None if it does in none."""
    return next((each for each in TimeUnit if _is_near(ts, each)), None)


def _is_near(ts: int, unit: TimeUnit) -> bool:
    return _NEAR_SECONDS[0] <= ts * unit.nanoseconds // 10**9 < _NEAR_SECONDS[1]


def notes_on_unmatched(patterns: Iterable[AnyPattern], reports: Iterable[PatternReport]) -> list[str]:
    """Return a sentence for each query edge that no record could be by itself; reports are of the patterns, in their order."""
    return [
        f"pattern {pattern.name!r}: no record could be edge {edge!r}; has the stream its labels and values?"
        for pattern, report in zip(patterns, reports, strict=True)
        for edge in find_unmatched(pattern, report.hits)
    ]


def find_unmatched(pattern: AnyPattern, hits: Sequence[int]) -> tuple[str, ...]:
    """Return the edges of a pattern that no record could be by itself."""
    edges = family_of(pattern).layout(pattern).edges
    return tuple(name for name, hit in zip(edges, hits, strict=True) if hit == 0)


def notes_on_bursts(patterns: Iterable[AnyPattern], statistics: StatisticsSnapshot | None, unit: TimeUnit) -> list[str]:
    """Return which patterns may have very many matches by one record, and what to write instead.

    Args:
        patterns: of any family.
        statistics: of their stream, if they are known.
        unit: what times of the stream count.
    """
    found = ((each.name, burst_of(each, statistics, unit)) for each in patterns)
    return [f"pattern {name!r}: {burst.text}" for name, burst in found if burst is not None]


def _ask(pattern: AnyPattern, matched: Container[str]) -> AskedNames:
    from graphtide_query.known_names import AskedNames  # noqa: PLC0415 - as above

    asked = AskedNames.of(pattern)
    # A match may do without an attribute that no record has, so that nothing else would say so.
    return replace(asked, edges=(), vertices=(), as_texts=()) if pattern.name in matched else asked
