"""A pass refuses records whose time goes back, ends whatever it is given, and is exact at both ends of the range of times."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.time import TimeUnit
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import Concurrency, Limits, columns, encode
from graphtide_query import parse
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_native.match_batch import MatchBatch

LEAST: Final = -(1 << 63)
GREATEST: Final = (1 << 63) - 1

PATTERNS: Final = (
    "PATTERN chain MATCH (a)-[f:x]->(b)-[g:y]->(c) ON s WINDOW 10 ms",
    "PATTERN alike MATCH (a)-[f:x]->(b), (b)-[g:y]->(a) ON s UNDER DUAL SIMULATION WINDOW 10 ms REPORT CHANGES",
    "PATTERN lonely SEQ(e:x, NOT n:y) ON s WITHIN 10ms",
    "PATTERN kept SEQ(e:x, f:y, NOT n:x) ON s WITHIN 10ms",
    "PATTERN overdue SEQ(e:x, f:y) ON s WITHIN 10ms ON TIMEOUT",
    "near(x, y) <- /(:x|:y)+/(x, y).\nON s WINDOW(10ms) SLIDE(5ms)",
    "pair(x, z) <- x(x, y), y(y, z).\nON s WINDOW(10ms) SLIDE(3ms)",
)
"""All families, with whatever waits for a time."""

EMITTED: Final = "steps(x, y) <- /(:x|:y)+/(x, y) AS p.\nON s WINDOW(10ms) SLIDE(5ms)\nRETURN p"


class Pass:
    def __init__(self, text: str) -> None:
        symbols = Symbols()
        self.matcher = Matcher(
            plan_all(parse(text), PlannerOptions(), unit=TimeUnit.MILLISECOND, statistics=None), symbols, (), deletions=True
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


def passes() -> list[Pass]:
    return [Pass(text) for text in PATTERNS]


@pytest.mark.parametrize("seed", range(40))
def test_times_that_go_back_end_and_are_as_if_they_had_not_come(seed: int) -> None:
    """With any input, a pass returns, counts what it refused, and reports what it would without that."""
    rng = random.Random(seed)
    base = rng.choice([0, 1_700_000_000_000, LEAST, GREATEST - 40, GREATEST - 5])
    step = rng.choice([3, 40, 1 << 40])
    times = [min(GREATEST, max(LEAST, base + rng.randrange(step))) for _ in range(60)]
    given = [record(rng, ts) | {"id": f"i{place}"} for place, ts in enumerate(times)]
    ordered, newest = [], LEAST
    for each in given:
        if int(str(each["ts"])) >= newest:
            newest = int(str(each["ts"]))
            ordered.append(each)
    for text in PATTERNS:
        crooked, straight = Pass(text), Pass(text)
        found = [match for each in given for match in crooked.push([each])]
        assert found == [match for each in ordered for match in straight.push([each])], text
        assert crooked.matcher.totals().unordered == len(given) - len(ordered)
        assert crooked.matcher.totals().records == len(ordered)
        assert crooked.finish() == straight.finish()


def test_a_record_before_a_time_that_has_passed_is_refused() -> None:
    for own in passes():
        list(own.matcher.pass_time(100))
        assert own.push([record(random.Random(1), 99)]) == []
        assert own.matcher.totals().unordered == 1


def shift(match: dict[str, object], by: int) -> dict[str, object]:
    """Return a match whose times are others by so much."""
    times = {name: value + by for name, value in match.items() if name.endswith(("_at", "_ts")) and isinstance(value, int)}
    valid = match.get("valid")
    if isinstance(valid, list):
        return match | times | {"valid": [None if value is None else value + by for value in valid]}
    return match | times


@pytest.mark.parametrize("end", ["least", "greatest"])
@pytest.mark.parametrize("seed", range(20))
def test_a_stream_at_an_end_of_all_times_gives_what_it_gives_elsewhere(seed: int, end: str) -> None:
    """No end of what is derived from the records lies beyond the range: only the times of the records are near its ends."""
    rng = random.Random(seed)
    times = sorted(rng.randrange(80) for _ in range(60))
    # Slides begin at multiples of their lengths: the shift is one of them.
    by = -(-LEAST // 30) * 30 if end == "least" else (GREATEST - 200) // 30 * 30
    edges = [record(rng, ts) | {"id": f"i{place}"} for place, ts in enumerate(times)]
    for text in PATTERNS:
        here, there = Pass(text), Pass(text)
        expected = [shift(match, by) for each in edges for match in here.push([each])]
        found = [match for each in edges for match in there.push([each | {"ts": int(str(each["ts"])) + by}])]
        assert [without_id(match) for match in found] == [without_id(match) for match in expected], text


@pytest.mark.parametrize("seed", range(40))
def test_a_stream_that_ends_with_the_greatest_time_gives_what_it_gives_elsewhere(seed: int) -> None:
    """Ends past all times are the greatest one, and what ends there is valid to the last."""
    rng = random.Random(seed)
    # Slides begin at multiples of their lengths, and none of them ends at the two greatest times themselves.
    last = GREATEST % 30 + 60
    times = [*sorted(rng.randrange(rng.choice([0, 40, 60]), last) for _ in range(40)), *[last - 1] * 5, *[last] * 15]
    edges = [record(rng, ts) | {"id": f"i{place}"} for place, ts in enumerate(times)]
    for place in range(10, 60, 7):
        edges[place] = {"ts": times[place], "op": "delete", "id": f"i{rng.randrange(place)}"}
    for text in (*(text.replace("SLIDE(3ms)", "SLIDE(5ms)") for text in PATTERNS), EMITTED):
        here, there = Pass(text), Pass(text)
        by = GREATEST - last
        expected = seen_to_the_last([shift(match, by) for each in edges for match in here.push([each])])
        found = [match for each in edges for match in there.push([each | {"ts": int(str(each["ts"])) + by}])]
        # Any one of the paths with equal ends is reported, and records whose changes are not seen are not counted.
        any_of = {"nth": 0, "path": None}
        assert [without_id(match) | any_of for match in found] == [without_id(match) | any_of for match in expected], text


def seen_to_the_last(matches: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return what is left of matches where no end is past the greatest time: changes from there to there are none."""
    ends: dict[tuple[object, object], int] = {}
    left: list[dict[str, object]] = []
    for match in matches:
        valid, key = match.get("valid"), (match.get("src"), match.get("dst"))
        if not isinstance(valid, list):
            left.append(match)
            continue
        start, end = valid
        before, ends[key] = ends.get(key, LEAST), start if match["kind"] == "retract" else end
        unseen = (match["kind"] == "extend" and before >= GREATEST) or (match["kind"] == "retract" and start >= GREATEST)
        # What ended just now is withdrawn, whatever the end was.
        if not unseen or (start == match["detected_at"] == GREATEST and match["kind"] == "retract"):
            left.append(match | {"valid": [start, min(GREATEST, end)]})
    return left


