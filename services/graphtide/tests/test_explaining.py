"""What `explain` says of a run that was analyzed: every format, bad input."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide import Concurrency, InvalidPatternError, LimitExceededError, Limits, MatchOptions, UnreadableStreamError
from graphtide_query.families import FAMILIES

if TYPE_CHECKING:
    from pathlib import Path

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) WHERE y.amount > 3 ORDER x < y ON payments WINDOW 10"
ENGINES = ("timing", "sj-tree", "re-search", "filtering")


def payment(ts: int, source: str, target: str, amount: int, label: str = "pays") -> dict[str, object]:
    return {"ts": ts, "src": source, "dst": target, "label": label, "id": f"p{ts}", "amount": amount}


RECORDS = [
    payment(1, "ann", "bob", 5),
    payment(2, "bob", "ann", 9),
    payment(3, "bob", "cem", 2),
    payment(40, "dan", "eve", 1),
]


def run_analyze(pattern: str, records: object, engine: str = "timing", **options: object) -> str:
    return str(graphtide.explain(pattern, options=MatchOptions(engine=engine), analyze=records, **options))  # type: ignore[call-overload] # a test's table of options


LOGINS = """
PATTERN brute_force SEQ(NOT before:failed, f:failed{3,}, s:success) WHERE s.risk > 2 PARTITION BY user SKIP TILL NEXT
ON logins WITHIN 10m
PATTERN never SEQ(o:logout, r:reset) ON logins WITHIN 10m
"""


def login(ts: int, kind: str, user: str, risk: int = 5) -> dict[str, object]:
    return {"ts": ts, "type": kind, "id": f"{user}{ts}", "user": user, "risk": risk}


ATTEMPTS = [
    *(login(ts, "failed", "ann") for ts in (1, 2, 3)),
    login(4, "success", "ann"),
    *(login(ts, "failed", "bob") for ts in (5, 6)),
    login(7, "success", "bob", risk=1),
    login(8, "logout", "bob"),
]


def test_event_patterns_have_a_funnel_and_say_why_events_are_not_a_match() -> None:
    asked = ["f=ann1,f=ann2,f=ann3,s=ann4", "s=bob7", "f=bob5,f=bob6,s=ann4", "o=bob8"]
    shown = run_analyze(LOGINS, ATTEMPTS, engine="auto", why_not=asked)
    _, _, emitted = shown.partition("  match funnel\n")
    assert [line.strip() for line in emitted.splitlines()] == [
        "step                                      looked at  type  predicate  passed",
        "records as brute_force.NOT before:failed          8     3          0       5",
        "records as brute_force.f:failed                   8     3          0       5",
        "records as brute_force.s:success                  8     6          1       1",
        "records as never.o:logout                         8     7          0       1",
        "records as never.r:reset                          8     8          0       0",
        "matches of brute_force                                                     1",
        "matches of never                                                           0",
        "",
        "why not",
        "never has no match",
        "event r: no record has the type of r:reset",
        "f=ann1, f=ann2, f=ann3, s=ann4: in a match of brute_force, emitted for 1970-01-01T00:00:00.004Z",
        "s=bob7: no match of brute_force",
        "s.risk > 2 is not true: s.risk is 1",
        "f=bob5, f=bob6, s=ann4: no match of brute_force",
        "f{3,} does not hold for 2 events",
        "o=bob8: no match of never",
        "no record near them could be r",
    ]


def test_why_events_are_not_a_match_stands_in_json_and_html() -> None:
    emitted = json.loads(run_analyze(LOGINS, ATTEMPTS, engine="auto", why_not=["s=bob7"], format="json"))[0]
    assert emitted["funnel"]["events"]["brute_force"]["s"] == {
        "looked_at": 8,
        "refused": {"type": 6, "predicate": 1},
        "passed": 1,
    }
    assert emitted["funnel"]["matches"] == {"brute_force": 1, "never": 0}
    assert emitted["why_not"] == {
        "events_without_candidates": {"never": ["r"]},
        "answers": [
            {
                "pattern": "brute_force",
                "asked": {"s": ["bob7"]},
                "matched_at": None,
                "obstacle": "predicate",
                "event": None,
                "events": [{"event": "s", "id": "bob7", "ts": 7}],
                "condition": "s.risk > 2",
                "values": {"s.risk": 1},
                "excess": None,
            }
        ],
    }
    assert "<h5>why not</h5>" in run_analyze(LOGINS, ATTEMPTS, engine="auto", why_not=["s=bob7"], format="html")


def test_instances_that_patterns_share_are_counted_as_they_are_stored() -> None:
    text = "\n".join(f"PATTERN p{kind} SEQ(a:A, b:B, c:{kind}) ON s WITHIN 10" for kind in "CD")
    records = [{"ts": ts, "type": kind, "id": str(ts)} for ts, kind in enumerate("AABBCD")]
    shown = str(graphtide.explain(text, options=MatchOptions(builder="casem"), analyze=records))
    assert "peak 4, created 4" in shown
    assert re.search(r"matches of pC +4\n +matches of pD +4\n", shown)


def test_a_question_of_no_event_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'s' is not a question of an event pattern.*'brute_force' has the events f, s"):
        graphtide.explain(LOGINS, analyze=ATTEMPTS, why_not=["s"])


def test_json_has_the_funnel_and_why_not() -> None:
    (emitted,) = json.loads(run_analyze(PATTERN, RECORDS, format="json", near_misses=1))
    assert emitted["funnel"]["edges"]["y"] == {
        "looked_at": 4,
        "refused": {"predicate": 2},
        "passed": 2,
        "discarded": 2,
    }
    assert emitted["funnel"]["steps"] == [
        {"node": "L1.1", "part": "whole", "edge": None, "looked_at": 4, "refused": {}, "passed": 4},
        {"node": "L1.2", "part": "whole", "edge": None, "looked_at": 1, "refused": {"distinct": 1}, "passed": 0},
    ]
    assert emitted["funnel"]["stores"] == {
        "L1.1": {"created": 4, "alive": 1, "expired": 3, "deleted": 0, "given_up": 0, "consumed": 0}
    }
    assert emitted["why_not"] == {
        "matches": 0,
        "edges_without_candidates": [],
        "near_misses": [
            {
                "node": "L1.1",
                "edges": {"x": {"id": "p3", "ts": 3}},
                "vertices": {"a": "bob", "b": "cem"},
                "waited_for": ["y"],
                "expired_at": 13,
                "searched_at": None,
                "refused": {},
            }
        ],
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_every_format_and_engine_says_first_what_edge_no_record_could_be(engine: str) -> None:
    pattern = PATTERN.replace("y:pays", "y:lends")
    reason = "edge y: no record has the labels of (b)-[y:lends]->(c)"
    lines = [line.strip() for line in run_analyze(pattern, RECORDS, engine).splitlines()]
    assert lines[lines.index("why not") + 1 :][:2] == ["the pattern has no match", reason]
    assert reason in run_analyze(pattern, RECORDS, engine, format="dot")
    (emitted,) = json.loads(run_analyze(pattern, RECORDS, engine, format="json"))
    assert emitted["why_not"]["edges_without_candidates"] == ["y"]


def test_a_query_edge_that_predicates_refuse_is_said_with_its_counts() -> None:
    text = run_analyze(PATTERN.replace("> 3", "> 100"), RECORDS)
    assert "edge y: 4 records have the labels of (b)-[y:pays]->(c), none is one: predicate 4" in text


def test_as_many_near_misses_as_asked_for() -> None:
    counts = [run_analyze(PATTERN, RECORDS, near_misses=number).count("expired at") for number in (0, 2, 9)]
    assert counts == [0, 2, 3]


def test_a_stream_without_records_is_said_once() -> None:
    lines = [line.strip() for line in run_analyze(PATTERN, []).splitlines()]
    assert lines[lines.index("why not") + 1 :][:2] == ["the pattern has no match", "the stream has no record"]


def test_a_traced_run_has_one_thread_and_one_plan() -> None:
    options = MatchOptions(engine="timing", concurrency=Concurrency(3))
    assert str(graphtide.explain(PATTERN, options=options, analyze=RECORDS)) == run_analyze(PATTERN, RECORDS)
    (emitted,) = json.loads(graphtide.explain(PATTERN, analyze=RECORDS, format="json"))
    assert emitted["funnel"]["edges"]["x"]["passed"] == 4


def test_partial_matches_given_up_at_a_limit_are_counted() -> None:
    options = MatchOptions(engine="timing", limits=Limits(partial_matches=2, policy="pause"))
    with pytest.warns(graphtide.StreamWarning, match="was paused by its limit of 2 partial matches"):
        (emitted,) = json.loads(graphtide.explain(PATTERN, options=options, analyze=RECORDS, format="json"))
    assert emitted["funnel"]["stores"]["L1.1"] == {
        "created": 2,
        "alive": 0,
        "expired": 0,
        "deleted": 0,
        "given_up": 2,
        "consumed": 0,
    }
    assert emitted["funnel"]["steps"][0]["refused"] == {"limit": 1}


def test_what_cannot_be_analyzed_is_refused(tmp_path: Path) -> None:
    bare = tmp_path / "bare.csv"
    bare.write_text("ts,src,dst,label\n1,a,b,pays\n")
    bounded = MatchOptions(engine="timing", limits=Limits(partial_matches=2))
    with pytest.raises(UnreadableStreamError, match="no such file"):
        run_analyze(PATTERN, tmp_path / "none.csv")
    with pytest.raises(InvalidPatternError, match="no attribute 'amount'"):
        run_analyze(PATTERN, bare)
    with pytest.raises(LimitExceededError):
        graphtide.explain(PATTERN, options=bounded, analyze=RECORDS)
    with pytest.raises(ValueError, match="there is no format 'xml'"):
        run_analyze(PATTERN, RECORDS, format="xml")


def test_of_many_patterns_the_plans_are_those_of_a_pass_with_all_of_them() -> None:
    records = [
        {"ts": number, "src": f"v{number % 7}", "dst": f"v{number % 5 + 7}", "label": f"l{number % 200}"}
        for number in range(2_000)
    ]
    patterns = "\n".join(
        f"PATTERN p{each} MATCH (a)-[x:l{each}]->(b)-[y:l{each + 1}]->(c) ON s WINDOW 100ms" for each in range(150)
    )
    emitted = json.loads(graphtide.explain(patterns, statistics_from=records, format="json"))
    analyzed = json.loads(graphtide.explain(patterns, analyze=records, format="json"))
    assert [each["engine"] for each in emitted] == [each["engine"] for each in analyzed]
    considered = [each["settings"]["considered"] for each in emitted]
    assert considered == [each["settings"]["considered"] for each in analyzed]
    assert not any(" 0.0 ns" in each for each in considered)


def test_the_object_is_every_format_and_a_sequence_of_explanations() -> None:
    emitted = graphtide.explain(f"{PATTERN} {PATTERN.replace('PATTERN p', 'PATTERN q')}", analyze=RECORDS)
    assert [each.pattern for each in emitted] == ["p", "q"]
    assert str(emitted) == repr(emitted) == emitted.to_text()
    assert [each["pattern"] for each in json.loads(emitted[1:].to_json())] == ["q"]
    assert emitted == graphtide.explain(f"{PATTERN} {PATTERN.replace('PATTERN p', 'PATTERN q')}", analyze=RECORDS)
    forms = {"text": emitted.to_text(), "dot": emitted.to_dot(), "mermaid": emitted.to_mermaid(), "svg": emitted.to_svg()}
    for form, text in {**forms, "json": emitted.to_json()}.items():
        assert graphtide.explain(text_of(emitted), analyze=RECORDS, format=form) == text


def text_of(emitted: graphtide.Explanations) -> str:
    return " ".join(PATTERN.replace("PATTERN p", f"PATTERN {each.pattern}") for each in emitted)


CALLS = """
PATTERN payout
MATCH (gang)-[calls:call *2]->(mule), (mule)-[pays:pay]->(drop)
WHERE pays.amount > 3
ORDER calls < pays
UNDER DUAL SIMULATION
ON phone WINDOW 10
"""

CALLED = [
    payment(1, "ann", "bob", 0, "call"),
    payment(2, "ann", "bob", 0, "call"),
    payment(3, "ann", "dan", 0, "call"),
    payment(4, "bob", "eve", 5, "pay"),
    payment(5, "dan", "eve", 5, "pay"),
    payment(6, "bob", "eve", 1, "pay"),
    payment(30, "eve", "ann", 0, "call"),
]


@pytest.mark.parametrize("engine", FAMILIES["simulation"].names)
def test_of_an_edge_under_dual_simulation_it_is_said_why_it_is_in_no_match(engine: str) -> None:
    text = run_analyze(CALLS, CALLED, engine, why_not=["p5", "p1", "p6", "p30", "none"])
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("why not") + 1 :] == [
        "edge p1 at 1970-01-01T00:00:00.001Z, from ann to bob: "
        "in a match, first emitted at 1970-01-01T00:00:00.004Z, oldest edge p1",
        "edge p5 at 1970-01-01T00:00:00.005Z, from dan to eve, expired at 1970-01-01T00:00:00.016Z",
        "not calls_1, calls_2: label",
        "as pays: dan as mule needs different edges that enter it as calls_1, calls_2, and too few match of p3",
        "edge p6 at 1970-01-01T00:00:00.006Z",
        "not calls_1, calls_2: label",
        "not pays: predicate",
        "edge p30 at 1970-01-01T00:00:00.030Z, from eve to ann",
        "not pays: label",
        "as calls_1, calls_2: eve as gang needs different edges that leave it as calls_1, calls_2, and too few match of p30",
        "no record has the id none",
    ]


def test_json_has_what_an_edge_lacks() -> None:
    (emitted,) = json.loads(run_analyze(CALLS, CALLED, "ddst-coloring", format="json", why_not=["p5", "none"]))
    assert emitted["why_not"]["unknown_ids"] == ["none"]
    (edge,) = emitted["why_not"]["edges"]
    assert edge == {
        "id": "p5",
        "ts": 5,
        "src": "dan",
        "dst": "eve",
        "asked": True,
        "refused": {"calls_1": "label", "calls_2": "label"},
        "matched_at": None,
        "component": None,
        "lacks": {
            "pays": {
                "reason": "distinct",
                "edges": ["calls_1", "calls_2"],
                "vertex": {"mule": "dan"},
                "enters": True,
                "there": ["p3"],
                "after": None,
            }
        },
        "left": "expired",
        "left_at": 16,
    }


def test_it_is_not_asked_in_vain() -> None:
    with pytest.raises(ValueError, match="no stream is matched"):
        graphtide.explain(CALLS, why_not=["p1"])
    with pytest.raises(ValueError, match="no pattern is under dual simulation"):
        graphtide.explain(PATTERN, analyze=RECORDS, why_not=["p1"])


STRANGE = "a\x00<b>&\x1b"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_notebook_gets_a_picture_with_every_node_and_what_is_below_it_in_the_plan(engine: str) -> None:
    pattern = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c), (b)-[z:owns]->(d) ORDER x < y ON payments WINDOW 10"
    emitted = graphtide.explain(pattern, options=MatchOptions(engine=engine), analyze=RECORDS)
    root = ET.fromstring(emitted._repr_svg_())  # noqa: S314 - our own text
    space = "{http://www.w3.org/2000/svg}"
    tops = {text.text: float(text.attrib["y"]) for text in root.iter(f"{space}text") if "y" in text.attrib}
    boxes = [
        [float(rect.attrib[name]) for name in ("x", "y", "width", "height")]
        for rect in root.iter(f"{space}rect")
        if "rx" in rect.attrib
    ]
    assert len(boxes) == len(emitted[0].nodes)
    for node in emitted[0].nodes:
        assert node.does in tops
        assert all(tops[name] < tops[node.name] for name in node.inputs), "what it reads stands above"
    for number, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, high in boxes[:number]:
            assert x >= left + wide or left >= x + width or y >= top + high or top >= y + height, "no box lies on another"
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert all(x >= 0 and y >= 0 and x + wide <= width and y + high <= height for x, y, wide, high in boxes)
    arrows = [path for path in root.iter(f"{space}path") if "marker-end" in path.attrib]
    assert len(arrows) == sum(len(node.inputs) for node in emitted[0].nodes)


class Page(HTMLParser):
    """The text of a page, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def test_a_page_has_settings_picture_funnel_and_why_not_with_any_text_in_the_stream() -> None:
    records = [payment(1, STRANGE, "bob", 5), payment(30, "x", "y", 5)]
    emitted = graphtide.explain(PATTERN, options=MatchOptions(engine="timing"), analyze=records)
    page = Page(emitted._repr_html_())
    assert page.open == []
    for part in (
        "p (timing)",
        "storage",
        "ms-dag",
        "match funnel",
        "records as x",
        "why not",
        "expired at 1970-01-01T00:00:00.011Z",
    ):
        assert part in page.text
    assert "a\ufffd<b>&\ufffd" in page.text
    ET.fromstring(emitted.to_svg())  # noqa: S314 - our own text
    emitted = graphtide.explain(PATTERN.replace("pays", "`<pays&>`"), options=MatchOptions(engine="timing"), analyze=records)
    assert "<pays&>" in Page(emitted.to_html()).text
    ET.fromstring(emitted.to_svg())  # noqa: S314 - our own text


