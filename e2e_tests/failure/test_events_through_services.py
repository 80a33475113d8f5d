"""Event patterns through the services: exact after any kills, many at once, and emitted in time where nothing more comes."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import graphtide
import pytest
from graphtide_core.match import OccurrenceMatch
from graphtide_testing.whole import PATIENCE, Whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

PATTERNS = (
    "PATTERN chain SEQ(a:A, b:B, c:C) WHERE a.n <= c.n ON s WITHIN 20ms",
    "PATTERN both AND(a:A, b:B) WHERE a.n = b.n ON s WITHIN 12ms",
    "PATTERN either SEQ(OR(a:A, b:B), c:C) WHERE c.n = 3 ON s WITHIN 10ms",
    "PATTERN quiet SEQ(a:A, b:B, NOT c:C) WHERE a.n = 1 ON s WITHIN 15ms",
    "PATTERN lone SEQ(NOT a:A, b:B, c:C) WHERE b.n = 2 ON s WITHIN 9ms",
    "PATTERN many SEQ(a:A{2,3}, c:C) WHERE c.n = 0 PARTITION BY n ON s WITHIN 25ms",
    "PATTERN counted SEQ(a:A, b:B) REPORT EXISTS ON s WITHIN 20ms",
    "PATTERN over SEQ(a:A, c:C) WHERE a.n = 3 AND c.n = 3 ON s WITHIN 6ms ON TIMEOUT",
    "PATTERN once SEQ(a:A, b:B) REPORT ONE PER a.n, b.n EVERY 30ms ON s WITHIN 12ms",
    "PATTERN absent SEQ(a:A, NOT c:C, b:B) REPORT DISTINCT ONE PER a.n EVERY 25ms ON s WITHIN 15ms",
    "PATTERN alike AND(a:A, b:A, c:C) REPORT DISTINCT ON s WITHIN 9ms",
    "PATTERN flow MATCH (x)-[e:E]->(y)-[f:E]->(z) ORDER e < f ON s WINDOW 20",
    "PATTERN seldom MATCH (x)-[e:E]->(y)-[f:E]->(z) REPORT DISTINCT ONE PER y.id EVERY 50 ON s WINDOW 20",
)
SERVICES = ("ingestion", "planner", "statistics", "matcher_timing", "matcher_event_pattern", "admin_api")
KILLED = ("matcher_event_pattern", "matcher_event_pattern", "planner", "ingestion", "admin_api")
FLUSH = {"id": "end", "ts": 10**9, "type": "Z"}
"""Ends all that waits: nothing asks for it."""


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    made = Whole(tmp_path, names=SERVICES)
    made.start()
    yield made
    made.end()


def records_of(rng: Random, number: int) -> list[dict[str, object]]:
    """Return the records of a request: events, and edges among them; equal times."""
    made: list[dict[str, object]] = []
    for place in range(number * 8, number * 8 + 8):
        kind, ts = rng.choice("AABBCCE"), place * 3 // 4
        ends = {"src": rng.choice("xyz"), "dst": rng.choice("xyz")} if kind == "E" else {}
        made.append({"id": f"e{place}", "ts": ts, "label" if ends else "type": kind, "n": rng.randrange(4), **ends})
    return made


def count_matches(whole: Whole, name: str | None = None) -> Counter[tuple[str, str, str]]:
    found = (json.loads(record) for record in whole.matches())
    return Counter((each["query"], each["match_id"], each["kind"]) for each in found if name in (None, each["query"]))


def as_sent(ordered: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return ordered records as they were sent: events without ends."""
    ends = ("src", "dst", "label", "src_label", "dst_label")
    return [
        record if record["src"] else {"type": record["label"], **{key: each for key, each in record.items() if key not in ends}}
        for record in ordered
    ]


