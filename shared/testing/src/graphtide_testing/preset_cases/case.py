"""Records in the layout of a preset, and loops over the raw records that say which of them its pattern matches.

The loops read neither a statement nor a pattern, so that what they find is a second opinion on both.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Row = dict[str, Any]

START: Final = 1_706_702_400
"""Seconds since 1970 of the time that records count from: 2024-01-31T12:00:00Z."""

RECORDS: Final = 80


@dataclass(frozen=True, slots=True)
class PresetCase:
    """Records of a preset, whose pattern has two edges, x and y.

    Attributes:
        preset: its name.
        draw: makes a record; it gets its number and the seconds since `START`.
        write: the text of a file with these records.
        holds: whether two records, the first earlier than the second, match.
        seconds: less than these may lie between both.
        id_of: the id of the edge of a record, by its number and itself.
        ordered: whether x is earlier than y; else both orders may match.
    """

    preset: str
    draw: Callable[[random.Random, int, int], Row]
    write: Callable[[list[Row]], str]
    holds: Callable[[Row, Row], bool]
    seconds: int
    id_of: Callable[[int, Row], str]
    ordered: bool = True

    def draw_records(self, seed: int) -> list[tuple[int, Row]]:
        """Return records with the seconds of each, which ascend."""
        rng = random.Random(seed)  # noqa: S311 - records, no secret
        after, rows = 0, list[tuple[int, Row]]()
        for number in range(RECORDS):
            after += rng.randrange(1, 30)
            rows.append((after, self.draw(rng, number, after)))
        return rows

    def find_pairs(self, rows: list[tuple[int, Row]]) -> Iterator[tuple[str, str]]:
        """Yield the ids of x and y of each match."""
        pairs = combinations if self.ordered else permutations
        for (place, (first, x)), (other, (second, y)) in pairs(enumerate(rows), 2):
            if abs(second - first) < self.seconds and self.holds(x, y):
                yield self.id_of(place, x), self.id_of(other, y)


def write_lines(rows: list[Row]) -> str:
    """Return records as lines of JSON."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_csv(*columns: str, header: bool = True, delimiter: str = ",") -> Callable[[list[Row]], str]:
    """Return what writes records as lines with these columns."""

    def write(rows: list[Row]) -> str:
        lines = [delimiter.join(str(row[column]) for column in columns) for row in rows]
        return "\n".join([delimiter.join(columns)] * header + lines) + "\n"

    return write


def clock_of(after: int) -> str:
    """Return the time that many seconds, less than an hour, after `START` as clocks of UTC show it."""
    return f"2024-01-31T12:{after // 60:02}:{after % 60:02}"


def made_id(number: int, _row: Row) -> str:
    """Return the id of a record that has none."""
    return str(number)
