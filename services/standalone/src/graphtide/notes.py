"""What is doubtful about patterns, alone or beside a stream's first records: sentences, the same by every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.attribute_type import AttributeType
from graphtide_query.bursts import burst_of
from graphtide_query.known_names import AskedNames, notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit
    from graphtide_query.known_names import SeenNames

    from graphtide.readers import Reader


def notes_on(
    patterns: Iterable[AnyPattern], reader: Reader, seen: SeenNames | None, declared: Mapping[str, AttributeType]
) -> list[str]:
    """Return what does not fit the stream, with the pattern of which it is said; one sentence where there is no record.

    Args:
        patterns: which were matched, or are to be.
        reader: that read the first records at least.
        seen: their labels.
        declared: types of attributes that were declared.
    """
    if not reader.records:
        return ["the stream has no records: nothing is matched"]
    numbers = _numbers(reader, declared)
    return [
        f"pattern {each.name!r}: {text}" for each in patterns for text in notes(AskedNames.of(each), seen, numbers, "first")
    ]


def notes_on_bursts(patterns: Iterable[AnyPattern], statistics: StatisticsSnapshot | None, unit: TimeUnit) -> list[str]:
    """Return which patterns may have very many matches by one record, and what to write instead.

    Args:
        patterns: of any family.
        statistics: of their stream, if they are known.
        unit: what times of the stream count.
    """
    found = ((each.name, burst_of(each, statistics, unit)) for each in patterns)
    return [f"pattern {name!r}: {burst.text}" for name, burst in found if burst is not None]


def _numbers(reader: Reader, declared: Mapping[str, AttributeType]) -> frozenset[str]:
    """Return the attributes that hold numbers: as declared, else the columns of a text in which no text was found."""
    own = {name for name, kind in declared.items() if kind in {AttributeType.INTEGER, AttributeType.NUMBER}}
    if reader.columns is None or reader.place != "line":
        return frozenset(own)
    texts = {each.column for each in reader.settled}
    return frozenset(own | {name for name in reader.columns if name not in texts and name not in declared})
