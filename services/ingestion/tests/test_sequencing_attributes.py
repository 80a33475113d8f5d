"""Attributes that patterns read are kept, however many a sender makes up."""

from __future__ import annotations

from typing import Any

import pytest
from graphtide_core.formats import CSV, JSON_LINES, StreamFormat
from graphtide_ordering import raw_decoding
from graphtide_ordering.progress_reports import progress_of
from graphtide_ordering.raw_decoding import MOST_ATTRIBUTES
from graphtide_telemetry import events
from graphtide_testing.registrations import registering, registration
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage, attributes, edge, lines
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges
from structlog.testing import capture_logs

MANY = [MOST_ATTRIBUTES, 100_000]
SENT = [JSON_LINES, CSV]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> int:
    """Lists of attributes begin anew after a few edges."""
    monkeypatch.setattr(raw_decoding, "FORGET_AFTER", 3)
    return 3


def register_reading(stage: SequencingStage, *names: str) -> None:
    """Register a pattern that reads attributes."""
    where = " AND ".join(f"e.{name} > 0" for name in names)
    text = f"PATTERN reads_{'_'.join(names)} MATCH (v)-[e:x]->(w) WHERE {where} ON flows WINDOW 10"
    stage.write(registering(TOPICS, registration(text, stage.clock.now())))


def send_as(stage: SequencingStage, written: StreamFormat, *edges: dict[str, Any]) -> None:
    """Send edges as one record each."""
    for each in edges:
        if written is JSON_LINES:
            stage.send(lines(each))
        else:
            body = ",".join(map(str, each.values())).encode() + b"\n"
            stage.write(raw.encode(TOPICS.raw(FLOWS), RawEdges(body, written, ",".join(each)))._replace(partition=0))


def invent_edge(ts: int, many: int, first: int = 0) -> dict[str, Any]:
    return edge(ts, f"i{ts}", **{f"a{number}": 1 for number in range(first, first + many)})


@pytest.mark.parametrize("written", SENT)
@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("is_first", [True, False], ids=["pattern before", "pattern after"])
def test_what_a_pattern_reads_is_there_among_any_invented_names(written: StreamFormat, many: int, *, is_first: bool) -> None:
    stage = SequencingStage()
    if is_first:
        register_reading(stage, "zone")
    # One edge has all names, that which is read among them the last.
    send_as(stage, written, invent_edge(1, many) | {"zone": 1})
    stage.run()
    if not is_first:
        register_reading(stage, "zone")
        stage.clock.sleep(2)
        stage.run(2)
    send_as(stage, written, edge(2, "e", zone=7), invent_edge(3, many, many) | {"zone": 8})
    stage.run()
    found = attributes(stage, "zone")
    assert (found.pop("e"), found.pop("i3")) == (7, 8)
    assert found in ([{"i1": 1}] if is_first else [{}, {"i1": 1}])
    assert stage.letters() == []


def test_all_that_patterns_read_is_kept_however_much_it_is() -> None:
    stage = SequencingStage()
    names = [f"r{number}" for number in range(MOST_ATTRIBUTES + 100)]
    for start in range(0, len(names), 100):
        register_reading(stage, *names[start : start + 100])
    stage.send(lines(invent_edge(1, 2 * MOST_ATTRIBUTES), edge(2, "e", **dict.fromkeys(names, 5))))
    (first, last) = stage.run().ordered()
    assert {name: last["attributes"].get(name) for name in names} == dict.fromkeys(names, 5)
    assert sum(value is not None for value in first["attributes"].values()) == MOST_ATTRIBUTES


def test_names_that_are_gone_make_room_while_edges_wait(soon: int) -> None:
    stage = SequencingStage(lateness=1_000)
    register_reading(stage, "zone")
    stage.send(lines(edge(1, "waits", zone=1)))
    stage.send(lines(invent_edge(2, MOST_ATTRIBUTES + 1)))
    for ts in range(3, 3 + soon):
        stage.send(lines(edge(ts, f"p{ts}", plain=ts, zone=ts)))
    stage.run()
    stage.send(lines(edge(10, "last", plain=10, zone=10)))
    stage.fall_silent()
    # The list began anew with the last record: names that it left out before are there, and what is read never went.
    assert attributes(stage, "plain").get("last") == 10
    assert attributes(stage, "zone") == {"waits": 1, **{f"p{ts}": ts for ts in range(3, 3 + soon)}, "last": 10}


@pytest.mark.parametrize("calls", range(1, 60))
def test_a_sequencer_that_is_killed_sends_what_is_read_once(soon: int, calls: int) -> None:
    stage = SequencingStage(lateness=2)
    register_reading(stage, "zone")
    stage.fuse.length = calls
    expected = {}
    for ts in range(1, 12):
        if ts % 3 == 0:
            stage.send(lines(invent_edge(ts, MOST_ATTRIBUTES + 5, ts * 5_000)))
        else:
            stage.send(lines(edge(ts, f"e{ts}", zone=ts, plain=ts)))
            expected[f"e{ts}"] = ts
        stage.run(2)
    stage.fall_silent()
    assert attributes(stage, "zone") == expected
    assert stage.ids() == [f"i{ts}" if ts % 3 == 0 else f"e{ts}" for ts in range(1, 12)]


def test_the_limit_is_logged_once_and_noted_until_there_is_room(soon: int) -> None:
    stage = SequencingStage()
    with capture_logs() as logs:
        for ts in range(1, 4):
            stage.send(lines(invent_edge(ts, MOST_ATTRIBUTES + 7)))
        stage.run()
    said = [log for log in logs if log["event"] == events.ATTRIBUTES_LEFT_OUT]
    assert [(log["stream"], log["most"]) for log in said] == [("flows", MOST_ATTRIBUTES)]
    header = progress_of(stage.log, TOPICS, FLOWS)
    assert header is not None
    note = header.note("flows")
    assert note is not None
    assert note.startswith("edges have more attributes than are kept: lately ")
    for ts in range(10, 10 + 2 * soon):
        stage.send(lines(edge(ts)))
        stage.run(2)
    after = progress_of(stage.log, TOPICS, FLOWS)
    assert after is not None
    assert after.note("flows") is None