def without_id(match: dict[str, object]) -> dict[str, object]:
    """Return a match without its identity, which that of a result has its times in."""
    return {name: value for name, value in match.items() if name != "match_id"}


def test_a_slide_that_begins_before_the_least_time_ends_in_time() -> None:
    own = Pass("near(x, y) <- x(x, y).\nON s WINDOW(1h) SLIDE(1h)")
    ends = {"src": "a", "dst": "b", "label": "x"}
    first = own.push([ends | {"ts": LEAST}])
    again = own.push([ends | {"ts": 1_700_000_000_000}])
    assert [match["kind"] for match in (*first, *again)] == ["match", "match"]
    assert first[0]["valid"] != again[0]["valid"]


def test_the_fuzz_target_of_passes_has_these_patterns() -> None:
    """Where it fails, write what it expects to the file."""
    patterns = [pattern for text in PATTERNS for pattern in parse(text)]
    plans = plan_all(patterns, PlannerOptions(), unit=TimeUnit.MILLISECOND, statistics=None)
    limits = [Limits(10_000, 10_000_000, "shed", 2_000)] * len(plans)
    encoded = encode(plans, TimeUnit.MILLISECOND, columns(patterns), limits, Concurrency())
    written = Path(__file__).parents[1] / "fuzz/fuzz_targets/families.json"
    assert json.loads(written.read_bytes()) == json.loads(encoded)
