"""The same records and tables give the same edges at every door: files, Python, requests, raw topics, history, Spark."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from graphtide import MatchOptions, Stream, match
from graphtide.readers import ReaderOptions, from_edges, open_stream
from graphtide.record_options import RecordOptions
from graphtide_backfill.application.pieces import Reading
from graphtide_backfill.bootstrap import statement_files
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.ports.log import Record
from graphtide_core.stream_fields import attributes_of
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings as IngestionSettings
from graphtide_native.records import Symbols
from graphtide_ordering.reference_tables import ReferenceTables
from graphtide_ordering.statements import StatementSurroundings
from graphtide_preprocess.adapters import rows
from graphtide_preprocess.domain.blocks import BlockReader
from graphtide_preprocess.domain.registered import statement_of
from graphtide_query import print_stream
from graphtide_testing.given_rows import expected_rows, values_of
from graphtide_testing.oracles.stream_records import FilteredRecord, read_stream, read_table
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges
from graphtide_wire.stream_statement import StatementRecord, encode_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from graphtide.readers import Reader
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_testing.given_rows import Row
    from pyspark.sql import SparkSession

STATEMENT = """
TABLE risk FROM 'risk.csv' KEY id AT since IN s RELOAD 5m
TABLE hosts FROM 'sub/hosts.parquet' KEY address WHERE address <> 'skip'
STREAM flows
EDGE (payer:account)-[:pays]->(payee:account)
EDGE (payer:account)-[:used]->(coalesce(host.name, address)) WHERE address IS NOT NULL
JOIN hosts AS host ON address = host.address SET zone = host.zone
JOIN risk AS of_source ON src = of_source.id SET source_score = of_source.score
JOIN risk AS of_target ON dst = of_target.id SET target_score = of_target.score
AT at IN ms ID id
SET amount = amount
WHERE coalesce(host.zone, '') <> 'test'
"""
RISK = "id,score,since\n007,1,0\nb,5,0\nb,7,2\nmail,9,0\nc,0.5,1\n"
HOSTS = [
    {"address": "10.0.0.1", "name": "mail", "zone": "dmz"},
    {"address": "10.0.0.2", "name": "try", "zone": "test"},
    {"address": "skip", "name": "skip", "zone": None},
]
RECORDS: list[dict[str, object]] = [
    {"id": "r1", "at": 1000, "payer": "007", "payee": "b", "amount": 10, "address": "10.0.0.1"},
    {"id": "r2", "at": 2000, "payer": "7", "payee": "b", "amount": 20, "address": None},
    {"id": "r3", "at": 2500, "payer": "b", "payee": "c", "amount": 30, "address": "10.0.0.2"},
    {"id": "r4", "at": 3000, "payer": "c", "payee": "nobody", "amount": 40.5, "address": "10.0.0.9"},
]
LINES = b"".join(json.dumps(each).encode() + b"\n" for each in RECORDS)
EDGES, NDJSON = "/api/v1/streams/flows/edges", {"content-type": "application/x-ndjson"}


class Sample:
    """Records, a statement that joins them with tables, and what the oracle makes of them."""

    def __init__(self, folder: Path) -> None:
        """Write the files."""
        self.folder = folder
        (folder / "sub").mkdir()
        (folder / "risk.csv").write_text(RISK)
        pq.write_table(pa.Table.from_pylist(HOSTS), folder / "sub" / "hosts.parquet")
        (folder / "flows.gts").write_text(STATEMENT)
        self.file = folder / "flows.jsonl"
        self.file.write_bytes(LINES)
        self.definition: StreamDefinition = Stream.from_file(folder / "flows.gts").definition
        self.attributes = tuple(attributes_of(self.definition) or ())
        risk, hosts = self.definition.tables
        names, *lines = (line.split(",") for line in RISK.splitlines())
        decoded = [
            {
                name: text if name == "id" else float(text) if "." in text else int(text)
                for name, text in zip(names, row, strict=True)
            }
            for row in lines
        ]
        unit = self.definition.unit
        tables = {"risk": read_table(risk, decoded, unit), "hosts": read_table(hosts, HOSTS, unit)}
        outcomes = read_stream(self.definition, RECORDS, tables)
        self.rows = plain(expected_rows(outcomes, self.attributes, range(len(outcomes))))
        self.filtered = sum(isinstance(each, FilteredRecord) for each in outcomes)

    def options(self) -> ReaderOptions:
        """Return options of a reader of the sample."""
        written = RecordOptions(stream=(self.definition,))
        return ReaderOptions(attributes=self.attributes, time_unit=self.definition.unit, record_options=written)


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """Return the sample."""
    return Sample(tmp_path)


def plain(rows: Iterable[Row]) -> list[Row]:
    """Return rows without the places that doors count in their own ways; values show their types."""
    return [{name: value for name, value in values_of(row).items() if name not in {"line", "ordinal", "epoch"}} for row in rows]


def read(reader: Reader) -> tuple[list[Row], int]:
    """Return what a reader gives, and how many records it filters; it rejects none."""
    found = plain(row for batch in reader.batches() for row in batch.to_records())
    assert reader.take_dead_letters() == []
    return found, reader.filtered


def test_the_sample_has_rows_of_all_kinds(sample: Sample) -> None:
    assert sample.filtered == 1
    assert [row["id"] for row in sample.rows] == ["r1#1", "r1#2", "r2#1", "r4#1", "r4#2"]
    first, of_host, second, *_ = sample.rows
    assert (first["attributes"]["source_score"], first["attributes"]["target_score"]) == (("int", "1"), ("int", "5"))
    assert (of_host["dst"], of_host["attributes"]["target_score"]) == ("mail", ("int", "9"))
    assert (second["attributes"]["source_score"], second["attributes"]["target_score"]) == (("NoneType", "None"), ("int", "7"))


def test_a_file_and_records_of_python(sample: Sample) -> None:
    assert read(open_stream(sample.file, sample.options())) == (sample.rows, sample.filtered)
    assert read(from_edges(RECORDS, sample.options())) == (sample.rows, sample.filtered)


def test_a_table_is_found_beside_its_statement_whatever_the_folder(
    sample: Sample, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    pattern = "PATTERN p MATCH (a)-[e:pays]->(b) WHERE e.target_score >= 7 RETURN e.target_score ON flows WINDOW 1s"
    options = MatchOptions(stream=sample.folder / "flows.gts")
    assert [dict(each.fields) for each in match(pattern, sample.file, options)] == [{"e.target_score": 7}]
    with pytest.raises(UnreadableStreamError, match=r"risk\.csv: No such file or directory, for the table risk"):
        list(match(pattern, sample.file, MatchOptions(stream=STATEMENT)))


def test_history(sample: Sample) -> None:
    history = statement_files(str(sample.file), sample.definition, "jsonl")
    (piece,) = history.pieces()
    piece = pickle.loads(pickle.dumps(piece))  # noqa: S301 - as executors get it
    batches = piece.batches(Reading(Symbols(), sample.attributes, sample.definition.unit))
    assert plain(row for batch in batches for row in batch.to_records()) == sample.rows
    before = history.fingerprint()
    (sample.folder / "risk.csv").write_text(RISK + "d,1,0\n")
    assert history.fingerprint() != before


def test_bodies_of_requests(sample: Sample) -> None:
    stage = stage_of(sample)
    settings = IngestionSettings(
        prefix="test", streams=("flows",), roles=frozenset({"http"}), insecure=True, tables=str(sample.folder)
    )
    with TestClient(bootstrap(stage.log, settings).app) as client:
        answer = client.post(EDGES, content=LINES, headers=NDJSON)
    assert (answer.status_code, answer.json()["accepted"], answer.json()["filtered"]) == (202, len(sample.rows), 1)
    assert plain(stage.fall_silent().ordered()) == sample.rows


def test_requests_wait_for_a_table(sample: Sample) -> None:
    (sample.folder / "risk.csv").unlink()
    stage = stage_of(sample)
    settings = IngestionSettings(
        prefix="test", streams=("flows",), roles=frozenset({"http"}), insecure=True, tables=str(sample.folder)
    )
    with TestClient(bootstrap(stage.log, settings).app) as client:
        answer = client.post(EDGES, content=LINES, headers=NDJSON)
    assert answer.status_code == 503
    assert "risk.csv: No such file" in answer.json()["detail"]


def test_a_raw_topic(sample: Sample) -> None:
    stage = stage_of(sample)
    for line in LINES.splitlines(keepends=True):
        stage.write(raw.encode(TOPICS.raw(FLOWS), RawEdges(line)))
    found = stage.fall_silent().ordered()
    assert [each.reason for each in stage.letters()] == []
    assert plain(found) == sample.rows


def stage_of(sample: Sample) -> SequencingStage:
    """Return a sequencer of a stream with the statement."""
    tables = ReferenceTables(str(sample.folder))
    stage = SequencingStage(lateness=10**15, surroundings=StatementSurroundings(tables=tables))
    stage.state(print_stream(replace(sample.definition, name=FLOWS)), 1)
    return stage


def test_tasks_on_spark(spark: SparkSession, sample: Sample) -> None:
    definition = replace(sample.definition, name=FLOWS)
    statement = encode_statement(StatementRecord.of("", definition, 1, datetime(2026, 1, 1, tzinfo=UTC)))
    messages = [raw.encode(TOPICS.raw(FLOWS), RawEdges(line)) for line in LINES.splitlines(keepends=True)]
    records = [Record(each.topic, 0, place, 0, each.key, each.value, each.headers) for place, each in enumerate(messages)]
    folder = str(sample.folder)

    def read_blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # A function by value: executors have no modules of tests.
        for batch in batches:
            for task in batch.column("task").to_pylist():
                given, taken = pickle.loads(task)  # noqa: S301 - written below
                blocks = BlockReader(statement=statement_of(given, folder)).blocks(taken)
                yield rows.read_batch(rows.block_row("flows", block) for block in blocks)

    frame = spark.createDataFrame([(pickle.dumps((statement, records)),)], "task binary").coalesce(1)
    read_rows: list[Row] = []
    ordinal = 0
    for row in frame.mapInArrow(read_blocks, rows.READ).collect():
        block = rows.block_of(rows.ReadRow(row.stream, row.kind, row.place, bytes(row.head), bytes(row.body)))
        decoded = block.decoded("raw", Symbols(), block.head.attributes, ordinal)
        assert [piece.refused for piece in decoded.pieces if piece.refused] == []
        assert decoded.edges is not None
        read_rows += plain(decoded.edges.to_records())
        ordinal += sum(piece.ordinals for piece in decoded.pieces)
    assert read_rows == sample.rows
