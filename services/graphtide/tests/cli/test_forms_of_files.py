"""Files as people have them, by options of the command line and of readers: one stream in many forms gives one match."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide.cli.app import app
from graphtide.readers import ReaderOptions, from_edges, from_table, open_stream
from graphtide.record_options import RecordOptions
from graphtide_backfill.adapters.files import Files
from graphtide_backfill.application.pieces import Reading
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import JSON
from graphtide_core.time import TimeUnit
from graphtide_native.records import Symbols
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

PATTERN = "PATTERN back MATCH (a)-[x]->(b)-[y]->(a) ORDER x < y ON flows WINDOW 10m"
LABELLED = "PATTERN back MATCH (a)-[x:pays]->(b)-[y:pays]->(a) ORDER x < y ON flows WINDOW 10m"
FIRST, LAST = 1_706_702_401, 1_706_702_501
TICKS = f"ts,src,dst,label\n{FIRST},ann,bob,pays\n{LAST},bob,ann,pays\n"
SECONDS = ("--time-unit", "s")
ZEEK = (
    "#separator \\x09\n#unset_field\t-\n#fields\tts\tid.orig_h\tid.resp_h\tproto\n#types\ttime\taddr\taddr\tenum\n"
    f"{FIRST}.258458\tann\tbob\tpays\n{LAST}.5\tbob\tann\tpays\n#close\t2024\n"
)
MAPPED = ("--column", "src=id.orig_h", "--column", "dst=id.resp_h", "--column", "label=proto")
RECORDS = [
    {"eventTime": "2024-01-31T12:00:01Z", "src": "ann", "dst": "bob", "label": "pays"},
    {"eventTime": "2024-01-31T12:01:41Z", "src": "bob", "dst": "ann", "label": "pays"},
]
FORMS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "iso": (
        "flows.csv",
        "ts,src,dst,label\n2024-01-31T13:00:01+01:00,ann,bob,pays\n2024-01-31 12:01:41,bob,ann,pays\n",
        (*SECONDS, "--time-format", "iso"),
    ),
    "a format in a zone": (
        "flows.csv",
        "ts,src,dst,label\n31.01.2024 13:00:01,ann,bob,pays\n31.01.2024 13:01:41,bob,ann,pays\n",
        (*SECONDS, "--time-format", "%d.%m.%Y %H:%M:%S", "--time-zone", "Europe/Berlin"),
    ),
    "decimals": (
        "flows.jsonl",
        f'{{"ts":{FIRST}.75,"src":"ann","dst":"bob","label":"pays"}}\n{{"ts":"{LAST}.25","src":"bob","dst":"ann","label":"pays"}}\n',
        (*SECONDS, "--time-format", "s"),
    ),
    "an edge list": (
        "edges.txt",
        f"# from to time\nann  bob\t{FIRST}\n bob ann {LAST}\n",
        (*SECONDS, "--format", "csv", "--delimiter", "whitespace", "--columns", "src,dst,ts", "--comment", "#"),
    ),
    "columns without names": (
        "flows.csv",
        f"ann::bob::{FIRST}\nbob::ann::{LAST}\n",
        (*SECONDS, "--delimiter", "::", "--no-header", "--column", "ts=3", "--column", "src=1", "--column", "dst=2"),
    ),
    "a guessed unit": ("flows.csv", TICKS, ("--time-unit", "auto")),
    "a label for all": ("flows.csv", TICKS.replace(",label", "").replace(",pays", ""), (*SECONDS, "--label", "pays")),
    "words for missing values": (
        "flows.csv",
        f"ts,src,dst,label,id\n{FIRST},ann,bob,pays,-\n{LAST},bob,ann,pays,NA\n",
        (*SECONDS, "--null", "-", "--null", "NA"),
    ),
    "zeek": ("conn.log", ZEEK, (*SECONDS, *MAPPED)),
    "a list": (
        "flows.json",
        json.dumps(RECORDS, indent=2),
        (*SECONDS, "--time-format", "iso", "--column", "ts=eventTime"),
    ),
    "under a path": (
        "trail.json",
        json.dumps({"version": [1], "Records": RECORDS}),
        (*SECONDS, "--unnest", "Records", "--time-format", "iso", "--column", "ts=eventTime"),
    ),
}


def match(folder: Path, pattern: str, stream: Path | str, *options: str, input: bytes | None = None) -> Result:
    (folder / "p.gtp").write_text(pattern, "utf-8")
    line = ["match", str(folder / "p.gtp"), str(stream), *options]
    return CliRunner().invoke(app, line, input=input, catch_exceptions=False)


def is_found(ended: Result) -> bool:
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.exit_code == 0, ended.output
    return [(each["vertices"], each["first_ts"], each["last_ts"]) for each in found] == [
        ({"a": "ann", "b": "bob"}, FIRST, LAST)
    ]


def test_an_end_that_is_a_word_for_a_missing_value_rejects_its_record(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(f"ts,src,dst,label\n{FIRST},ann,bob,pays\n{LAST},-,ann,pays\n")
    ended = match(tmp_path, PATTERN, tmp_path / "flows.csv", *SECONDS, "--null", "-")
    assert (ended.exit_code, "src is empty" in ended.output) == (5, True)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_stream_has_its_match(form: str, tmp_path: Path) -> None:
    name, text, options = FORMS[form]
    (tmp_path / name).write_text(text, "utf-8")
    assert is_found(match(tmp_path, PATTERN, tmp_path / name, *options))
    has_label = "pays" in text or "--label" in options
    checked = CliRunner().invoke(app, ["validate", str(tmp_path / "p.gtp"), "--stream", str(tmp_path / name), *options])
    assert checked.exit_code == 0, checked.output
    if has_label:
        assert is_found(match(tmp_path, LABELLED, tmp_path / name, *options))
    else:
        assert 'no column "label"' in match(tmp_path, LABELLED, tmp_path / name, *options).stderr


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: bytes(pa.Codec("zstd").compress(data, asbytes=True)),
}


def make_zip(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return file.getvalue()


@pytest.mark.parametrize("suffix", PACKED)
def test_a_packed_file_is_known_by_its_bytes(suffix: str, tmp_path: Path) -> None:
    for name, text, options in (("flows.csv", TICKS, SECONDS), ("conn.log", ZEEK, (*SECONDS, *MAPPED))):
        path = tmp_path / f"{name}.{suffix}"
        path.write_bytes(PACKED[suffix](text.encode()))
        assert is_found(match(tmp_path, PATTERN, path, *options))
    misnamed = tmp_path / "flows.csv"
    misnamed.write_bytes(PACKED[suffix](TICKS.encode()))
    assert is_found(match(tmp_path, PATTERN, misnamed, *SECONDS))


def test_an_archive_has_the_format_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "flows.zip"
    path.write_bytes(make_zip("data/flows.csv", TICKS.encode()))
    assert is_found(match(tmp_path, PATTERN, path, *SECONDS))
    path.write_bytes(make_zip("conn.log", ZEEK.encode()))
    assert is_found(match(tmp_path, PATTERN, path, *SECONDS, *MAPPED))
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(TICKS.encode() * 1)[:-9])
    ended = match(tmp_path, PATTERN, cut, *SECONDS)
    assert ended.exit_code == 3
    assert "cut.csv.gz: the gzip data breaks off" in ended.stderr
    assert len(ended.stdout.splitlines()) == 1, "what came before counts"


def test_a_unit_is_guessed_and_said(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(TICKS, "utf-8")
    ended = match(tmp_path, PATTERN, tmp_path / "flows.csv", "--time-unit", "auto")
    assert f"note: ts is taken to count s: the first, {FIRST}, is of 2024-01-31T12:00:01Z then" in ended.stderr
    (tmp_path / "small.csv").write_text("ts,src,dst,label\n5,a,b,x\n", "utf-8")
    refused = match(tmp_path, PATTERN, tmp_path / "small.csv", "--time-unit", "auto")
    assert refused.exit_code == 2
    assert "its first time, 5, is near today in none" in " ".join(refused.output.split()).replace("│ ", "")
    refused = match(tmp_path, PATTERN, "-", "--time-unit", "auto", input=TICKS.encode())
    assert refused.exit_code == 2


def test_a_first_time_that_another_unit_fits_is_noted(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(TICKS, "utf-8")
    note = f"the first time, {FIRST}, is 1970-01-20 in ms and 2024-01-31 in s: does ts count s?"
    assert f"note: {note}" in match(tmp_path, PATTERN, tmp_path / "flows.csv").stderr
    assert "first time" not in match(tmp_path, PATTERN, tmp_path / "flows.csv", *SECONDS).stderr


def test_a_time_that_is_no_integer_is_rejected_with_the_format_that_reads_it(tmp_path: Path) -> None:
    name, text, _ = FORMS["iso"]
    (tmp_path / name).write_text(text, "utf-8")
    ended = match(tmp_path, PATTERN, tmp_path / name)
    assert ended.exit_code == 3
    assert 'ts "2024-01-31T13:00:01+01:00" is not an integer; the time format iso reads it' in ended.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--time-format", "noon"), "'noon' is not a format of times"),
        (("--time-format", "%H:%M"), "it has no year: %Y or %y"),
        (("--time-format", "iso", "--time-zone", "Mars"), "'Mars' is not a time zone"),
        (("--decimal", ";"), "';' is not one of . and ,"),
        (("--columns", "ts,,src"), "has an empty name in it"),
        (("--comment", ""), "'' is empty or more than a line"),
        (("--label", ""), "'' is empty or more than a line"),
        (("--time-format", "s", "--time-unit", "auto"), "auto guesses what integers count"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(TICKS, "utf-8")
    refused = match(tmp_path, PATTERN, tmp_path / "flows.csv", *options)
    assert refused.exit_code == 2
    assert message in " ".join(refused.output.split()).replace("│ ", "")


def test_a_zone_of_numbers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(TICKS, "utf-8")
    with pytest.raises(UnreadableStreamError, match="a time zone means nothing for times that are numbers"):
        open_stream(tmp_path / "flows.csv", ReaderOptions(record_options=RecordOptions(time_zone="Europe/Berlin")))


def test_standard_input_is_read_in_every_form(tmp_path: Path) -> None:
    path = tmp_path / "input"
    for packed in (None, *PACKED.values()):
        text = json.dumps({"Records": RECORDS}, indent=1).encode()
        path.write_bytes(text if packed is None else packed(text))
        with path.open("rb") as file, pytest.MonkeyPatch.context() as patched:
            patched.setattr("sys.stdin", file)
            options = ReaderOptions(
                columns={"ts": "eventTime"},
                time_unit=TimeUnit.SECOND,
                format=JSON,
                record_options=RecordOptions(time_format="iso", unnest=("Records",)),
            )
            found = [each["ts"] for batch in open_stream("-", options).batches() for each in batch.to_records()]
        assert found == [FIRST, LAST]


def test_records_and_tables_of_python_are_read_as_the_options_say() -> None:
    berlin = RecordOptions(time_zone="Europe/Berlin", label="x")
    ends = {"src": "a", "dst": "b"}
    cases: list[tuple[dict[str, Any], object]] = [
        ({"time_format": "iso"}, "2024-01-31T13:00:01"),
        ({"time_format": "iso"}, "2024-01-31T12:00:01.0009Z"),
        ({"time_format": "%d.%m.%Y %T"}, "31.01.2024 13:00:01"),
        ({}, datetime.fromisoformat("2024-01-31T13:00:01")),
        ({}, datetime(2024, 1, 31, 12, 0, 1, tzinfo=UTC)),
        ({}, FIRST * 1000),
    ]
    for given, ts in cases:
        options = ReaderOptions(record_options=replace(berlin, **given))
        reader = from_edges([{"ts": ts, **ends}], options)
        found = [(each["ts"], each["label"]) for batch in reader.batches() for each in batch.to_records()]
        assert found == [(FIRST * 1000, "x")], (given, ts, reader.take_dead_letters())
    for ts in (FIRST, float(FIRST), Decimal(FIRST), f"{FIRST}.0001", f"{FIRST}"):
        options = ReaderOptions(record_options=RecordOptions(time_format="s", label="x"))
        times = [each["ts"] for batch in from_edges([{"ts": ts, **ends}], options).batches() for each in batch.to_records()]
        assert times == [FIRST * 1000], ts
    table = pa.table({"ts": ["31.01.2024 13:00:01"], "src": ["a"], "dst": ["b"]})
    options = ReaderOptions(record_options=replace(berlin, time_format="%d.%m.%Y %T"))
    rows = [each for batch in from_table(table, options).batches() for each in batch.to_records()]
    assert [(each["ts"], each["label"]) for each in rows] == [(FIRST * 1000, "x")]


def test_a_column_of_dates_in_a_file_of_parquet_is_a_time(tmp_path: Path) -> None:
    day = datetime(2024, 1, 31, tzinfo=UTC)
    table = pa.table({"ts": [day.date()] * 2, "src": ["ann", "bob"], "dst": ["bob", "ann"]})
    pq.write_table(table, tmp_path / "flows.parquet")
    ended = match(tmp_path, PATTERN, tmp_path / "flows.parquet", *SECONDS)
    assert ended.exit_code == 0, ended.output
    reader = open_stream(
        tmp_path / "flows.parquet", ReaderOptions(time_unit=TimeUnit.SECOND, record_options=RecordOptions(label="x"))
    )
    assert {each["ts"] for batch in reader.batches() for each in batch.to_records()} == {int(day.timestamp())}


@pytest.mark.parametrize(("name", "format", "columns"), [("conn.log.xz", "zeek", True), ("flows.json.zip", "json", False)])
def test_a_backfill_reads_packed_logs_and_lists(name: str, format: str, columns: bool, tmp_path: Path) -> None:
    records = [{"ts": int(datetime.fromisoformat(each["eventTime"]).timestamp() * 1000), **each} for each in RECORDS]
    data = lzma.compress(ZEEK.encode()) if format == "zeek" else make_zip("flows.json", json.dumps(records, indent=1).encode())
    (tmp_path / name).write_bytes(data)
    mapped = {"src": "id.orig_h", "dst": "id.resp_h", "label": "proto"} if columns else {}
    (piece,) = Files(str(tmp_path / name), format, mapped).pieces()
    batches = piece.batches(Reading(Symbols(), (), TimeUnit.MILLISECOND))
    found = [(each["ts"] // 1000, each["src"]) for batch in batches for each in batch.to_records()]
    assert found == [(FIRST, "ann"), (LAST, "bob")]


def test_dates_without_a_zone_are_said_to_be_of_utc(tmp_path: Path) -> None:
    name, text, options = FORMS["iso"]
    (tmp_path / name).write_text(text, "utf-8")
    note = "note: times that name no zone were read as those of UTC; --time-zone says another"
    assert note in match(tmp_path, PATTERN, tmp_path / name, *options).stderr
    assert note not in match(tmp_path, PATTERN, tmp_path / name, *options, "--time-zone", "UTC").stderr
    (tmp_path / name).write_text(text.replace("41,", "41Z,"), "utf-8")
    assert note not in match(tmp_path, PATTERN, tmp_path / name, *options).stderr


def test_statistics_of_an_edge_list_are_made_without_a_label(tmp_path: Path) -> None:
    name, text, options = FORMS["an edge list"]
    (tmp_path / name).write_text(text, "utf-8")
    assert is_found(match(tmp_path, PATTERN, tmp_path / name, "--statistics-from", str(tmp_path / name), *options))
    counted = CliRunner().invoke(app, ["statistics", str(tmp_path / name), "--stream-format", *options[3:], "--label", "mail"])
    assert counted.exit_code == 0, counted.output
    assert "mail" in counted.stdout
    explained = CliRunner().invoke(
        app, ["explain", str(tmp_path / "p.gtp"), "--analyze", str(tmp_path / name), "--stream-format", *options[3:], *SECONDS]
    )
    assert explained.exit_code == 0, explained.output
