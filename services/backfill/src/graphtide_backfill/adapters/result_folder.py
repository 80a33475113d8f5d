"""A folder that keeps what a run found: `run.json` says what it is, `slices/` has a Parquet file for each finished slice.

A file appears whole or not at all: it is written under another name and moved. Its metadata hold the slice's outcome. Where two
executors matched one slice, because one of them was given up too early, both files say the same and the later stays.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from graphtide_core.errors import FatalError

from graphtide_backfill.adapters.detection_order import merge
from graphtide_backfill.application.manifest import Manifest, OtherRunError
from graphtide_backfill.application.ports import FoundRecord
from graphtide_backfill.domain.task import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from graphtide_native.match_batch import EncodedMatch

    from graphtide_backfill.domain.matching import SliceMatching

_OUTCOME: Final = b"graphtide.outcome"
SCHEMA: Final = pa.schema(
    [
        pa.field("match_id", pa.string(), nullable=False),
        pa.field("query", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("version", pa.int32(), nullable=False),
        pa.field("kind", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("detected_at", pa.int64(), nullable=False),
        pa.field("first_ts", pa.int64(), nullable=False),
        pa.field("last_ts", pa.int64(), nullable=False),
        pa.field("record", pa.string(), nullable=False),
        pa.field("backfilled", pa.bool_(), nullable=False),
    ]
)
"""Columns of matches; `record` is the match record as engines write it."""


class _Times(msgspec.Struct):
    detected_at: int
    first_ts: int
    last_ts: int


_TIMES: Final = msgspec.json.Decoder(_Times)


@dataclass(frozen=True, slots=True)
class SliceFiles:
    """A `SliceSink` over the folder of slices."""

    folder: Path

    def keep(self, matching: SliceMatching, matches: Iterable[list[EncodedMatch]]) -> Outcome:
        """See `SliceSink.keep`."""
        hidden = self.folder / f".{uuid.uuid4().hex}"
        try:
            with pq.ParquetWriter(hidden, SCHEMA, compression="zstd") as writer:
                for found in matches:
                    writer.write_batch(_columns(found))
                outcome = matching.outcome
                writer.add_key_value_metadata({_OUTCOME: msgspec.json.encode(outcome)})
            _move(hidden, self._path(outcome.slice))
        finally:
            hidden.unlink(missing_ok=True)
        return outcome

    def keep_empty(self, outcome: Outcome) -> None:
        """Keep the outcome of a slice without edges."""
        hidden = self.folder / f".{uuid.uuid4().hex}"
        with pq.ParquetWriter(hidden, SCHEMA) as writer:
            writer.add_key_value_metadata({_OUTCOME: msgspec.json.encode(outcome)})
        _move(hidden, self._path(outcome.slice))

    def numbers(self) -> list[int]:
        """Return the numbers of the slices that are finished."""
        return sorted(int(path.stem) for path in self.folder.glob("[0-9]*.parquet"))

    def outcome(self, number: int) -> Outcome:
        """Return the outcome of a finished slice."""
        return msgspec.json.decode(pq.read_metadata(self._path(number)).metadata[_OUTCOME], type=Outcome)

    def tables(self, number: int) -> Iterator[pa.RecordBatch]:
        """Yield what a finished slice found."""
        with pq.ParquetFile(self._path(number), read_dictionary=["query", "kind"]) as file:
            yield from file.iter_batches()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.parquet"


class ResultFolder:
    """`Results` in a folder, which all executors see under the same name."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if it is not there.

        Raises:
            FatalError: it cannot be made.
        """
        self.path = folder.resolve()
        self.sink = SliceFiles(self.path / "slices")
        self._known: dict[int, Outcome] = {}
        try:
            self.sink.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"{folder} cannot be made: {error.strerror or error}"
            raise FatalError(message) from error

    def manifest(self) -> Manifest | None:
        """See `Results.manifest`.

        Raises:
            OtherRunError: the folder is of something else.
        """
        try:
            return msgspec.json.decode((self.path / "run.json").read_bytes(), type=Manifest)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            message = f"{self.path} is not of a backfill that this version began"
            raise OtherRunError(message) from error

    def begin(self, manifest: Manifest) -> None:
        """See `Results.begin`."""
        hidden = self.path / ".run.json"
        hidden.write_bytes(msgspec.json.encode(manifest) + b"\n")
        _move(hidden, self.path / "run.json")

    def finished(self) -> dict[int, Outcome]:
        """See `Results.finished`."""
        for number in self.sink.numbers():
            if number not in self._known:
                self._known[number] = self.sink.outcome(number)
        return dict(sorted(self._known.items()))

    def keep_empty(self, outcome: Outcome) -> None:
        """See `Results.keep_empty`."""
        self.sink.keep_empty(outcome)

    def tables(self, slices: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """Yield what finished slices found, in the order of detection; those of one stretch of time are merged."""
        manifest = self.manifest()
        parts = 1 if manifest is None else manifest.cut.parts
        for _, numbers in groupby(slices, key=lambda number: number // parts):
            yield from merge([self.sink.tables(number) for number in numbers])

    def records(self, slice: int) -> Iterator[FoundRecord]:
        """See `Results.records`."""
        for batch in self.sink.tables(slice):
            columns = batch.column("version").to_pylist(), batch.column("record").to_pylist()
            for version, record in zip(*columns, strict=True):
                yield FoundRecord(version, record.encode())


def _columns(found: list[EncodedMatch]) -> pa.RecordBatch:
    times = [_TIMES.decode(each.json) for each in found]
    return pa.record_batch(
        [
            pa.array([each.match_id for each in found], pa.string()),
            pa.array([each.pattern.name for each in found], pa.string()).dictionary_encode(),
            pa.array([each.pattern.version for each in found], pa.int32()),
            pa.array([each.kind.value for each in found], pa.string()).dictionary_encode(),
            pa.array([each.detected_at for each in times], pa.int64()),
            pa.array([each.first_ts for each in times], pa.int64()),
            pa.array([each.last_ts for each in times], pa.int64()),
            pa.array([each.json.decode() for each in found], pa.string()),
            pa.array([True] * len(found)),
        ],
        schema=SCHEMA,
    )


def _move(hidden: Path, path: Path) -> None:
    """Let a file appear under its name, once it is kept by the disk."""
    with hidden.open("rb") as file:
        os.fsync(file.fileno())
    hidden.replace(path)
