"""The sample of each preset is read at every door as by the oracle: files, Python, requests, raw topics, history, Spark."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient
from graphtide import Stream
from graphtide.readers import ReaderOptions, from_edges, open_stream
from graphtide.record_options import RecordOptions
from graphtide_backfill.application.pieces import Reading
from graphtide_backfill.bootstrap import statement_files
from graphtide_core.formats import CSV
from graphtide_core.ports.log import Record
from graphtide_core.stream_fields import attributes_of
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings as IngestionSettings
from graphtide_native.records import Symbols
from graphtide_preprocess.adapters import rows
from graphtide_preprocess.domain.blocks import BlockReader
from graphtide_preprocess.domain.registered import statement_of
from graphtide_query import print_stream
from graphtide_query.presets import preset_names
from graphtide_testing.given_rows import expected_rows, values_of
from graphtide_testing.oracles.record_files import read_documents, read_records
from graphtide_testing.oracles.stream_records import FilteredRecord, read_stream
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage
from graphtide_wire import raw
from graphtide_wire.ordered import EVENT
from graphtide_wire.raw import RawEdges
from graphtide_wire.stream_statement import StatementRecord, encode_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from graphtide.readers import Reader
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_testing.given_rows import Row
    from pyspark.sql import SparkSession

SAMPLES = Path(__file__).parents[3] / "shared" / "query" / "tests" / "fixtures" / "presets"
JSON = ("json", "jsonl")
EDGES, PLAIN = "/api/v1/streams/flows/edges", {"content-type": "text/plain"}
MOST_LINES = 3
"""A sample of fewer lines is one body."""


def format_of(name: str) -> str:
    """Return the format that a preset states."""
    stated = Stream.preset(name).definition.format
    assert stated is not None
    return stated.name


class Sample:
    """The sample of a preset, and what the oracle reads from it."""

    def __init__(self, name: str) -> None:
        """Read the sample."""
        self.format = format_of(name)
        self.definition: StreamDefinition = Stream.preset(name).definition
        (self.file,) = (each for each in SAMPLES.glob(f"{name}.*") if each.suffix != ".given")
        self.data = self.file.read_bytes()
        self.attributes = tuple(attributes_of(self.definition) or ())
        outcomes = read_stream(self.definition, read_records(self.definition, self.data))
        self.rows = plain(expected_rows(outcomes, self.attributes, range(len(outcomes))))
        self.filtered = sum(isinstance(each, FilteredRecord) for each in outcomes)

    def options(self) -> ReaderOptions:
        """Return options of a reader of the sample."""
        written = RecordOptions(stream=(self.definition,))
        return ReaderOptions(attributes=self.attributes, time_unit=self.definition.unit, record_options=written)


@pytest.fixture(params=preset_names())
def sample(request: pytest.FixtureRequest) -> Sample:
    """Return the sample of a preset whose format is read."""
    found = Sample(request.param)
    assert found.rows
    return found


def plain(rows: Iterable[Row]) -> list[Row]:
    """Return rows without the places that doors count in their own ways; values show their types."""
    return [{name: value for name, value in values_of(row).items() if name not in {"line", "ordinal", "epoch"}} for row in rows]


def read(reader: Reader) -> tuple[list[Row], int]:
    """Return what a reader gives, and how many records it filters; it rejects none."""
    rows = plain(row for batch in reader.batches() for row in batch.to_records())
    assert reader.take_dead_letters() == []
    return rows, reader.filtered


def raw_records(sample: Sample) -> Iterator[RawEdges]:
    """Yield raw records: one a line, or the whole where a line alone says too little; a header line goes beside them."""
    if sample.format in {"json", "xml", "zeek"}:
        yield RawEdges(sample.data)
        return
    lines = sample.data.splitlines(keepends=True)
    stated = sample.definition.format
    assert stated is not None
    if sample.format == CSV.value and stated.columns is None:
        header, *lines = lines
        columns = header.decode(stated.encoding or "utf-8").strip()
        yield from (RawEdges(line, format=CSV, columns=columns) for line in lines)
        return
    yield from map(RawEdges, lines)


def test_a_file_is_read_as_by_the_oracle(sample: Sample) -> None:
    assert read(open_stream(sample.file, sample.options())) == (sample.rows, sample.filtered)


@pytest.mark.parametrize("sample", [each for each in preset_names() if format_of(each) in JSON], indirect=True)
def test_records_of_python_are_read_as_by_the_oracle(sample: Sample) -> None:
    documents: list[Any] = read_documents(sample.definition, sample.data)
    assert read(from_edges(documents, sample.options())) == (sample.rows, sample.filtered)


def test_history_is_read_as_by_the_oracle(sample: Sample) -> None:
    (piece,) = statement_files(str(sample.file), sample.definition, sample.format).pieces()
    piece = pickle.loads(pickle.dumps(piece))  # noqa: S301 - as executors get it
    batches = piece.batches(Reading(Symbols(), sample.attributes, sample.definition.unit))
    assert plain(row for batch in batches for row in batch.to_records()) == sample.rows
    facts = piece.facts()
    assert (facts.rejected, facts.has_ids) == (0, sample.definition.id is not None)


def bodies(sample: Sample) -> Iterator[bytes]:
    """Yield the sample as the bodies of requests: whole, or in halves that both have the header line."""
    lines = sample.data.splitlines(keepends=True)
    if sample.format in {"json", "xml", "zeek"} or len(lines) < MOST_LINES:
        yield sample.data
        return
    stated = sample.definition.format
    assert stated is not None
    head = lines[:1] if sample.format == CSV.value and stated.columns is None else []
    own = lines[len(head) :]
    yield b"".join([*head, *own[: len(own) // 2]])
    yield b"".join([*head, *own[len(own) // 2 :]])


def test_bodies_of_requests_are_sequenced_as_the_oracle_reads(sample: Sample) -> None:
    stage = SequencingStage(lateness=10**15)
    stage.state(print_stream(replace(sample.definition, name=FLOWS)), 1)
    settings = IngestionSettings(prefix="test", streams=("flows",), roles=frozenset({"http"}), insecure=True)
    with TestClient(bootstrap(stage.log, settings).app) as client:
        answers = [client.post(EDGES, content=body, headers=PLAIN) for body in bodies(sample)]
    assert [each.status_code for each in answers] == [202] * len(answers), answers[0].text
    assert sum(each.json()["accepted"] for each in answers) == len(sample.rows)
    assert sum(each.json().get("filtered", 0) for each in answers) == sample.filtered
    found = stage.fall_silent().ordered()
    assert [each.reason for each in stage.letters()] == []
    assert read_sequenced(found) == sorted(sample.rows, key=lambda row: row["ts"])


def read_sequenced(found: list[Row]) -> list[Row]:
    """Return rows that left the sequencer; events have no source, and are marked."""
    for each in found:
        is_event = each["attributes"].pop(EVENT, False)
        assert is_event == (not each["src"])
    return plain(found)


def test_a_raw_topic_is_sequenced_as_the_oracle_reads(sample: Sample) -> None:
    stage = SequencingStage(lateness=10**15)
    stage.state(print_stream(replace(sample.definition, name=FLOWS)), 1)
    for record in raw_records(sample):
        stage.write(raw.encode(TOPICS.raw(FLOWS), record))
    found = stage.fall_silent().ordered()
    assert [each.reason for each in stage.letters()] == []
    assert read_sequenced(found) == sorted(sample.rows, key=lambda row: row["ts"])


def test_tasks_on_spark_read_all_samples_as_the_oracle(spark: SparkSession, subtests: pytest.Subtests) -> None:
    samples = {name: Sample(name) for name in preset_names()}
    given = [(name, pickle.dumps(task_of(sample))) for name, sample in samples.items()]

    def read_blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # A function by value: executors have no modules of tests.
        for batch in batches:
            for name, task in zip(batch.column("name").to_pylist(), batch.column("task").to_pylist(), strict=True):
                statement, records = pickle.loads(task)  # noqa: S301 - written above
                blocks = BlockReader(statement=statement_of(statement)).blocks(records)
                yield rows.read_batch(rows.block_row(name, block) for block in blocks)

    frame = spark.createDataFrame(given, "name string, task binary").coalesce(1)
    found = frame.mapInArrow(read_blocks, rows.READ).collect()
    for name, sample in samples.items():
        with subtests.test(name):
            ordinal = filtered = 0
            read: list[Row] = []
            for row in (each for each in found if each.stream == name):
                block = rows.block_of(rows.ReadRow(row.stream, row.kind, row.place, bytes(row.head), bytes(row.body)))
                decoded = block.decoded("raw", Symbols(), block.head.attributes, ordinal)
                assert [piece.refused for piece in decoded.pieces if piece.refused] == []
                assert decoded.edges is not None
                read += plain(decoded.edges.to_records())
                ordinal += sum(piece.ordinals for piece in decoded.pieces)
                filtered += decoded.filtered
            assert (read, filtered) == (sample.rows, sample.filtered)


def task_of(sample: Sample) -> tuple[bytes, list[Record]]:
    """Return what a task is given: the record of the statement, and raw records."""
    definition = replace(sample.definition, name=FLOWS)
    statement = encode_statement(StatementRecord.of("", definition, 1, datetime(2026, 1, 1, tzinfo=UTC)))
    messages = [raw.encode(TOPICS.raw(FLOWS), each) for each in raw_records(sample)]
    records = [Record(each.topic, 0, place, 0, each.key, each.value, each.headers) for place, each in enumerate(messages)]
    return statement, records