def test_times_in_why_not_are_times_of_the_stream_and_numbers_for_programs() -> None:
    for unit, shown in (("s", "2024-01-31T12:00:10Z"), ("ms", "1970-01-20T18:05:02.410Z")):
        options = MatchOptions(engine="timing", time_unit=unit)
        records = [payment(1_706_702_400, "ann", "bob", 5), payment(1_706_702_500, "dan", "eve", 1)]
        emitted = graphtide.explain(PATTERN, options=options, analyze=records)
        assert f"expired at {shown}" in emitted.to_text()
        assert json.loads(emitted.to_json())[0]["why_not"]["near_misses"][0]["expired_at"] == 1_706_702_410


def test_patterns_that_search_together_are_explained_so() -> None:
    """Eight query edges are alike; the ninth pattern has one of another label."""
    chains = "\n".join(f"PATTERN p{number} MATCH (a)-[x:k]->(b)-[y:k]->(c) ON s WINDOW {10 + number}" for number in range(4))
    other = "PATTERN other MATCH (a)-[x:k]->(b)-[y:m]->(c) ON s WINDOW 9"
    text = str(graphtide.explain(f"{chains}\n{other}", options=MatchOptions(engine="filtering")))
    assert text.count("  shared: 2 of 2 look-ups, with 3 other patterns\n") == 4
    assert "other: engine filtering\n  state" in text
    assert "shared:" not in str(graphtide.explain(other))
