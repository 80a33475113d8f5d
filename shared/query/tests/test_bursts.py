"""How many matches one record may complete: parts that can be exchanged are counted, whatever the family."""

from __future__ import annotations

import random
from itertools import permutations
from math import factorial, prod
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from graphtide_core.statistics import DegreeMoments, EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import EventTime, TimeUnit
from graphtide_query import parse
from graphtide_query.bursts import burst_of
from graphtide_query.symmetry import ColouredGraph, orbits
from graphtide_testing.seeds import seeds

if TYPE_CHECKING:
    from graphtide_query.estimates.bursts import Burst

VALID = Path(__file__).parent / "fixtures" / "valid"


def find(text: str, statistics: StatisticsSnapshot | None = None) -> Burst | None:
    (pattern,) = parse(text)
    return burst_of(pattern, statistics, TimeUnit.SECOND)


def count(text: str, statistics: StatisticsSnapshot | None = None) -> int:
    burst = find(text, statistics)
    return 0 if burst is None else burst.matches


def star(leaves: int, more: str = "", label: str = "x") -> str:
    edges = ", ".join(f"(h)-[e{n}:{label}]->(v{n})" for n in range(1, leaves + 1))
    return f"PATTERN star MATCH {edges} {more} ON s WINDOW 10m"


def events(event_expression: str, more: str = "") -> str:
    return f"PATTERN p {event_expression} {more} ON s WITHIN 10s"


def several(number: int, part: str = "e{}:A") -> str:
    return ", ".join(part.format(n) for n in range(1, number + 1))


def rule(columns: int, more: str = "") -> str:
    names = [f"x{n}" for n in range(columns)]
    return f"q({', '.join(names)}) <- {', '.join(f'a(h, {name})' for name in names)}{more}. ON s WINDOW(1h)"


def rates(**per_second: int) -> StatisticsSnapshot:
    counts = {EdgeType(None, label, None): 100 * rate for label, rate in per_second.items()}
    return StatisticsSnapshot(edges=sum(counts.values()), types=counts, window=TimeRange(EventTime(0), EventTime(100)))


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        (star(10), factorial(10)),
        (star(64), factorial(64)),
        (star(6), 0),
        (star(10, "ORDER e1 < e2 < e3 < e4"), factorial(10) // factorial(4)),
        (star(10, "ORDER " + " < ".join(f"e{n}" for n in range(1, 11))), 0),
        (star(10, "WHERE e1.amount < e2.amount"), factorial(8)),
        (star(8, "WHERE " + " AND ".join(f"e{n}.ip = e{n + 1}.ip" for n in range(1, 8))), factorial(8)),
        (star(8, "WHERE " + " AND ".join(f"e{n}.kind = {n}" for n in range(1, 9))), 0),
        (star(10, "UNDER DUAL SIMULATION"), 0),
        (
            "PATTERN arms MATCH " + ", ".join(f"(h)-[e{n}:x]->(v{n})-[f{n}:y]->(w{n})" for n in range(7)) + " ON s WINDOW 10m",
            factorial(7),
        ),
        ("PATTERN twice MATCH " + ", ".join(f"(a)-[e{n}:x]->(b)" for n in range(8)) + " ON s WINDOW 10m", factorial(8)),
        ("PATTERN ring MATCH " + ", ".join(f"(v{n})-[e{n}:x]->(v{(n + 1) % 40})" for n in range(40)) + " ON s WINDOW 10m", 0),
        (events(f"AND({several(8)})"), factorial(8)),
        (events(f"SEQ(a:B, AND({several(8)}), c:C)"), factorial(8)),
        (events(f"SEQ({several(8)})"), 0),
        (events(f"OR({several(8)})"), 0),
        (events(f"OR(AND({several(8)}), AND({several(7, 'f{}:B')}))"), factorial(8)),
        (events(f"AND(a:B, b:C, NOT OR({several(8)}))"), 0),
        (events(f"AND({several(8, 'SEQ(e{0}:A, f{0}:B)')})"), factorial(8)),
        (rule(8), factorial(8)),
        (rule(6), 0),
        (rule(8, more=" WHERE " + " AND ".join(f"x{n}.id < x{n + 1}.id" for n in range(7))), 0),
    ],
)
def test_ways_to_exchange_parts_are_matches_of_one_record(text: str, matches: int) -> None:
    assert count(text) == matches


