"""Which patterns are local to the key of a stream in parts, why others are not, and what EXPLAIN says of both."""

from __future__ import annotations

import pytest
from graphtide_core.part_key import BY_VERTEX, MOST_PARTS, PartKey, key_text, part_of
from graphtide_query import parse, parse_streams_and_patterns
from graphtide_query.explain import explain_all, to_text, with_localities
from graphtide_query.families import PlannerOptions, family_of
from graphtide_query.parts import localities
from graphtide_query.planner import plan_all

SRC, DST, TENANT, LABEL = PartKey("src"), PartKey("dst"), PartKey("tenant"), PartKey("label")

STAR = "PATTERN p MATCH (a)-[e]->(b), (a)-[f]->(c) ON s WINDOW 10m"
PATH = "PATTERN p MATCH (a)-[e]->(b), (b)-[f]->(c) ON s WINDOW 10m"
SAME_TENANT = "PATTERN p MATCH (a)-[e]->(b), (b)-[f]->(c), (c)-[g]->(a) WHERE {} ON s WINDOW 10m"
SIMULATION = "PATTERN p MATCH (a)-[e]->(b), (a)-[f]->(c) {} UNDER DUAL SIMULATION ON s WINDOW 10m"
EVENTS = "PATTERN p SEQ(a:A, b:B) {} ON s WITHIN 10m"


@pytest.mark.parametrize(
    ("text", "key", "answer"),
    [
        (STAR, SRC, "local by src"),
        (STAR, DST, "not local by dst: e and f may end at two vertices; let all edges end at one vertex"),
        (STAR, BY_VERTEX, "local by vertex, reported by the part that owns a"),
        (PATH, BY_VERTEX, "local by vertex, reported by the part that owns b"),
        (PATH, SRC, "not local by src: e and f may begin at two vertices; let all edges begin at one vertex"),
        (PATH, TENANT, "not local by tenant: e.tenant and f.tenant may differ; add WHERE e.tenant = f.tenant"),
        (SAME_TENANT.format("e.tenant = f.tenant AND g.tenant = e.tenant"), TENANT, "local by tenant"),
        (
            SAME_TENANT.format("e.tenant = f.tenant"),
            TENANT,
            "not local by tenant: f.tenant and g.tenant may differ; add WHERE f.t",
        ),
        (
            SAME_TENANT.format("e.tenant = f.tenant OR g.tenant = f.tenant"),
            TENANT,
            "not local by tenant: e.tenant and f.tenant",
        ),
        (SAME_TENANT.format("lower(e.tenant) = lower(f.tenant)"), TENANT, "not local by tenant: e.tenant and f.tenant"),
        (SAME_TENANT.format("e.n > 0"), BY_VERTEX, "not local by vertex: its edges do not all hang at one vertex"),
        (SAME_TENANT.format("e.tenant = 7 AND f.tenant = 7.0 AND g.tenant = 7"), TENANT, "local by tenant, in the part of 7"),
        (SAME_TENANT.format("e.tenant = 1 AND f.tenant = TRUE AND g.tenant = 1"), TENANT, "not local by tenant"),
        ("PATTERN p MATCH (a)-[e:x]->(b), (b)-[f:x]->(c) ON s WINDOW 10m", LABEL, "local by label, in the part of 'x' alone"),
        ("PATTERN p MATCH (a)-[e:x]->(b), (b)-[f:y]->(c) ON s WINDOW 10m", LABEL, "not local by label: e.label and f.label"),
        ("PATTERN p MATCH (a {id: 'v'})-[e]->(b), (a)-[f]->(c) ON s WINDOW 10m", SRC, "local by src, in the part of 'v' alone"),
        (
            "PATTERN p MATCH (a)-[e]->(b), (a)-[f]->(c) ON s WINDOW 9 EDGES",
            SRC,
            "not local by src: WINDOW 9 EDGES counts the edg",
        ),
        (
            STAR.replace("ON s", "REPORT ALL ONE PER b.id EVERY 1h ON s"),
            SRC,
            "not local by src: matches of two parts may have on",
        ),
        (STAR.replace("ON s", "REPORT ALL ONE PER a.id EVERY 1h ON s"), SRC, "local by src"),
        (STAR.replace("ON s", "REPORT DISTINCT ON s"), SRC, "local by src"),
        (
            STAR.replace("ON s", "REPORT DISTINCT ON s"),
            BY_VERTEX,
            "not local by vertex: under DISTINCT matches of the same e",
        ),
        (SIMULATION.format(""), SRC, "not local by src: match components hang together by vertices"),
        (SIMULATION.format(""), BY_VERTEX, "not local by vertex: match components hang together by vertices"),
        (SIMULATION.format("WHERE e.tenant = 'x' AND f.tenant = 'x'"), TENANT, "local by tenant, in the part of 'x' alone"),
        (EVENTS.format(""), TENANT, "not local by tenant: the events of a match may differ in tenant; add PARTITION BY tenant"),
        (EVENTS.format("PARTITION BY tenant"), TENANT, "local by tenant"),
        (EVENTS.format("PARTITION BY tenant, host"), TENANT, "local by tenant"),
        (EVENTS.format("PARTITION BY host"), TENANT, "not local by tenant"),
        (EVENTS.format("WHERE a.tenant = b.tenant"), TENANT, "local by tenant"),
        (EVENTS.format("WHERE a.tenant = b.tenant"), BY_VERTEX, "not local by vertex: an event has no vertices"),
        (
            "PATTERN p SEQ(a:A, NOT n:N, b:B) WHERE a.k = b.k ON s WITHIN 9s",
            PartKey("k"),
            "not local by k: the events of a match",
        ),
        ("PATTERN p SEQ(a:A, NOT n:N, b:B) WHERE a.k = b.k AND n.k = b.k ON s WITHIN 9s", PartKey("k"), "local by k"),
        ("PATTERN p SEQ(a:A, OR(n:N, m:M), b:B) WHERE a.k = n.k AND n.k = b.k ON s WITHIN 9s", PartKey("k"), "not local by k"),
        ("PATTERN p SEQ(a:A+) ON s WITHIN 9s", PartKey("k"), "not local by k: the events of a match may differ in k"),
        ("PATTERN p SEQ(a:A+, b:B) WHERE a.k = b.k ON s WITHIN 9s", PartKey("k"), "local by k"),
        ("PATTERN p SEQ(a:A+, b:B) WHERE a.k = b.k ON s WITHIN 9s ON TIMEOUT REPORT ALL", PartKey("k"), "not local by k"),
        ("QUERY q CONSTRUCT (x)-[:r]->(y) MATCH (x)-[:a]->(y) ON s WINDOW(9s)", SRC, "local by src"),
        (
            "QUERY q CONSTRUCT (x)-[:r]->(y) MATCH (x)-[:a]->(y) ON s WINDOW(9s)",
            TENANT,
            "not local by tenant: edges between the",
        ),
        (
            "QUERY q CONSTRUCT (y)-[:r]->(z) MATCH (x)-[:a]->(y), (x)-[:b]->(z) ON s WINDOW(9s)",
            SRC,
            "not local by src: the resu",
        ),
        ("QUERY q CONSTRUCT (x)-[:r]->(z) MATCH (x)-[:a]->(y), (x)-[:b]->(z) ON s WINDOW(9s)", SRC, "local by src"),
        (
            "QUERY q CONSTRUCT (x)-[:r]->(z) MATCH (x)-[:a]->(y), (x)-[:b]->(z) ON s WINDOW(9s)",
            BY_VERTEX,
            "local by vertex, rep",
        ),
        (
            "QUERY q CONSTRUCT (x)-[:r]->(y) MATCH (x)-/<:a+>/->(y) ON s WINDOW(9s)",
            SRC,
            "not local by src: the results r follow",
        ),
    ],
)
def test_says_where_a_pattern_is_matched(text: str, key: PartKey, answer: str) -> None:
    (pattern,) = parse(text)
    assert str(family_of(pattern).locality(pattern, key)).startswith(answer)


