"""An input format is one entry of a registry: a toy that is added to it is read wherever streams are, with no other edit."""

from __future__ import annotations

import ast
import gzip
import json
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import graphtide
import pytest
from fastapi.testclient import TestClient
from graphtide.cli.app import app
from graphtide.readers import ReaderOptions, open_stream
from graphtide.rejections import StreamWarning
from graphtide_backfill.adapters.files import Files
from graphtide_backfill.application.pieces import Reading
from graphtide_core import formats
from graphtide_core.formats import FORMATS, StreamFormat
from graphtide_core.ids import StreamName
from graphtide_core.time import TimeUnit
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.entrypoints.description import EDGES, stream_body
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_native.records import Symbols
from graphtide_ordering.ordering import Ordering
from graphtide_preprocess.domain.blocks import BlockReader
from graphtide_testing.clock import ManualClock
from graphtide_testing.sequenced import ordered_edges, records_of
from graphtide_testing.tab_separated import TAB_SEPARATED
from graphtide_wire import dead_letters
from graphtide_wire.topics import Topics
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[3]
TOPICS = Topics("test")
FLOWS = StreamName("flows")
PATTERN = "PATTERN p MATCH (a)-[e:x]->(b), (b)-[f:y]->(c) ORDER e < f ON flows WINDOW 10"
GOOD = [(1, "a", "b", "x"), (3, "b", "c", "y")]
BAD = "x\ta\tb\tnoon"
TEXT = f"x\ta\tb\t1\n{BAD}\ny\tb\tc\t3\n"
ALLOWED = {
    "services/alerts/src/graphtide_alerts/adapters/elasticsearch.py": "the bulk API has a media type of its own",
    "shared/core/src/graphtide_core/formats.py": "the registry",
    "shared/core/src/graphtide_core/record_format.py": "the words of FORMAT in a STREAM statement",
    "services/backfill/src/graphtide_backfill/adapters/result_folder.py": "names its own files",
    "shared/wire/src/graphtide_wire/bodies/dead_letters.py": "has an example of a dead letter",
    "shared/wire/src/graphtide_wire/schemas.py": "names its own files",
    "services/graphtide/src/graphtide/server.py": "a client that sends in one format",
}
"""Files of the product that write down a name of a format, and why."""

REASON = 'ts "noon" is not an integer'


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, TAB_SEPARATED.value, TAB_SEPARATED)


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "flows.tabs"
    path.write_text(TEXT, "utf-8")
    return path


def short(edge: Mapping[str, object]) -> tuple[object, ...]:
    return edge["ts"], edge["src"], edge["dst"], edge["label"]


def test_the_command_line_reads_it_by_name_by_option_and_compressed(stream: Path, tmp_path: Path) -> None:
    pattern, other, packed = tmp_path / "p.gtp", tmp_path / "flows.txt", tmp_path / "flows.tab.gz"
    pattern.write_text(PATTERN, "utf-8")
    other.write_text(TEXT, "utf-8")
    packed.write_bytes(gzip.compress(TEXT.encode()))
    rejected = tmp_path / "rejected.jsonl"
    found = []
    for arguments in ([stream], [packed], [other, "--format", "tabs"]):
        line = ["match", pattern, *arguments, "--dead-letters", rejected]
        ended = CliRunner().invoke(app, [str(each) for each in line], catch_exceptions=False)
        assert ended.exit_code == 5, ended.output
        found.append([json.loads(each)["vertices"] for each in ended.stdout.splitlines()])
        (letter,) = map(json.loads, rejected.read_text("utf-8").splitlines())
        assert (letter["line"], letter["reason"], letter["raw"]) == (2, REASON, BAD)
    assert found == [[{"a": "a", "b": "b", "c": "c"}]] * 3


def test_messages_name_it(stream: Path, tmp_path: Path) -> None:
    nameless = tmp_path / "flows"
    stream.rename(nameless)
    with pytest.raises(graphtide.UnreadableStreamError, match=r"end it in one of .*\.ipc, .*\.tabs, \.tab, or say"):
        open_stream(nameless)
    line = ["match", str(tmp_path / "p.gtp"), str(nameless), "--format", "tags"]
    (tmp_path / "p.gtp").write_text(PATTERN, "utf-8")
    refused = CliRunner().invoke(app, line, env={"COLUMNS": "300"})
    assert "'tags' is not one of csv, jsonl, parquet, arrow, json, zeek, tabs" in refused.output


def test_python_reads_it(stream: Path) -> None:
    reader = open_stream(stream, ReaderOptions())
    assert [short(each) for batch in reader.batches() for each in batch.to_records()] == GOOD
    assert [(each.line, each.reason) for each in reader.take_dead_letters()] == [(2, REASON)]
    with pytest.warns(StreamWarning, match="1 of 3 records was rejected"):
        (match,) = graphtide.match(PATTERN, stream)
    assert match.vertices == {"a": "a", "b": "b", "c": "c"}


