"""The verbs that talk to a server, against one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import httpx2
import pytest
from graphtide.cli.app import app
from graphtide.client import Client
from graphtide.server import Access, Server
from graphtide.server_errors import NotFoundError, RefusedError, RefusedPatternError
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_core.errors import FatalError, GraphtideError, InvalidPatternError, TransientError
from graphtide_core.ids import StreamName
from graphtide_core.match import MatchKind, result_id
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.memory import MemoryLog
from graphtide_ordering.positions import PartitionPosition
from graphtide_ordering.progress_reports import sequencer_of
from graphtide_ordering.stream_progress import Counted, StreamProgress
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from graphtide_wire import control, matches
from graphtide_wire.match_counts import CountsRecord, encode_counts
from graphtide_wire.plans import form_of
from graphtide_wire.topics import Topics
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    State = Literal["running", "failed"]

TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"
TOPICS = Topics()


@dataclass
class There:
    """A server, its log, and the command line."""

    log: MemoryLog
    url: str
    folder: Path

    def run(self, *arguments: object, key: str = "root") -> str:
        """Run a verb; return what it wrote."""
        line = [*map(str, arguments), "--server", self.url, "--api-key", key]
        ended = CliRunner().invoke(app, line, catch_exceptions=False)
        assert ended.exit_code == 0, ended.output
        return ended.output

    def fails(self, *arguments: object, key: str = "root") -> GraphtideError:
        """Run a verb that fails; return how. The program makes a message and a status of it."""
        line = [*map(str, arguments), "--server", self.url, "--api-key", key]
        ended = CliRunner().invoke(app, line)
        assert isinstance(ended.exception, GraphtideError)
        return ended.exception

    def file(self, text: str) -> Path:
        path = self.folder / "patterns.gtp"
        path.write_text(text)
        return path

    def answer(self, state: State, reason: str | None = None) -> None:
        """Plan the pattern and say how it stands, as planner and host would."""
        (pattern,) = parse_subgraphs(TEXT)
        record = control.PlanRecord(
            "p", 1, 1, "timing", "matcher_timing", 0, form_of(plan(pattern, "timing").physical),
            control.PatternText(TEXT), "running",
        )  # fmt: skip
        at = datetime(2024, 1, 1, tzinfo=UTC)
        status = control.StatusRecord("p", 1, 1, "matcher_timing", 0, state, at, reason, matches=9, items=(ITEM,))
        counts = CountsRecord("p", {1: 1234})
        self.log.writer().write(
            [
                Message(TOPICS.plans, b"p", control.encode_plan(record)),
                Message(TOPICS.status, control.status_key(status), control.encode_status(status)),
                Message(TOPICS.counts, b"p", encode_counts(counts)),
            ]
        )


ITEM = control.ItemStatus("L1.1", 30, 50, 70)


@pytest.fixture
def there(tmp_path: Path) -> Iterator[There]:
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_deployment())
    keys = [
        KeySettings(name=name, hash=hash_key(name), scopes=scopes)
        for name, scopes in {"root": ["admin"], "reader": ["patterns:read"]}.items()
    ]
    settings = AdminApiSettings(api_keys=keys, requests_per_second=10_000, burst=10_000)
    with serve(admin_api(settings, log)) as url:
        # What its workers log when they open would stand in what a verb prints.
        wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200, 60, pause=0.01)
        yield There(log, url, tmp_path)


def test_apply_registers_and_then_changes_what_differs(there: There) -> None:
    other = TEXT.replace("PATTERN p", "PATTERN q")
    assert there.run("apply", there.file(f"{TEXT}\n{other}")) == (
        "p: registered, version 1, pending\nq: registered, version 1, pending\n"
    )
    assert there.run("apply", there.file(TEXT)) == "p: unchanged, version 1, pending\n"
    assert there.run("apply", there.file(TEXT), "--engine", "timing") == "p: changed, version 1, pending\n"
    wider = there.file(TEXT.replace("WINDOW 10", "WINDOW 20"))
    assert there.run("apply", wider) == "p: changed, version 2, pending\n"


STATEMENT = "STREAM s EDGE (payer)-['pays']->(payee) AT time IN s // a ledger"


def test_apply_registers_statements_before_patterns(there: There) -> None:
    assert there.run("apply", there.file(f"{TEXT}\n{STATEMENT}")) == (
        "stream s: registered, version 1\np: registered, version 1, pending\n"
    )
    assert there.run("apply", there.file(STATEMENT)) == "stream s: unchanged, version 1\n"
    assert there.run("apply", there.file(STATEMENT.replace("IN s", "IN ms"))) == "stream s: changed, version 2\n"
    with Server(Access(there.url, "root")) as server:
        found = server.stream("s")
    assert found is not None
    assert found.statement is not None
    assert found.statement.text == STATEMENT.replace("IN s", "IN ms"), "a text by itself keeps its comments"
    assert there.run("streams", "delete-statement", "s") == "stream s: statement deleted\n"
    assert there.run("apply", there.file(STATEMENT)) == "stream s: registered, version 4\n"


def test_apply_of_a_wrong_statement_registers_nothing(there: There) -> None:
    refused = there.fails("apply", there.file(f"{STATEMENT}\nSTREAM t EDGE (a)-[b]->(c) ATT ts\n{TEXT}"))
    assert isinstance(refused, InvalidPatternError)
    assert (refused.line, refused.column) == (2, 28)
    with Server(Access(there.url, "root")) as server:
        assert server.streams() == []


def test_a_statement_that_only_the_server_finds_wrong_has_its_place(there: There) -> None:
    with Server(Access(there.url, "root")) as server, pytest.raises(RefusedPatternError) as refused:
        server.put_stream("s", "STREAM s\nEDGE (a)-[b]->(c) ATT ts")
    assert (refused.value.code, refused.value.line, refused.value.column) == ("invalid-statement", 2, 19)


def test_apply_of_a_statement_needs_an_administrator(there: There) -> None:
    refused = there.fails("apply", there.file(STATEMENT), key="reader")
    assert isinstance(refused, RefusedError)
    assert refused.code == "forbidden"


def test_get_lists_patterns_and_how_they_stand(there: There) -> None:
    there.run("apply", there.file(TEXT))
    there.answer("running")
    there.run("wait", "p")
    header, row = there.run("get").splitlines()
    assert header.split() == ["name", "version", "state", "engine", "stream", "matches", "partial"]
    assert row.split() == ["p", "1", "running", "timing", "s", "1,234", "0"]
    assert there.run("get", "p") == there.run("get")


def test_describe_shows_text_progress_and_plan(there: There) -> None:
    there.run("apply", there.file(TEXT))
    assert "state:   pending" in there.run("describe", "p")
    there.answer("failed", "it reached a limit of its state")
    there.fails("wait", "p")
    shown = there.run("describe", "p")
    for part in ("failed: it reached a limit", "matcher_timing, shard 0", "PATTERN p", "engine timing", "L1.2"):
        assert part in shown


def test_describe_shows_how_the_stream_stands_and_what_helps(there: There) -> None:
    there.run("apply", there.file(TEXT))
    assert "edges:" not in there.run("describe", "p")
    there.log.admin().ensure(TOPICS.of_stream(StreamName("s")))
    late = Counted(10_000, 9_990, 2)
    position = PartitionPosition().position(StreamProgress(1, 90, 95, late, late), 8, 8, {})
    transactor = there.log.transactor(sequencer_of(TOPICS, StreamName("s")))
    transactor.open()
    transactor.begin()
    transactor.commit(sequencer_of(TOPICS, StreamName("s")), {TopicPartition(TOPICS.raw(StreamName("s")), 0): position})
    shown = there.run("describe", "p")
    times = "newest 95 (1970-01-01T00:00:00.095Z), watermark 90 (1970-01-01T00:00:00.090Z)"
    for part in ("10,000 read, 9,990 late, 2 too far ahead, in epoch 1", times, "s:reset-watermark"):
        assert part in shown
    assert "newest 95 (1970-01-01T00:01:35Z)" in there.run("describe", "p", "--time-unit", "s")


def test_explain_shows_the_plan_a_server_runs(there: There) -> None:
    assert "no plan for it yet" in str(there.fails("explain", "p"))
    there.run("apply", there.file(TEXT))
    there.answer("running")
    there.run("wait", "p")
    assert "actual alive 30, peak 50, created 70" in there.run("explain", "p")
    shown = json.loads(there.run("explain", "p", "--format", "json"))
    assert shown["nodes"][0]["actual"] == {"alive": 30, "peak": 50, "created": 70}


def test_wait_ends_where_a_pattern_fails_or_takes_too_long(there: There) -> None:
    there.run("apply", there.file(TEXT))
    assert str(there.fails("wait", "p", "--timeout", 0)) == "p is pending after 0 seconds, not running"
    there.answer("failed", "no luck")
    assert str(there.fails("wait", "p")) == "p failed: no luck"


def test_tail_writes_matches_after_a_place(there: There) -> None:
    there.run("apply", there.file(TEXT))
    for number in range(4):
        body = f'{{"match_id":"{number}","query":"p","kind":"match","detected_at":{number}}}'.encode()
        there.log.writer().write([matches.encode(TOPICS.matches, body, 1, None)])
    lines = there.run("tail", "p", "--after", "0-1", "--count", 2, "--places").splitlines()
    assert [(line.split()[0], json.loads(line.split(maxsplit=1)[1])["detected_at"]) for line in lines] == [
        ("0-2", 2),
        ("0-3", 3),
    ]


def test_results_that_are_valid_at_a_time_are_written_with_what_may_be_missing(there: There) -> None:
    there.run("apply", there.file("QUERY p near(x, y) <- a+(x, y). ON s WINDOW(10)"))
    for target in "vw":
        id = result_id("p", 1, "near", ("u", target))
        times = {"detected_at": 1, "first_ts": 1, "last_ts": 1}
        emitted = {
            "match_id": id,
            "query": "p",
            "kind": "match",
            **times,
            "src": "u",
            "dst": target,
            "label": "near",
            "valid": [1, 11],
        }
        there.log.writer().write([matches.encode(TOPICS.matches, json.dumps(emitted).encode(), 1, None)])
    line = ["results", "p", "--at", "5", "--server", there.url, "--api-key", "root"]
    ended = CliRunner().invoke(app, line, catch_exceptions=False)
    assert [json.loads(each)["valid"] for each in ended.stdout.splitlines()] == [[1, 11]] * 2
    assert "note: the query has read its stream up to 1: edges up to 5 may come" in ended.stderr
    assert isinstance(there.fails("results", "p", "--at", "soon"), FatalError)
    with Client(there.url, api_key="root") as client:
        found = client.results("p", datetime.fromtimestamp(0.005, UTC))
        assert (found.version, found.at, found.read_to, found.complete, len(found.notes)) == (1, 5, 1, False, 1)
        assert {(each.src, each.dst, each.valid, each.kind) for each in found.results} == {
            ("u", target, (1, 11), MatchKind.MATCH) for target in "vw"
        }
        assert len(set(found.results)) == 2
        assert client.results("p").at == 1
        with pytest.raises(NotFoundError):
            client.results("p", version=2)
        with pytest.raises(RefusedError, match="not a time of a stream"):
            client.results("p", "soon")


def test_a_pattern_is_paused_resumed_and_deleted(there: There) -> None:
    there.run("apply", there.file(TEXT))
    assert there.run("pause", "p") == "p: paused\n"
    assert there.run("resume", "p") == "p: pending\n"
    assert there.run("delete", "p") == "p: deleted\n"
    assert str(there.fails("get", "p")) == "the server has no pattern 'p'"
    assert isinstance(there.fails("delete", "p"), FatalError)
    assert isinstance(there.fails("tail", "p"), FatalError)


def test_a_missing_right_is_reported(there: There) -> None:
    assert "401" in str(there.fails("get", key="guess"))
    assert "scope 'patterns:write'" in str(there.fails("apply", there.file(TEXT), key="reader"))


def test_what_the_server_says_of_a_text_is_shown_with_its_place(there: There) -> None:
    with Server(Access(there.url, "root")) as server, pytest.raises(InvalidPatternError) as raised:
        server.register({"text": "PATTERN p\nMATCH (a)-[x]>(b)"})
    assert (raised.value.line, "^" in str(raised.value)) == (2, True)


def test_a_server_that_is_not_there_is_said_so() -> None:
    for verb in (["get"], ["tail", "p"]):
        ended = CliRunner().invoke(app, [*verb, "--server", "http://127.0.0.1:1"])
        assert isinstance(ended.exception, TransientError)
        assert "http://127.0.0.1:1 cannot be reached" in str(ended.exception)


def test_a_token_is_shown_in_place_of_a_key(there: There) -> None:
    with Server(Access(there.url, token="forged")) as server, pytest.raises(FatalError, match="401"):  # noqa: S106 - it is none
        server.patterns()
