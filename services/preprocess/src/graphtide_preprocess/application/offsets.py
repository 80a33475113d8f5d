"""How far a batch reads: offsets of partitions, and the instants that belong to them.

Spark writes this down before it runs the batch, so a batch that is run again has the same records and the same instants.
Instants rise.

Sources fall silent by the clock of the log, so a batch may take as long as it likes. The ends of the partitions are looked up
at an instant. The clock advances to it once all records up to these ends were read, in one batch or in many. So a source that
is silent by this clock is silent in the log, and never one that the job was too slow to hear. While no records come, batches
without records let time pass until silent sources are waited for no longer; then there are none.
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
        at: when the batch was begun, in milliseconds of the wall clock.
        as_of: the latest known instant with everything read up to it, by the clock of the log.
        heard: `at` of the last batch that had records.
        target: ends to reach before that clock advances; empty once they are.
        target_at: when they were looked up.
        statements: the offset to read next of the statements of streams: the last before it reads the batch.
        first: of the first batch, the offsets that it begins at.
    """

    raw: dict[str, int]
    patterns: int = 0
    at: int = 0
    as_of: int = 0
    heard: int = 0
    target: dict[str, int] = {}
    target_at: int = 0
    statements: int = 0
    first: dict[str, int] = {}

    @property
    def is_complete(self) -> bool:
        """Whether the clock of the log advanced with this batch."""
        return not self.target


class Found(msgspec.Struct, frozen=True):
    """What the log has: the next offset of each partition of the raw topic, of patterns and of statements, and since when.

    The statements were looked up after the raw topic, so that they have each one that a sender of a record knew.
    """

    raw: dict[str, int]
    patterns: int
    at: int
    statements: int = 0


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
    target, target_at = start.target, start.target_at
    if start.is_complete:
        target, target_at = found.raw, max(found.at, start.as_of)
    left = {number: max(0, end - start.raw.get(number, 0)) for number, end in found.raw.items()}
    patterns, statements = max(start.patterns, found.patterns), max(start.statements, found.statements)
    share = _share(left, pace, sizes)
    raw = {number: start.raw.get(number, 0) + min(left[number], max(1, int(left[number] * share))) for number in left}
    if (raw, patterns, statements) != (start.raw, start.patterns, start.statements):
        heard = at if any(left.values()) else start.heard
        if all(raw[number] >= end for number, end in target.items()):
            return Offsets(raw, patterns, at, target_at, heard, statements=statements)
        return Offsets(raw, patterns, at, start.as_of, heard, target, target_at, statements)
    is_due = _is_tick_due(start, target_at, pace.idle_milliseconds)
    return msgspec.structs.replace(start, at=at, as_of=target_at) if is_due else start


def _share(left: Mapping[str, int], pace: Pace, sizes: Mapping[str, int]) -> float:
    """Return which part of what there is may be read at once."""
    records = sum(left.values())
    size = sum(count * sizes.get(number, 0) for number, count in left.items())
    return min(1.0, pace.most_records / max(1, records), pace.most_bytes / max(1, size))


def _is_tick_due(start: Offsets, as_of: int, idle: int) -> bool:
    """Whether time should pass: until the idle timeout after the last record has been seen once."""
    is_waiting = start.heard > 0 and start.as_of - start.heard < idle
    return is_waiting and (as_of - start.heard >= idle or as_of - start.as_of >= idle // _TICKS)