def test_explain_says_it_of_patterns_whose_stream_is_in_parts() -> None:
    definitions, patterns = parse_streams_and_patterns(
        "STREAM s PARTITION BY tenant PARTS 8\nSTREAM t\n"
        "PATTERN one MATCH (a)-[e]->(b) ON s WINDOW 10m\n"
        "PATTERN other MATCH (a)-[e]->(b) ON t WINDOW 10m\n"
        "PATTERN two SEQ(a:A, b:B) PARTITION BY tenant ON s WITHIN 10m\n"
        "PATTERN three SEQ(a:A, b:B) ON s WITHIN 10m\n"
    )
    plans = plan_all(patterns, PlannerOptions())
    where = localities(patterns, definitions)
    assert set(where) == {"one", "two", "three"}
    text = to_text(with_localities(explain_all(plans, [None] * len(plans)), where))
    said = [line.strip() for line in text.splitlines() if "parts" in line]
    assert said == [
        "parts: local by tenant",
        "parts of two: local by tenant",
        "parts of three: not local by tenant: the events of a match may differ in tenant; add PARTITION BY tenant",
    ]
    alone = explain_all(plans, [None] * len(plans))
    assert with_localities(alone, {}) == alone


def test_the_part_of_a_key_is_that_of_the_partitioners_of_kafka() -> None:
    # What `org.apache.kafka.common.utils.Utils.murmur2` returns, without the sign, in 1,000 partitions.
    known = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "abc": 479470107}
    for text, hashed in known.items():
        assert part_of(text, 1_000) == (hashed & 0x7FFFFFFF) % 1_000
    assert {part_of(f"k{number}", 8) for number in range(100)} == set(range(8))
    assert part_of("anything", 1) == 0
    assert part_of("anything", MOST_PARTS) < MOST_PARTS


def test_equal_values_have_one_text() -> None:
    assert key_text(7) == key_text(7.0) == "7"
    assert key_text(-0.0) == key_text(0) == "0"
    assert key_text(2.0**60) == key_text(2**60)
    assert key_text(0.1) == "0.1"
    assert key_text(None) == key_text("") == ""
    assert (key_text(True), key_text(False)) == ("true", "false")
    assert part_of("\ud800", 8) in range(8)
