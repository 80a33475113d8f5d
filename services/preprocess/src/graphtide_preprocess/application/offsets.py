"""How far a batch reads: offsets of partitions, and the instant at which they were looked up.

Spark writes this down before it runs the batch, so a batch that is run again has the same records and the same instant.
Instants rise. While nothing comes, batches without records let time pass until sources that are silent are waited for no
longer; then there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

_TICKS = 4
"""Batches without records while a source may fall silent."""


class Offsets(msgspec.Struct, frozen=True):
    """The end of a batch.

    Attributes:
        raw: the offset to read next in each partition of the raw topic.
        patterns: the offset to read next of the registered patterns.
        at: the instant, in milliseconds of the wall clock.
        heard: when records came last.
        end: whether there was nothing more to read.
    """

    raw: dict[str, int]
    patterns: int = 0
    at: int = 0
    heard: int = 0
    end: bool = False


class Found(msgspec.Struct, frozen=True):
    """What the log has: the next offset of each partition of the raw topic, and of the patterns."""

    raw: dict[str, int]
    patterns: int


class Pace(msgspec.Struct, frozen=True):
    """How fast to read: records of a batch, bytes of a batch, and when a silent source is not waited for."""

    most_records: int
    most_bytes: int
    idle_milliseconds: int


def following(start: Offsets, found: Found, now: int, pace: Pace, sizes: Mapping[str, int]) -> Offsets:
    """Return where the batch after `start` ends; `start` itself if there is nothing to do.

    `sizes` are bytes of a record by partition, as far as they are known. Every partition that has records gets its share.
    """
    at = max(now, start.at)
    left = {number: max(0, end - start.raw.get(number, 0)) for number, end in found.raw.items()}
    patterns = max(start.patterns, found.patterns)
    share = _share(left, pace, sizes)
    raw = {number: start.raw.get(number, 0) + min(left[number], max(1, int(left[number] * share))) for number in left}
    if raw != start.raw or patterns != start.patterns:
        is_new = any(left.values())
        return Offsets(
            raw, patterns, at, at if is_new else start.heard, all(raw[number] >= found.raw[number] for number in raw)
        )
    return msgspec.structs.replace(start, at=at, end=True) if _is_tick_due(start, at, pace.idle_milliseconds) else start


def _share(left: Mapping[str, int], pace: Pace, sizes: Mapping[str, int]) -> float:
    """Return which part of what there is may be read at once."""
    records = sum(left.values())
    size = sum(count * sizes.get(number, 0) for number, count in left.items())
    return min(1.0, pace.most_records / max(1, records), pace.most_bytes / max(1, size))


def _is_tick_due(start: Offsets, at: int, idle: int) -> bool:
    """Whether time shall pass: until the idle timeout after the last record has been seen once."""
    return start.heard > 0 and start.at - start.heard < idle and (at - start.heard >= idle or at - start.at >= idle // _TICKS)
