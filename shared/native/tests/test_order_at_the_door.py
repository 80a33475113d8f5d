"""A pass refuses records whose time goes back, ends whatever it is given, and is exact at both ends of the range of times."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.time import TimeUnit
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_query import parse
from graphtide_query.families import Wish
from graphtide_query.planner import plan_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_native.matcher import MatchBatch

LEAST: Final = -(1 << 63)
GREATEST: Final = (1 << 63) - 1

FAMILIES: Final = """
PATTERN chain MATCH (a)-[f:x]->(b)-[g:y]->(c) ON s WINDOW 10 ms
PATTERN alike MATCH (a)-[f:x]->(b), (b)-[g:y]->(a) ON s UNDER DUAL SIMULATION WINDOW 10 ms REPORT CHANGES
PATTERN silent MATCH SEQ(x AS e, NOT y AS n, x AS g) ON s WITHIN 10 ms
PATTERN waits MATCH SEQ(x AS e, y AS f, NOT x AS n) ON s WITHIN 10 ms
PATTERN late MATCH SEQ(x AS e, y AS f) ON s WITHIN 10 ms REPORT TIMEOUTS
"""
QUERIES: Final = """
near(x, y) <- /(:x|:y)+/(x, y) ON s WINDOW 10 ms SLIDE 5 ms.
"""


class Pass:
    def __init__(self, text: str) -> None:
        symbols = Symbols()
        self.matcher = Matcher(
            plan_all(parse(text), Wish(), unit=TimeUnit.MILLISECOND, statistics=None), symbols, (), deletions=True
        )
        self._decoder = JsonLinesDecoder(symbols, (), {})
        self.taken = 0

    def push(self, records: Iterable[dict[str, object]]) -> list[dict[str, object]]:
        lines = [json.dumps({"id": f"i{self.taken + place}"} | record) for place, record in enumerate(records)]
        self.taken += len(lines)
        return read(self.matcher.push(self._decoder.decode("".join(line + "\n" for line in lines).encode())))

    def finish(self) -> list[dict[str, object]]:
        return read(self.matcher.finish())


def read(parts: Iterable[MatchBatch]) -> list[dict[str, object]]:
    return [json.loads(line) for part in parts for line in part.to_json_lines().splitlines()]


def record(rng: random.Random, ts: int) -> dict[str, object]:
    ends = {"src": f"v{rng.randrange(4)}", "dst": f"v{rng.randrange(4)}"}
    return {"ts": ts, "label": rng.choice("xy"), **ends}