def test_http_takes_it_and_both_sequencers_put_it_in_order() -> None:
    log, clock = MemoryLog(), ManualClock()
    settings = Settings(prefix="test", streams=("flows",), roles=frozenset({"http"}), insecure=True)
    with TestClient(bootstrap(log, settings, clock=clock).app) as client:
        answer = client.post("/api/v1/streams/flows/edges", content=TEXT, headers={"content-type": TAB_SEPARATED.media_type})
    assert (answer.status_code, answer.json()["accepted"]) == (202, 2)
    assert answer.json()["errors"] == [{"line": 2, "code": "malformed", "reason": REASON}]
    (record,) = records_of(log, TOPICS.raw(FLOWS))
    assert record.value == b"x\ta\tb\t1\n\x1a\ny\tb\tc\t3\n", "it is published as it came"
    (letter,) = (dead_letters.decode(each) for each in records_of(log, TOPICS.dead_letters(FLOWS)))
    assert letter.raw == BAD.encode()
    (block,) = BlockReader().blocks([record])
    of_spark = block.decoded(record.topic, Symbols(), block.head.attributes, 0)
    assert of_spark.edges is not None
    assert [short(each) for each in of_spark.edges.to_records()] == GOOD
    assert [None if each.origin is None else each.origin.format for each in of_spark.pieces] == [TAB_SEPARATED]
    worker = SequencingWorker(log, TOPICS, FLOWS, clock, Sequencing(ordering=Ordering(0, 5.0, 1000, None), poll_seconds=0.0))
    worker.open()
    for _ in range(12):
        worker.step()
        clock.sleep(3.0)
    assert [(each.ts, each.src, each.dst, each.label) for each in ordered_edges(log, TOPICS, FLOWS)] == GOOD


def test_a_letter_of_it_is_read_again_as_it_was_written() -> None:
    log, clock = MemoryLog(), ManualClock()
    settings = Settings(prefix="test", streams=("flows",), roles=frozenset({"http"}), insecure=True)
    with TestClient(bootstrap(log, settings, clock=clock).app) as client:
        client.post("/api/v1/streams/flows/edges", content=TEXT, headers={"content-type": TAB_SEPARATED.media_type})
        again = client.post("/api/v1/dead-letters/flows/0-0:replay")
    assert again.status_code == 422
    assert again.json()["detail"].endswith(REASON)


def test_a_backfill_reads_it(stream: Path) -> None:
    (piece,) = Files(str(stream), "tabs").pieces()
    batches = piece.batches(Reading(Symbols(), (), TimeUnit.MILLISECOND))
    assert [short(each) for batch in batches for each in batch.to_records()] == GOOD
    assert (piece.facts().records, piece.facts().rejected) == (3, 1)


def test_the_api_describes_all_that_are_sent() -> None:
    described = stream_body(lambda body: body.edge)
    assert described["text/tab-separated-values"] == {"schema": {"type": "string"}, "example": "x\ta\tb\t1\n"}
    del described["text/tab-separated-values"]
    assert described.items() <= EDGES["requestBody"]["content"].items()


def test_nothing_else_knows_a_format_by_name() -> None:
    known = {each for format in FORMATS.values() for each in (format.value, *format.suffixes, format.magic)} - {b""}
    known |= {*formats.media_types()}
    # What commands and servers write is JSON, too.
    known -= {formats.JSON.value}
    knowing = set()
    for pattern in ("services/*/src/**/*.py", "shared/*/src/**/*.py", "shared/native/python/**/*.py"):
        for path in ROOT.glob(pattern):
            texts = {each.value for each in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(each, ast.Constant)}
            if texts & known and not {"bench", "testing"} & {*path.relative_to(ROOT).parts}:
                knowing.add(str(path.relative_to(ROOT)))
    assert knowing == ALLOWED.keys()


def test_a_table_in_the_documents_lists_every_format() -> None:
    text = (ROOT / "docs/reference/command-line.md").read_text("utf-8")
    rows = [
        f"| `{each.value}` | {each.title} | {', '.join(f'`{suffix}`' for suffix in each.suffixes)} "
        f"| {', '.join(f'`{kind}`' for kind in each.http.media_types) if each.http else 'not sent'} |"
        for each in FORMATS.values()
        if each is not TAB_SEPARATED
    ]
    assert "\n".join(rows) in text


@pytest.mark.parametrize("format", FORMATS.values())
def test_an_entry_names_code_that_is_there_and_nothing_that_is_anothers(format: StreamFormat) -> None:
    tables = format.tables
    own = (format.decoder, format.generated, format.matches)
    named = [*own, *((tables.reader, tables.history, tables.matches) if tables else ())]
    assert all(resolve_name(each) for each in named if each is not None)
    assert (format.decoder is None) is (tables is not None)
    assert all(formats.by_suffix(each) is format for each in format.suffixes)
    assert all(formats.by_media_type(each) is format for each in (format.http.media_types if format.http else ()))
    assert not format.magic or formats.by_magic(format.magic + b"more") is format
