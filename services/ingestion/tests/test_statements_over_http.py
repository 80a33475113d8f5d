"""Bodies for a stream with a STREAM statement give the edges and ids that the same bytes give in the raw topic."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from fastapi.testclient import TestClient
from graphtide_core import formats
from graphtide_core.ports.log import Message
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.domain import statement_reading
from graphtide_ingestion.domain.statement_reading import StatementReader
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_ordering.statements import Statement
from graphtide_query import parse_streams
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage
from graphtide_testing.waiting import wait_until
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges
from graphtide_wire.stream_statement import StatementRecord, encode_statement, statement_key, version_key
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

    from httpx2 import Response

EDGES = "/api/v1/streams/flows/edges"
NDJSON, CSV, JSON = "application/x-ndjson", "text/csv", "application/json"
PAIRS = "STREAM flows WHERE a <> 'skip' EDGE (a)-['there']->(b) EDGE (b)-['back']->(a) SET n = m.n AT at IN ms"
LOG = "STREAM flows FORMAT csv (delimiter '|', columns (a, kind, b, at)) EDGE (a)-[kind]->(b) AT at IN ms"
TABLE = "STREAM flows EDGE (a)-[kind]->(b) SET note = note AT at IN s"
REMOVED = StatementRecord.removed("flows", 2, datetime(2026, 1, 1, tzinfo=UTC))
KEYS = (statement_key("flows"), version_key("flows", 2))
NESTED = "STREAM flows FORMAT json (unnest Records) EDGE (a)-['x']->(b) AT at IN ms"


@contextmanager
def serving(log: MemoryLog) -> Iterator[TestClient]:
    settings = Settings(prefix="test", streams=("flows",), roles=frozenset({"http"}), insecure=True, burst=10_000)
    with TestClient(bootstrap(log, settings).app) as client:
        yield client


def record_of(text: str, version: int = 1) -> StatementRecord:
    (definition,) = parse_streams(text)
    return StatementRecord.of(text, definition, version, SequencingStage().clock.now())


def over_http(statement: str, *bodies: bytes, kind: str = NDJSON) -> tuple[list[Response], SequencingStage]:
    """Send bodies to a stream with a statement; return the answers, and the stage that has put them in order."""
    stage = SequencingStage(log=MemoryLog(), most_records=20)
    stage.state(statement, 1)
    with serving(stage.log) as client:  # type: ignore[arg-type]
        answers = [client.post(EDGES, content=body, headers={"content-type": kind}) for body in bodies]
    return answers, stage.fall_silent()


def in_raw_topic(statement: str, *bodies: bytes, columns: str | None = None) -> SequencingStage:
    """Write bodies to the raw topic, as a program that is not ours does."""
    stage = SequencingStage(log=MemoryLog(), most_records=20)
    stage.state(statement, 1)
    for body in bodies:
        edges = RawEdges(body, formats.DEFAULT if columns is None else formats.CSV, columns)
        stage.write(raw.encode(TOPICS.raw(FLOWS), edges)._replace(partition=0))
    return stage.fall_silent()


def whole(stage: SequencingStage) -> object:
    letters = [(each.code, each.reason, each.raw) for each in stage.letters()]
    return [{**each, "line": None} for each in stage.ordered()], letters


def pair(at: object, a: object = "a", b: object = "b", **more: object) -> str:
    return json.dumps({"at": at, "a": a, "b": b, **more}) + "\n"


def test_the_answer_counts_edges_and_names_what_the_statement_cannot_read() -> None:
    body = (pair(1) + '{"a": "x"}\n' + pair(2, "skip") + pair(3)).encode()
    (answer,), stage = over_http(PAIRS, body)
    assert answer.status_code == 202
    assert answer.json() == {
        "accepted": 4,
        "rejected": 1,
        "errors": [{"line": 2, "code": "malformed", "reason": "no time"}],
        "reasons": [{"code": "malformed", "count": 1, "line": 2, "reason": "no time"}],
        "filtered": 1,
    }
    assert [(each["id"], each["label"]) for each in stage.ordered()] == [
        ("0#1", "there"), ("0#2", "back"), ("3#1", "there"), ("3#2", "back"),
    ]  # fmt: skip
    (letter,) = stage.letters()
    assert (letter.raw, letter.source.line) == (b'{"a": "x"}', 2), "the sequencer makes it, once"


RECORDS = st.one_of(
    st.builds(pair, st.integers(0, 9), st.sampled_from(["a", "skip", "c"]), st.sampled_from(["b", 7, None])),
    st.builds(lambda at, n: pair(at, m={"n": n}), st.integers(0, 9), st.sampled_from([1, 2.5, "x", None, True])),
    st.sampled_from(["\n", "bad\n", "{}\n", '{"at": "x"}\n', "[1]\n"]),
)


@settings(max_examples=max(5, settings().max_examples // 3))
@given(st.lists(st.lists(RECORDS, max_size=6).map(lambda lines: "".join(lines).encode()), min_size=1, max_size=3))
def test_the_same_bytes_give_the_same_edges_through_http_and_the_raw_topic(bodies: list[bytes]) -> None:
    _, stage = over_http(PAIRS, *bodies)
    assert whole(stage) == whole(in_raw_topic(PAIRS, *bodies))


def test_a_body_that_comes_after_the_removal_of_the_statement_is_read_without_one() -> None:
    stage = SequencingStage(log=MemoryLog(), most_records=20)
    stage.state(PAIRS, 1)
    stage.send(pair(1).encode())
    stage.run(2)
    with serving(stage.log) as client:  # type: ignore[arg-type]
        stage.writer.write([Message(TOPICS.statements, key, encode_statement(REMOVED)) for key in KEYS])
        plain = b'{"ts": 5, "src": "x", "dst": "y", "label": "plain"}\n'
        headers = {"content-type": NDJSON}
        wait_until(lambda: client.post(EDGES, content=plain, headers=headers).json()["accepted"] == 1, 30, pause=0.01)
    # The clock stands still: the sequencer looks for the removal because the record says that its sender knew of it.
    stage.run(4)
    assert stage.ordered()[-1]["label"] == "plain"


def test_a_header_line_without_a_column_that_is_needed_is_refused_and_names_the_like_one() -> None:
    (answer,), stage = over_http(TABLE, b"at,a,knd,b,note\n5,x,knows,y,z\n", kind=CSV)
    assert answer.status_code == 202, "a label that is missing is the default one"
    (answer,), stage = over_http(TABLE, b"at,aa,kind,b\n5,x,knows,y\n", kind=CSV)
    reason = "no column 'a' (for a source); the columns are 'at', 'aa', 'kind', 'b'; did you mean 'at'?"
    assert (answer.status_code, answer.json()["code"], answer.json()["detail"]) == (400, "unreadable-body", reason)
    assert stage.ordered() == []
    raw_stage = in_raw_topic(TABLE, b"5,x,knows,y\n", columns="at,aa,kind,b")
    assert [(each.code, each.reason) for each in raw_stage.letters()] == [("malformed", reason)]


def test_csv_has_the_header_line_of_its_body() -> None:
    table = b'at,a,kind,b,note\n5,x,knows,y,"two\nlines"\n6,007,likes,z,\n'
    (answer,), stage = over_http(TABLE, table, kind=CSV)
    assert answer.json()["accepted"] == 2
    found = stage.ordered()
    assert [(each["src"], each["ts"], each["attributes"]["note"]) for each in found] == [
        ("x", 5_000, "two\nlines"),
        ("007", 6_000, None),
    ]
    rows = table.partition(b"\n")[2]
    assert whole(stage) == whole(in_raw_topic(TABLE, rows, columns="at,a,kind,b,note"))


def test_a_format_that_the_statement_states_holds_whatever_the_type_of_the_body() -> None:
    rows = b"x|knows|y|5\nz|likes|x|6\nshort\n"
    for kind in (NDJSON, CSV):
        (answer,), stage = over_http(LOG, rows, kind=kind)
        assert (answer.json()["accepted"], answer.json()["rejected"]) == (2, 1)
        assert whole(stage) == whole(in_raw_topic(LOG, rows))


def test_json_that_spans_lines_is_one_raw_record() -> None:
    body = b'{"Records": [\n  {"at": 1, "a": "x",\n   "b": "y"},\n  {"at": 2, "a": "y", "b": "z"}\n]}\n'
    (answer,), stage = over_http(NESTED, body)
    assert answer.json()["accepted"] == 2
    assert [each["src"] for each in stage.ordered()] == ["x", "y"]
    assert whole(stage) == whole(in_raw_topic(NESTED, body))


def test_what_a_statement_does_not_let_a_sender_do_is_refused() -> None:
    stage = SequencingStage(log=MemoryLog())
    stage.state(TABLE, 1)
    with serving(stage.log) as client:  # type: ignore[arg-type]
        answer = client.post(f"{EDGES}?columns=src=a", content="x\n", headers={"content-type": CSV})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid-columns")
    stage.state("STREAM flows FORMAT parquet EDGE (a)-[b]->(c) AT ts IN s", 2)
    with serving(stage.log) as client:  # type: ignore[arg-type]
        answer = client.post(EDGES, content="x\n", headers={"content-type": NDJSON})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-media-type")
    assert "reads parquet, which is taken from files and Kafka" in answer.json()["detail"]


@pytest.mark.parametrize("statement", [None, TABLE])
def test_a_type_that_names_no_format_needs_a_statement_that_does(statement: str | None) -> None:
    stage = SequencingStage(log=MemoryLog())
    if statement is not None:
        stage.state(statement, 1)
    with serving(stage.log) as client:  # type: ignore[arg-type]
        answer = client.post(EDGES, content="x\n", headers={"content-type": "text/plain"})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-media-type")
    assert answer.json()["detail"].startswith("'text/plain' names no format, and no statement of the stream states one")


def test_bodies_wait_until_statements_are_known() -> None:
    stage = SequencingStage(log=MemoryLog())
    stage.state(PAIRS, 1)
    with serving(stage.log) as client:  # type: ignore[arg-type]
        answer = client.post(EDGES, content=pair(1), headers={"content-type": NDJSON})
    assert answer.json()["accepted"] == 2


TEXTS = st.lists(
    st.sampled_from([b"1,a,k,b\n", b'2,"a\nb",k,"c"\n', b'3,"say ""x""\n",k,b\n', b"bad\n", b"\n"]), max_size=12
).map(b"".join)


@given(TEXTS, st.lists(st.integers(0, 60), max_size=4), st.integers(20, 80))
def test_passages_end_where_records_end(text: bytes, cuts: list[int], most: int) -> None:
    (definition,) = parse_streams("STREAM flows EDGE (a)-[kind]->(b) AT at IN ms")
    statement = Statement(StatementRecord.of("", definition, 1, SequencingStage().clock.now()))
    body = b"at,a,kind,b\n" + text
    places = sorted({0, len(body), *(min(cut, len(body)) for cut in cuts)})

    def read(most_bytes: int, bounds: list[int]) -> tuple[list[bytes], int, list[tuple[int | None, str]]]:
        reader = StatementReader(statement, formats.CSV, most_bytes)
        passages, refused = [], []
        for block in [body[start:end] for start, end in pairwise(bounds)]:
            found = reader.push(block)
            passages += found[0]
            refused += found[1]
        last = reader.finish()
        return (
            [each.body for each in (*passages, *last[0])],
            reader.accepted,
            [(e.line, e.reason) for e in (*refused, *last[1])],
        )

    texts, accepted, refused = read(most, places)
    assert b"".join(texts).strip() == text.strip()
    assert all(each.count(b'"') % 2 == 0 and each.endswith(b"\n") for each in texts)
    assert (accepted, refused) == read(1_000_000, [0, len(body)])[1:]


def test_a_record_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatementReader.__init__, "__defaults__", (100,))
    (answer,), _ = over_http(PAIRS, b'{"a": "' + b"x" * 200)
    assert (answer.status_code, answer.json()["code"]) == (400, "unreadable-body")
    assert answer.json()["detail"] == "line 1: a record is longer than 100 bytes"
    assert {"jsonl", "csv", "regex", "syslog"} == statement_reading.LINES


def test_messages_of_syslog_are_taken_line_by_line() -> None:
    text = "STREAM flows FORMAT syslog EDGE (hostname)-[:logs]->(appname) AT timestamp FORMAT 'syslog' BEFORE '2025-01-01'"
    body = b"<34>Oct 11 22:14:15 mail su: no\nnoise\n<34>1 2024-10-11T22:14:16Z mail cron - - -\n"
    (answer,), stage = over_http(text, body)
    assert (answer.status_code, answer.json()["accepted"], answer.json()["rejected"]) == (202, 2, 1)
    assert [(each["src"], each["dst"], each["ts"]) for each in stage.ordered()] == [
        ("mail", "su", 1_728_684_855_000),
        ("mail", "cron", 1_728_684_856_000),
    ]
    assert whole(stage) == whole(in_raw_topic(text, body))


def test_what_is_around_a_record_is_read_of_a_body_as_of_the_raw_topic() -> None:
    site = "OUTER.OUTER.tags[key = 'site'].value"
    text = f"STREAM flows FORMAT json (unnest all.list) EDGE (OUTER.host)-[kind]->({site}) AT at IN ms"
    lists = [{"list": [{"kind": "x", "at": 1}, {"kind": "y", "at": 2}], "host": "a"}, {"list": [{"at": 3}]}]
    body = json.dumps({"all": lists, "tags": [{"key": "zone"}, {"value": "s", "key": "site"}]}).encode()
    (answer,), stage = over_http(text, body, kind=JSON)
    assert (answer.status_code, answer.json()["accepted"], answer.json()["rejected"]) == (202, 2, 1)
    assert [(each["src"], each["label"], each["dst"]) for each in stage.ordered()] == [("a", "x", "s"), ("a", "y", "s")]
    assert whole(stage) == whole(in_raw_topic(text, body))
