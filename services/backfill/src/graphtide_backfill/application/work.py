"""What executors do: read pieces into blocks, name the records of each id, match slices. Plain functions over values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from graphtide_native.records import Symbols
from graphtide_wire.ordered_body import MADE
from numpy.typing import NDArray

from graphtide_backfill.application.pieces import Reading
from graphtide_backfill.domain.blocks import cut
from graphtide_backfill.domain.duplicates import arrivals_of
from graphtide_backfill.domain.matching import SliceMatching

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import EncodedMatch

    from graphtide_backfill.application.reading_plan import PlannedPiece
    from graphtide_backfill.domain.blocks import Block
    from graphtide_backfill.domain.division import Division
    from graphtide_backfill.domain.slices import Slice
    from graphtide_backfill.domain.task import Outcome, Task


@dataclass(frozen=True, slots=True)
class Job:
    """Slices to match, and what is known of history.

    Attributes:
        task: what to find, and how.
        slices: the slices that are to be matched.
        deletions: whether history may delete.
        division: by the key of which slices are parts.
    """

    task: Task
    slices: tuple[Slice, ...]
    deletions: bool
    division: Division | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes that history is read with."""
        key = () if self.division is None else self.division.attributes
        return tuple(dict.fromkeys((*self.task.attributes, *key)))


class SliceSink(Protocol):
    """Keeps what slices found."""

    def keep(self, matching: SliceMatching, matches: Iterable[list[EncodedMatch]]) -> Outcome:
        """Take all matches of a slice and its outcome after them; both are kept at once, or neither."""
        ...


class Ids(NamedTuple):
    """The records of a batch by their ids."""

    ids: pa.Array
    times: list[int]
    arrivals: list[int]
    deletes: list[bool]


Duplicates = Mapping[str, NDArray[np.int64]]
"""The arrivals of duplicates, ascending, by their streams; see `arrivals_of`."""


def blocks_of(planned: PlannedPiece, job: Job, duplicates: Duplicates) -> Iterator[Block]:
    """Yield the blocks that a piece holds for the slices."""
    reading = Reading(Symbols(), job.attributes, job.task.unit, planned.ordinal)
    for number, batch in enumerate(planned.piece.batches(reading)):
        yield from cut(
            batch,
            job.slices,
            job.task.window,
            place=planned.place + number,
            settled=planned.settled[number],
            duplicates=duplicates.get(planned.piece.stream),
            division=job.division,
        )


def ids_of(planned: PlannedPiece, unit: TimeUnit) -> Iterator[Ids]:
    """Yield the records of a piece by their ids, those that give one: what is made comes once."""
    for batch in planned.piece.batches(Reading(Symbols(), (), unit, planned.ordinal)):
        with pa.ipc.open_stream(batch.to_arrow()) as reader:
            (columns,) = reader.read_all().to_batches()
        deletes = [False] * len(batch)
        if "op" in columns.schema.names:
            deletes = [each == "delete" for each in columns.column("op").to_pylist()]
        ids, times, arrivals = columns.column("id"), batch.ts, arrivals_of(batch).tolist()
        if MADE in columns.schema.names:
            given = [not each for each in columns.column(MADE).to_pylist()]
            ids = ids.filter(pa.array(given))
            times, arrivals = list(compress(times, given)), list(compress(arrivals, given))
            deletes = list(compress(deletes, given))
        yield Ids(ids, times, arrivals, deletes)


def match_slices(blocks: Iterable[Block], job: Job, sink: SliceSink) -> Iterator[Outcome]:
    """Match slices whose blocks come one slice after the other, those of each by their places.

    Raises:
        LimitExceededError: a pattern reached a bound under the policy `fail`.
    """
    by_number = {each.number: each for each in job.slices}
    for number, own in groupby(blocks, key=attrgetter("slice")):
        matching = SliceMatching(job.task, by_number[number], deletions=job.deletions, division=job.division)
        yield sink.keep(matching, matching.matches(own))