def test_iterations_are_counted_by_how_often_their_events_come() -> None:
    assert count(events("SEQ(a:A+, b:B)"), rates(A=2, B=1)) == 2**20 - 1
    assert count(events("SEQ(a:A{3}, b:B)"), rates(A=2, B=1)) == 1_140
    assert count(events("SEQ(a:A+, b:B)"), rates(A=1_000_000, B=1)) == 2**64 - 1
    for quiet in ("", "SKIP TILL NEXT", "PARTITION BY user", "REPORT EXISTS", "WHERE a.user = b.user"):
        statistics = rates(A=2, B=1) if quiet else None
        assert find(events("SEQ(a:A+, b:B)", quiet), statistics) is None
    assert find(events("SEQ(a:A+, b:B)"), rates(A=0, B=9)) is None


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(a:A+, b:B) WHERE a.n < b.n",
        "SEQ(a:A+, b:A, c:A{2,})",
        f"AND({several(9)})",
        "SEQ(a:A, b:A, c:A) WHERE a.n < b.n AND b.n < c.n",
    ],
)
def test_what_is_counted_by_arithmetic_raises_no_alarm(text: str) -> None:
    for statistics in (None, rates(A=100, B=1)):
        assert find(events(text, "REPORT EXISTS"), statistics) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (("SEQ(a:A+, NOT c:C, b:B)", ""), "because its NOT decides on each match; to have them counted, leave out the NOT"),
        (("SEQ(a:A+, b:B)", "REPORT DISTINCT"), "because DISTINCT compares matches; to have them counted, leave out DISTINCT"),
        (("SEQ(a:A+, OR(b:B, SEQ(c:C, d:D)))", ""), "several branches; to have them counted, write a pattern for each branch"),
        (("SEQ(a:A+, b:B) WHERE sum(a.n) > 3", ""), "because a condition computes over an iteration"),
        (("SEQ(a:A+, b:B+) WHERE a.n < b.n", ""), "because a condition relates two iterations"),
    ],
)
def test_counts_that_take_a_list_of_matches_say_so_without_statistics(text: tuple[str, str], said: str) -> None:
    burst = find(events(text[0], f"{text[1] or 'REPORT'} EXISTS"))
    assert burst is not None
    assert burst.text.startswith("ten events of 'a' alone complete 1,023 matches")
    assert said in burst.text
    assert find(events(text[0].replace("+", "{1,2}"), f"{text[1] or 'REPORT'} EXISTS")) is None


def test_a_sentence_says_why_and_what_to_write() -> None:
    burst = find(star(10))
    assert burst is not None
    assert burst.text == (
        "one record may complete 3,628,800 matches: the edges e1, e2, e3, e4, … can be exchanged, and each way to do so is "
        "a match; order them (ORDER e1 < e2 < …), so that each set is found once; REPORT DISTINCT reports one of "
        "them, but finds all"
    )


@pytest.mark.parametrize(
    ("text", "work", "exceeds"),
    [
        (star(9), 1_000, True),
        (star(8), 1_000, False),
        (star(9), 1_000_000, False),
        (star(9, "REPORT DISTINCT"), 1, False),
        (events(f"AND({several(9)})"), 1_000, True),
        (events(f"AND({several(9)}, NOT n:N)", "REPORT EXISTS"), 1, False),
        (events(f"OR(AND({several(9)}), a:B)"), 1, False),
        (rule(9), 1, False),
    ],
)
def test_only_what_the_first_match_brings_for_certain_exceeds_a_limit(text: str, work: int, exceeds: bool) -> None:
    burst = find(text)
    assert burst is not None
    assert burst.exceeds(work) == exceeds


def test_ordinary_patterns_raise_no_alarm(subtests: pytest.Subtests) -> None:
    for file in sorted(VALID.glob("*.gtp")):
        with subtests.test(file.stem):
            assert [burst_of(pattern) for pattern in parse(file.read_text())] == [None] * len(parse(file.read_text()))


def test_symmetries_are_as_many_as_there_are(subtests: pytest.Subtests) -> None:
    for seed in seeds(200):
        with subtests.test(seed=seed):
            chosen = random.Random(seed)
            size = chosen.randrange(1, 7)
            graph = ColouredGraph([chosen.choice("ab") for _ in range(size)])
            for _ in range(chosen.randrange(2 * size)):
                graph.link(chosen.choice("xy"), chosen.randrange(size), chosen.randrange(size))
            base = list(range(size))
            kept = [
                moved
                for moved in permutations(base)
                if all(graph.colours[one] == graph.colours[moved[one]] for one in base)
                and {(kind, moved[one], moved[other]) for kind, one, other in graph.links} == graph.links
            ]
            assert prod(orbits(graph, base)) == len(kept)


def test_the_work_is_bounded_and_cut_short_it_counts_too_few() -> None:
    graph = ColouredGraph(["a"] * 60)
    for one in range(60):
        graph.link("next", one, (one + 1) % 60)
    assert 1 <= prod(orbits(graph, range(60), most_work=5_000)) < prod(orbits(graph, range(60), most_work=10**9)) == 60


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN p SEQ(" + ", ".join(f"e{number}:a" for number in range(64)) + ") ON s WITHIN 365d",
        "PATTERN p AND(" + ", ".join(f"e{number}:a{number % 9}" for number in range(64)) + ") ON s WITHIN 365d",
        "PATTERN p SEQ(e:a, f:a+) SKIP TILL ANY ON s WITHIN 365d",
        "PATTERN p MATCH " + ", ".join(f"(x)-[e{number}:a]->(y{number})" for number in range(64)) + " ON s WINDOW 365d",
        "QUERY q star(x, y0) <- " + ", ".join(f"a(x, y{number})" for number in range(60)) + ". ON s WINDOW(365d)",
    ],
    ids=["SEQ", "AND", "iteration", "star", "join"],
)
def test_estimates_on_the_busiest_stream_are_numbers(text: str) -> None:
    types = {EdgeType(None, label, None): 10**12 for label in ("a", *(f"a{number}" for number in range(9)))}
    busy = DegreeMoments(2, 10**13, 10**26, 10**13)
    known = StatisticsSnapshot(
        window=TimeRange(EventTime(0), EventTime(1)),
        edges=10**13,
        vertices=2,
        types=types,
        out_degrees=busy,
        in_degrees=busy,
    )
    (pattern,) = parse(text)
    found = burst_of(pattern, known, TimeUnit.MILLISECOND)
    assert found is not None
    assert found.matches > 10**6
    assert "one record may complete" in found.text
