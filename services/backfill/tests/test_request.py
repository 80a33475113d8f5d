"""What users write of times, sizes and keys."""

from __future__ import annotations

import pytest
from graphtide_backfill.entrypoints.request import instant, size, slice_key
from graphtide_core.errors import InvalidPatternError, InvalidQueryError
from graphtide_core.part_key import BY_VERTEX, PartKey
from graphtide_core.time import TimeUnit


@pytest.mark.parametrize(
    ("text", "unit", "ticks"),
    [
        ("1704067200000", TimeUnit.MILLISECOND, 1_704_067_200_000),
        ("-5", TimeUnit.SECOND, -5),
        ("2024-01-01", TimeUnit.SECOND, 1_704_067_200),
        ("2024-01-01T00:00:00.5Z", TimeUnit.MILLISECOND, 1_704_067_200_500),
        ("2024-01-01T01:00:00+01:00", TimeUnit.NANOSECOND, 1_704_067_200_000_000_000),
        ("1969-12-31T23:59:59", TimeUnit.MICROSECOND, -1_000_000),
    ],
)
def test_instants_are_read_as_ticks(text: str, unit: TimeUnit, ticks: int) -> None:
    assert instant(text, unit) == ticks


@pytest.mark.parametrize(("text", "count"), [("2g", 2 << 30), ("512 MB", 512 << 20), ("1000", 1000), ("64k", 65_536)])
def test_sizes_are_read_as_bytes(text: str, count: int) -> None:
    assert size(text) == count


@pytest.mark.parametrize("text", ["", "g", "0m", "-1g", "2x"])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(InvalidQueryError, match="not a size"):
        size(text)


@pytest.mark.parametrize(
    ("text", "key", "parts"),
    [
        ("src", PartKey("src"), None),
        ("tenant:8", PartKey("tenant"), 8),
        ("VERTEX:2", BY_VERTEX, 2),
        ("vertex", BY_VERTEX, None),
        ("a:b", PartKey("a:b"), None),
        ("a:b:3", PartKey("a:b"), 3),
    ],
)
def test_keys_are_read_with_their_parts(text: str, key: PartKey, parts: int | None) -> None:
    assert slice_key(text) == (key, parts)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "name is empty"),
        (":4", "name is empty"),
        ("src:0", "1 to 1,024 parts"),
        ("src:9999", "1 to 1,024"),
        ("id:2", "by id"),
    ],
)
def test_what_divides_nothing_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidPatternError, match=said):
        slice_key(text)