def count_expected(texts: Sequence[str], ordered: Sequence[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    patterns = [pattern for text in texts for pattern in graphtide.parse(text)]
    matches = graphtide.match(patterns, as_sent(ordered))
    return Counter((match.query, match.match_id, match.kind.value) for match in matches)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_event_patterns_are_exact_while_services_are_killed(whole: Whole, seed: int) -> None:
    rng = Random(seed)
    for text in PATTERNS:
        whole.register(text)
    for number in range(40):
        if number % 8 == 7:
            whole.restart_one(KILLED, rng)
        whole.send_records("s", records_of(rng, number))
    whole.send_records("s", [FLUSH])
    whole.settle("s")
    wanted = count_expected(PATTERNS, whole.ordered_edges("s", ["n"]))
    assert {name for name, _, _ in wanted} == {pattern.name for text in PATTERNS for pattern in graphtide.parse(text)}
    assert count_matches(whole) == wanted


@pytest.mark.slow
def test_what_must_not_come_is_settled_in_a_quiet_stream_under_a_live_clock(tmp_path: Path) -> None:
    whole = Whole(tmp_path, {"ingestion": {"CLOCK_OF": '{"s": "live"}'}}, names=SERVICES)
    try:
        whole.start()
        whole.register("PATTERN silent SEQ(a:A, NOT b:B) ON s WITHIN 3s")
        whole.send_records("s", [{"id": "a", "ts": 1_000, "type": "A"}])
        # At 4 s of the stream's time nothing can come any more; time passes because no edges are sent.
        whole.wait_until(lambda: whole.pattern("silent")["figures"]["matches"] == 1, "the match is emitted", PATIENCE)
        (found,) = (json.loads(record) for record in whole.matches())
        assert (found["query"], found["detected_at"]) == ("silent", 4_000)
    finally:
        whole.end()


def sensors(place: int) -> str:
    first, second, third = place % 40, (place * 7 + 1) % 40, (place * 11 + 2) % 40
    limit = 20 + place % 10
    return (
        f"PATTERN p{place} SEQ(a:s{first}, b:s{second}, c:s{third}) "
        f"WHERE a.n < {limit} AND b.n < {limit} AND c.n < 30 ON s WITHIN 60ms"
    )


@pytest.mark.slow
def test_a_thousand_patterns_while_some_come_and_go_and_services_are_killed(whole: Whole) -> None:
    rng = Random(7)
    texts = {f"p{place}": sensors(place) for place in range(1_100)}

    def register(names: Sequence[str]) -> None:
        for name in names:
            answer = whole.control.post("/api/v1/patterns", json={"text": texts[name]})
            assert answer.status_code == 201, answer.text

    def running() -> int:
        listed = whole.control.get("/api/v1/patterns").json()["patterns"]
        return sum(each["state"] == "running" for each in listed)

    def readings(number: int) -> list[dict[str, object]]:
        return [
            {"id": f"e{place}", "ts": place * 2, "type": f"s{rng.randrange(40)}", "n": rng.randrange(60)}
            for place in range(number * 20, number * 20 + 20)
        ]

    register([f"p{place}" for place in range(1_000)])
    whole.wait_until(lambda: running() == 1_000, "all run", 600)
    number = 0
    for _ in range(30):
        whole.send_records("s", readings(number))
        number += 1
    for step in range(10):
        register([f"p{1_000 + place}" for place in range(step * 10, step * 10 + 10)])
        for place in range(step * 5, step * 5 + 5):
            whole.control.delete(f"/api/v1/patterns/p{place}", headers={"If-Match": "*"}).raise_for_status()
        for _ in range(5):
            whole.send_records("s", readings(number))
            number += 1
        whole.restart_one(KILLED, rng)
        whole.wait_until(lambda: whole.control.get("/readyz").status_code == 200, "the API answers")
    whole.wait_until(lambda: running() == 1_050, "all that are left run", 600)
    for _ in range(30):
        whole.send_records("s", readings(number))
        number += 1
    whole.send_records("s", [FLUSH])
    whole.settle("s")
    ordered = whole.ordered_edges("s", ["n"])
    found = count_matches(whole)
    assert set(found.values()) == {1}
    stayed = [f"p{place}" for place in range(50, 1_000)]
    wanted = count_expected([texts[name] for name in stayed], ordered)
    assert sum(wanted.values()) > 500
    assert Counter({key: count for key, count in found.items() if key[0] in stayed}) == wanted
    # A later pattern gets the matches of events that came after it; a deleted one, no match that is wrong.
    came = {edge["id"]: offset for offset, edge in whole.placed_edges("s")}
    starts = {name: whole.pattern(name)["start"] for name in (f"p{place}" for place in range(1_000, 1_100))}
    patterns = [pattern for name in starts for pattern in graphtide.parse(texts[name])]
    since = Counter(
        (match.query, match.match_id, match.kind.value)
        for match in graphtide.match(patterns, as_sent(ordered))
        if isinstance(match, OccurrenceMatch)
        and max(came[str(event)] for event in match.events.values()) >= starts[match.query]
    )
    assert Counter({key: count for key, count in found.items() if key[0] in starts}) == since
    gone = [f"p{place}" for place in range(50)]
    assert {key for key in found if key[0] in gone} <= set(count_expected([texts[name] for name in gone], ordered))
