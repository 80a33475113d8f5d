"""A sender that waits learns what ordering did with just its edges; after a crash it learns nothing, never what is wrong."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient
from graphtide_core.ports.log import Message
from graphtide_core.time import TimeUnit
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_ordering.progress_reports import progress_of
from graphtide_ordering.raw_decoding import Ahead
from graphtide_ordering.verdicts import MOST_AWAITED
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage, edge, lines
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges, Reset
from graphtide_wire.topics import MOST_ORDERED_BYTES
from graphtide_wire.verdicts import VerdictRecord, decode_verdict
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

EDGES = "/api/v1/streams/flows/edges"
NDJSON = {"content-type": "application/x-ndjson"}
AT_MOST = 60
"""Seconds that a request waits: far more than ordering takes."""


def write(stage: SequencingStage, receipt: str, *edges: dict[str, object] | str, partition: int = 0) -> None:
    body = RawEdges(lines(*edges), receipt=receipt)
    stage.write(raw.encode(TOPICS.raw(FLOWS), body)._replace(partition=partition))


def verdicts(stage: SequencingStage) -> dict[str, VerdictRecord]:
    """Return the verdicts by their receipts; each came once."""
    found = [decode_verdict(record) for record in stage.read(TOPICS.verdicts)]
    assert len({each.receipt for each in found}) == len(found)
    return {each.receipt: each for each in found}


def counts(verdict: VerdictRecord) -> dict[str, int]:
    named = {name: getattr(verdict, name) for name in ("ordered", "replaced", "duplicates", "late", "rejected")}
    return {name: count for name, count in named.items() if count}


def test_a_verdict_counts_what_went_out_what_was_there_and_what_came_too_late() -> None:
    stage = SequencingStage(lateness=2, ahead=Ahead(TimeUnit.MILLISECOND, 10**6))
    stage.register("p", "1m")
    write(stage, "first", edge(10, "a"), edge(11, "b"))
    write(stage, "second", edge(9, "a"), "bad", edge(3, "c"), edge(12, "d"), edge(10**15, "far"))
    stage.fall_silent()
    assert counts(verdicts(stage)["first"]) == {"ordered": 1, "duplicates": 1}
    second = verdicts(stage)["second"]
    assert counts(second) == {"ordered": 2, "late": 1, "rejected": 2}
    assert second.place == "0-1"
    assert [(each.line, each.code) for each in second.examples] == [(2, "malformed"), (5, "future"), (3, "late")]


SENT = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.booleans(),
        st.lists(st.one_of(st.just("bad"), st.tuples(st.integers(0, 12), st.sampled_from("abcde"))), max_size=4),
    ),
    max_size=8,
)


@dataclass
class Expected:
    """What the log shows of each record; edges have numbers, so that those of one id can be distinguished."""

    stage: SequencingStage
    sent: dict[str, list[object]] = field(default_factory=dict)

    def verdict(self, receipt: str, place: str) -> Counter[str]:
        out = Counter(each["attributes"]["n"] for each in self.stage.ordered())
        numbered = [each for each in self.sent[receipt] if isinstance(each, dict)]
        ordered = sum(out[each["n"]] for each in numbered)
        letters = [each for each in self.stage.letters() if f"{each.source.partition}-{each.source.offset}" == place]
        late = sum(each.code == "late" for each in letters)
        duplicates = len(numbered) - ordered - late
        return Counter(ordered=ordered, late=late, duplicates=duplicates, rejected=len(letters) - late)


@given(SENT, st.integers(0, 60), st.integers(0, 3))
def test_a_verdict_is_what_the_log_shows_or_there_is_none(
    sent: list[tuple[int, bool, list[object]]], length: int, lateness: int
) -> None:
    stage = SequencingStage(lateness=lateness, partitions=2)
    expected = Expected(stage)
    stage.register("p", "1m")
    number = 0
    for place, (partition, waits, given_edges) in enumerate(sent):
        edges: list[Any] = []
        for each in given_edges:
            edges.append(each if isinstance(each, str) else edge(each[0], each[1], n=number))  # type: ignore[index]
            number += 1
        expected.sent[f"r{place}"] = edges
        write(stage, f"r{place}" if waits else "", *edges, partition=partition)
        if place == len(sent) // 2:
            stage.run(2)
            stage.fuse.length = length
    stage.fall_silent()
    stage.fuse.length = 0
    stage.fall_silent()
    found = verdicts(stage)
    awaited = {f"r{place}" for place, (_, waits, _) in enumerate(sent) if waits}
    assert found.keys() <= awaited
    if not length:
        assert found.keys() == awaited
    for receipt, verdict in found.items():
        assert Counter(counts(verdict)) == +expected.verdict(receipt, verdict.place)


def test_an_edge_that_no_ordered_record_holds_is_not_ordered() -> None:
    stage = SequencingStage()
    write(stage, "r", edge(1, "a"), edge(2, "b", note="x" * MOST_ORDERED_BYTES))
    stage.fall_silent()
    verdict = verdicts(stage)["r"]
    assert counts(verdict) == {"ordered": 1, "rejected": 1}
    assert verdict.examples[0].code == "too-large"


def test_an_edge_that_cannot_go_out_of_an_epoch_that_ended_leaves_readable_counts() -> None:
    stage = SequencingStage()
    stage.send(lines(edge(1, "a", note="x" * MOST_ORDERED_BYTES)))
    stage.write(raw.encode_reset(TOPICS.raw(FLOWS), Reset(0)))
    stage.run(3)
    progress = progress_of(stage.log, TOPICS, FLOWS)
    assert progress is not None
    assert (progress.epoch, progress.counted.ordered, progress.counted.rejected) == (1, 0, 1)


def test_records_that_wait_without_end_leave_room_for_those_that_come() -> None:
    stage = SequencingStage(lateness=10**6, most_records=5000, most_pending=10_000)
    for number in range(MOST_AWAITED + 10):
        write(stage, f"r{number}", edge(number, f"e{number}"))
    stage.run(3)
    assert stage.worker.sequencer.verdicts.awaited == MOST_AWAITED
    stage.fall_silent()
    assert verdicts(stage).keys() == {f"r{number}" for number in range(10, MOST_AWAITED + 10)}


@contextmanager
def serving(log: MemoryLog, **settings: Any) -> Iterator[TestClient]:
    usual = {"prefix": "test", "streams": ("flows",), "insecure": True, "burst": 10_000, "idle_seconds": 0.2}
    with TestClient(bootstrap(log, Settings(**{**usual, **settings})).app) as client:
        yield client


def ask(client: TestClient, *edges: dict[str, object] | str, seconds: float = AT_MOST, key: str | None = None) -> Any:
    address = f"{EDGES}?wait=ordered&wait_seconds={seconds}"
    return client.post(address, content=lines(*edges), headers=NDJSON if key is None else NDJSON | {"idempotency-key": key})


def test_senders_at_any_replica_learn_of_their_own_edges() -> None:
    log = MemoryLog()
    with serving(log) as first, serving(log, roles=frozenset({"http"})) as second:
        answer = ask(first, edge(1000, "a"), "bad", edge(1001, "b"))
        assert (answer.status_code, answer.json()) == (
            200,
            {
                "accepted": 2,
                "rejected": 1,
                "errors": [{"line": 2, "code": "malformed", "reason": answer.json()["errors"][0]["reason"]}],
                "reasons": [{"code": "malformed", "count": 1, "line": 2, "reason": answer.json()["errors"][0]["reason"]}],
                "ordering": {"ordered": 2, "replaced": 0, "duplicates": 0, "late": 0, "rejected": 0, "errors": []},
            },
        )
        strange = [
            Message(TOPICS.verdicts, key, value) for key in (None, b"r", b"\xff") for value in (None, b"", b"{}", b"\xff")
        ]
        log.writer().write(strange)
        other = ask(second, edge(5, "c"), edge(1002, "d"))
        assert (other.status_code, other.json()["ordering"]["ordered"], other.json()["ordering"]["late"]) == (200, 1, 1)
        (late,) = other.json()["ordering"]["errors"]
        assert (late["line"], late["code"]) == (1, "late")


def test_what_is_not_known_in_time_is_not_answered() -> None:
    with serving(MemoryLog(), roles=frozenset({"http"})) as client:
        answer = ask(client, edge(1, "a"), seconds=0.05)
        assert (answer.status_code, answer.json()["accepted"], answer.json()["ordering"]) == (202, 1, None)
        assert "not all ordered within wait_seconds" in answer.json()["note"]


def test_of_edges_that_are_not_written_nothing_is_awaited() -> None:
    with serving(MemoryLog(), streams=(), create_streams=True) as client:
        answer = ask(client, "bad")
        assert (answer.status_code, answer.json()["code"]) == (422, "all-rejected")
        assert answer.json()["ordering"]["rejected"] == 0
        assert ask(client, edge(1, "a")).json()["ordering"]["ordered"] == 1


def test_a_request_with_a_known_key_gets_the_verdict_again() -> None:
    with serving(MemoryLog()) as client:
        answers = [ask(client, edge(1, "a"), key="k").json() for _ in range(2)]
        assert answers[0]["ordering"]["ordered"] == 1
        assert answers[0] == answers[1]


def test_nothing_is_written_where_nobody_waits() -> None:
    log = MemoryLog()
    app = bootstrap(log, Settings(prefix="test", streams=("flows",), insecure=True, idle_seconds=0.2)).app
    with TestClient(app) as client:
        answer = client.post(EDGES, content=lines(edge(1, "a")), headers=NDJSON)
        assert (answer.status_code, answer.json()) == (202, {"accepted": 1, "rejected": 0, "errors": []})
    found = log.reader(None)
    found.assign(dict.fromkeys(found.partitions(TOPICS.raw(FLOWS)), 0))
    assert all(name != raw.RECEIPT for record in found.poll(0, 100) for name, _ in record.headers)
    (place,) = found.partitions(TOPICS.verdicts)
    assert found.ends([place])[place] == (0, 0)


@pytest.mark.parametrize("asked", ["wait=later", "wait=ordered&wait_seconds=61", "wait=ordered&wait_seconds=0"])
def test_a_wait_that_cannot_be_is_refused(asked: str) -> None:
    with serving(MemoryLog(), roles=frozenset({"http"})) as client:
        answer = client.post(f"{EDGES}?{asked}", content=json.dumps(edge(1)), headers=NDJSON)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
