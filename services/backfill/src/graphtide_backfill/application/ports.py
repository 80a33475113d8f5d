"""What a backfill works with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from graphtide_core.time import TimeUnit
    from numpy.typing import NDArray

    from graphtide_backfill.application.manifest import Manifest
    from graphtide_backfill.application.pieces import Piece, PieceReport
    from graphtide_backfill.application.reading_plan import PlannedPiece
    from graphtide_backfill.application.work import Duplicates, Job, SliceSink
    from graphtide_backfill.domain.division import Division
    from graphtide_backfill.domain.sizing import Machine
    from graphtide_backfill.domain.task import Outcome


class FoundRecord(NamedTuple):
    """A match record, one JSON object without line feed, and the version of its pattern."""

    version: int
    record: bytes


class CancelledError(Exception):
    """The work was cancelled; what was finished before stays."""


class Cluster(Protocol):
    """Where work is done, many pieces and slices at once. A piece or slice that is lost with its executor is done again."""

    @property
    def machine(self) -> Machine:
        """What there is."""
        ...

    def count(
        self, pieces: Sequence[Piece], unit: TimeUnit, tick: Callable[[], bool], division: Division | None = None
    ) -> list[PieceReport]:
        """Count pieces; return the reports in their order. `tick` is called now and then, and cancels by returning False.

        With a division the records of each part are counted, too.

        Raises:
            CancelledError: `tick` returned False.
            FatalError: an executor could not continue.
        """
        ...

    def duplicates(
        self, pieces: Sequence[PlannedPiece], unit: TimeUnit, window: int, tick: Callable[[], bool]
    ) -> NDArray[np.int64]:
        """Return the arrivals of all duplicates of one stream, ascending; see `arrivals_of`. Raises as `count`."""
        ...

    def match(
        self,
        pieces: Sequence[PlannedPiece],
        job: Job,
        duplicates: Duplicates,
        sink: SliceSink,
        tick: Callable[[], bool],
    ) -> None:
        """Match slices, and keep what each found; one without an edge is left out. Raises as `count`."""
        ...

    def close(self) -> None:
        """Release the executors."""
        ...


class Results(Protocol):
    """What was found, kept where every executor and the driver see it."""

    @property
    def sink(self) -> SliceSink:
        """Where executors keep what slices found; pickled to them."""
        ...

    def manifest(self) -> Manifest | None:
        """Return what the run that these are of is; None before one began."""
        ...

    def begin(self, manifest: Manifest) -> None:
        """Take note of what this run is."""
        ...

    def finished(self) -> dict[int, Outcome]:
        """Return the outcomes of the slices that are finished."""
        ...

    def keep_empty(self, outcome: Outcome) -> None:
        """Keep the outcome of a slice without edges."""
        ...

    def records(self, slice: int) -> Iterator[FoundRecord]:
        """Yield what a finished slice found, in the order of detection."""
        ...
