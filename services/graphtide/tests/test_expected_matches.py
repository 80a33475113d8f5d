"""What statistics let expect of one record is what a record completes, within a factor; where nothing is expected, few come."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide.readers import ReaderOptions, from_edges
from graphtide_core.time import TimeUnit
from graphtide_native.sampling import sample
from graphtide_query import parse
from graphtide_query.bursts import burst_of
from graphtide_query.estimates.bursts import MOST_MATCHES
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphtide_core.statistics import StatisticsSnapshot

    Records = Sequence[dict[str, object]]

FACTOR = 4
"""How far an estimate may be off."""

LENGTH = 430
"""Records of a stream of edges: windows are full for the last 30 of them."""

_CHOICE = random.Random(1)


def edge(ts: int, source: object, target: object, label: str) -> dict[str, object]:
    return {"ts": ts, "src": f"v{source}", "dst": f"v{target}", "label": label}


def even(ts: int, label: str = "y") -> dict[str, object]:
    return edge(ts, _CHOICE.randrange(300), _CHOICE.randrange(300), label)


BUSY = [edge(ts, "hub", ts, "x") if ts % 10 == 0 else even(ts) for ts in range(LENGTH)]
"""One vertex has a tenth of the edges, all those of label x."""

SINK = [edge(ts, ts, "hub", "x") if ts % 10 == 0 else even(ts) for ts in range(LENGTH)]

EVEN = [even(ts, "xy"[ts % 2]) for ts in range(LENGTH)]

EVENTS: Records = [{"ts": ts, "type": "abc"[ts % 3]} for ts in range(215)]
"""Windows of 200 are full for the last 15 of them."""

MANY = {
    "a star": ("PATTERN p MATCH (h)-[a:x]->(b), (h)-[c:x]->(d), (h)-[e:x]->(f) ON s WINDOW 400ms", BUSY),
    "an ordered star": (
        "PATTERN p MATCH (h)-[a:x]->(b), (h)-[c:x]->(d), (h)-[e:x]->(f), (h)-[g:x]->(i) ORDER a < c < e < g ON s WINDOW 400ms",
        BUSY,
    ),
    "into a hub": ("PATTERN p MATCH (b)-[a:x]->(h), (d)-[c:x]->(h), (f)-[e:x]->(h) ON s WINDOW 400ms", SINK),
    "any label": ("PATTERN p MATCH (h)-[a]->(b), (h)-[c]->(d), (h)-[e]->(f) ON s WINDOW 400ms", BUSY),
    "a window of edges": ("PATTERN p MATCH (h)-[a:x]->(b), (h)-[c:x]->(d), (h)-[e:x]->(f) ON s WINDOW 400 EDGES", BUSY),
    "events": ("PATTERN p SEQ(a: a, b: b, c: c) ON s WITHIN 200ms", EVENTS),
    "events in any order": ("PATTERN p SEQ(a: a, AND(b: b, c: c)) ON s WITHIN 200ms", EVENTS),
    "a join": ("QUERY p INPUT a = ()-[:x]->() ON s WINDOW(400) r(x, y, z) <- a(h, x), a(h, y), a(h, z).", BUSY),
}

FEW = {
    "an even star": ("PATTERN p MATCH (h)-[a:x]->(b), (h)-[c:x]->(d), (h)-[e:x]->(f) ON s WINDOW 400ms", EVEN),
    "pairs": ("PATTERN p MATCH (h)-[a:x]->(b), (h)-[c:x]->(d) ON s WINDOW 400ms", BUSY),
    "labels that the hub has not": ("PATTERN p MATCH (h)-[a:y]->(b), (h)-[c:y]->(d), (h)-[e:y]->(f) ON s WINDOW 400ms", BUSY),
    "a path": ("PATTERN p MATCH (a)-[x]->(b)-[y]->(c)-[z]->(d) ON s WINDOW 400ms", EVEN),
    "edges that leave where they arrive": (
        "PATTERN p MATCH (b)-[a:x]->(h), (d)-[c:x]->(h), (f)-[e:x]->(h) ON s WINDOW 400ms",
        BUSY,
    ),
    "a short window": ("PATTERN p MATCH (h)-[a:x]->(b), (h)-[c:x]->(d), (h)-[e:x]->(f) ON s WINDOW 60ms", BUSY),
    "a triangle": ("PATTERN p MATCH (a)-[x]->(b)-[y]->(c)-[z]->(a) ON s WINDOW 400ms", BUSY),
    "pairs of events": ("PATTERN p SEQ(a: a, b: b) ON s WITHIN 200ms", EVENTS),
    "one column": ("QUERY p INPUT a = ()-[:x]->() ON s WINDOW(400) r(h, x) <- a(h, x), a(h, y), a(h, z).", BUSY),
    "a component": (
        "PATTERN p MATCH (h)-[a:x]->(b), (h)-[c:x]->(d), (h)-[e:x]->(f) UNDER DUAL SIMULATION ON s WINDOW 400ms",
        BUSY,
    ),
}


def statistics(records: Records) -> StatisticsSnapshot:
    options = ReaderOptions()
    return sample(next(iter(from_edges(records, options).batches())), options.symbols)


def estimate_matches(text: str, records: Records) -> int:
    (pattern,) = parse(text)
    burst = burst_of(pattern, statistics(records), TimeUnit.MILLISECOND)
    assert burst is None or burst.certain == 1, "an estimate refuses nothing"
    return 0 if burst is None else burst.matches


def most_by_one_record(text: str, records: Records) -> int:
    found = Counter(match.last_ts for match in graphtide.match(text, records))
    return max(found.values(), default=0)


@pytest.mark.parametrize("case", MANY)
def test_many_matches_are_expected_about_as_they_come(case: str) -> None:
    most = most_by_one_record(*MANY[case])
    assert most > MOST_MATCHES
    assert most / FACTOR < estimate_matches(*MANY[case]) < most * FACTOR


@pytest.mark.parametrize("case", FEW)
def test_where_few_come_none_are_warned_of(case: str) -> None:
    assert most_by_one_record(*FEW[case]) <= MOST_MATCHES
    assert estimate_matches(*FEW[case]) == 0


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN p MATCH (h)-[a:x]->(b), (h)-[c:x]->(d), (h)-[e:x]->(f) WHERE a.ip = c.ip ON s WINDOW 400ms",
        "PATTERN p SEQ(a: a, b: b, c: c) WHERE a.user = b.user ON s WITHIN 200ms",
        "PATTERN p SEQ(a: a, b: b, c: c) ON s WITHIN 200ms PARTITION BY user",
    ],
)
def test_of_attributes_that_must_be_equal_nothing_is_known(text: str) -> None:
    assert estimate_matches(text, EVENTS if "SEQ" in text else BUSY) == 0


def test_an_estimate_of_many_edges_takes_bounded_work() -> None:
    chain = ", ".join(f"(v{n})-[e{n}:x]->(v{n + 1})" for n in range(64))
    (pattern,) = parse(f"PATTERN p MATCH {chain} ON s WINDOW 400ms")
    assert burst_of(pattern, statistics(EVEN), TimeUnit.MILLISECOND) is None


def test_validate_notes_it_beside_a_stream(tmp_path: Path) -> None:
    (tmp_path / "p.gt").write_text(MANY["a star"][0])
    lines = (f"{each['ts']},{each['src']},{each['dst']},{each['label']}\n" for each in BUSY)
    (tmp_path / "s.csv").write_text("ts,src,dst,label\n" + "".join(lines))
    alone = CliRunner().invoke(app, ["validate", str(tmp_path / "p.gt")])
    assert (alone.exit_code, alone.stderr) == (0, "")
    beside = CliRunner().invoke(app, ["validate", str(tmp_path / "p.gt"), "--stream", str(tmp_path / "s.csv")])
    assert beside.exit_code == 0
    assert "note: pattern 'p': one record may complete some" in beside.stderr
    assert "its busiest vertex, as 'h', has 40 edges within the window" in beside.stderr
