"""Where all matches of a run go at its end: a file of a columnar format or of JSON Lines, a folder, or standard output."""

from __future__ import annotations

import contextlib
import shutil
import sys
from datetime import date, timedelta
from typing import TYPE_CHECKING, BinaryIO, Final, TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from graphtide_core.errors import FatalError
from graphtide_core.formats import written_suffixes

from graphtide_backfill.adapters.result_folder import SCHEMA
from graphtide_backfill.adapters.table_history import history_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from graphtide_core.time import TimeUnit

    from graphtide_backfill.adapters.result_folder import ResultFolder


def write_all(results: ResultFolder, slices: Iterable[int], path: Path | None) -> None:
    """Write what the slices found, in the order of detection; a file appears whole or not at all.

    Raises:
        FatalError: it cannot be written.
    """
    if path is None:
        _write_lines(results, slices, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    hidden = path.with_name(f".{path.name}.part")
    try:
        format = written_suffixes().get(path.suffix)
        if format is not None and format.tables is not None:
            history_of(format.tables).write(hidden, SCHEMA, results.tables(slices))
        else:
            with hidden.open("wb") as file:
                _write_lines(results, slices, file)
        hidden.replace(path)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise FatalError(message) from error
    finally:
        with contextlib.suppress(OSError):
            hidden.unlink(missing_ok=True)


def write_partitioned(results: ResultFolder, slices: Iterable[int], folder: Path, unit: TimeUnit) -> None:
    """Write what the slices found to a folder of Parquet, divided by query and by the day of detection in UTC.

    Files are called `query=NAME/date=2024-01-05/000003-0.parquet`, by the number of the slice. The folder appears whole or not
    at all. Memory: some batches, whatever a slice found.

    Raises:
        FatalError: it is there already, or cannot be written.
    """
    if folder.exists():
        message = f"{folder} is there already: matches are written to a new folder"
        raise FatalError(message)
    hidden = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(hidden, ignore_errors=True)
    try:
        hidden.mkdir()
        for number in slices:
            _write_slice(results, number, hidden, unit)
        hidden.replace(folder)
    except OSError as error:
        message = f"{folder} cannot be written: {error.strerror or error}"
        raise FatalError(message) from error
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _write_slice(results: ResultFolder, number: int, folder: Path, unit: TimeUnit) -> None:
    dated = (_with_date(batch, unit) for batch in results.sink.tables(number))
    schema = pa.schema([*SCHEMA, _DATE])
    ds.write_dataset(
        dated,
        folder,
        schema=schema,
        format=ds.ParquetFileFormat(),
        partitioning=ds.partitioning(pa.schema([schema.field("query"), _DATE]), flavor="hive"),
        basename_template=f"{number:06d}-{{i}}.parquet",
        existing_data_behavior="overwrite_or_ignore",
        # Batches keep their order, so a file is in order of detection.
        use_threads=False,
    )


def _with_date(batch: pa.RecordBatch, unit: TimeUnit) -> pa.RecordBatch:
    """Return a batch with the day of detection."""
    ticks = _DAY // unit.nanoseconds
    days = [at // ticks for at in batch.column("detected_at").to_pylist()]
    names = {day: _name_of(day) for day in set(days)}
    dates = pa.array([names[day] for day in days], _DATE.type)
    return pa.record_batch([*batch.columns, dates], pa.schema([*batch.schema, _DATE])).cast(pa.schema([*SCHEMA, _DATE]))


def _name_of(day: int) -> str:
    """Return the date of a day since 1970; the number of one that no calendar has."""
    try:
        return (_EPOCH + timedelta(days=day)).isoformat()
    except OverflowError:
        return str(day)


_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = 24 * 3600 * 10**9
_DATE: Final = pa.field("date", pa.string(), nullable=False)


class Counted(TypedDict):
    """Matches, extensions, retractions and timeouts of a pattern in a stretch of time that begins at `start`."""

    start: int
    query: str
    matches: int
    extensions: int
    retractions: int
    timeouts: int


def counted_by_time(results: ResultFolder, slices: Iterable[int], ticks: int) -> list[Counted]:
    """Return the counts of each pattern in each stretch of `ticks` with a match, by time."""
    parts = []
    for batch in results.tables(slices):
        times = batch.column("detected_at")
        # Division rounds towards zero; stretches of negative times begin below.
        start = pc.multiply(pc.floor(pc.divide(times.cast(pa.float64(), safe=False), float(ticks))).cast(pa.int64()), ticks)
        part = pa.table([start, batch.column("query").cast(pa.string()), batch.column("kind").cast(pa.string())], _GROUP)
        parts.append(part.group_by(_GROUP).aggregate([([], "count_all")]))
    if not parts:
        return []
    found: dict[tuple[int, str], dict[str, int]] = {}
    for row in pa.concat_tables(parts).to_pylist():
        counts = found.setdefault((row["start"], row["query"]), {"match": 0, "extend": 0, "retract": 0, "timeout": 0})
        counts[row["kind"]] += row["count_all"]
    return [
        {
            "start": start,
            "query": query,
            "matches": counts["match"],
            "extensions": counts["extend"],
            "retractions": counts["retract"],
            "timeouts": counts["timeout"],
        }
        for (start, query), counts in sorted(found.items())
    ]


_GROUP = ["start", "query", "kind"]


def _write_lines(results: ResultFolder, slices: Iterable[int], file: BinaryIO) -> None:
    for batch in results.tables(slices):
        for record in batch.column("record").to_pylist():
            file.write(record.encode() + b"\n")
