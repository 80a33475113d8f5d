"""Run a backfill from history to matches: count, cut, find duplicates, match unfinished slices, report progress."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.errors import FatalError, UnreadableStreamError
from graphtide_core.part_key import MOST_PARTS
from graphtide_core.suggestion import did_you_mean
from graphtide_query.known_attributes import refuse_unknown_attributes

from graphtide_backfill.application.manifest import manifest_of
from graphtide_backfill.application.reading_plan import reading_plan
from graphtide_backfill.application.work import Job
from graphtide_backfill.domain.division import Division, refuse_not_local
from graphtide_backfill.domain.sizing import (
    SLICES_A_CORE,
    Estimate,
    Load,
    check_memory,
    cut_by_length,
    cut_evenly,
    estimate_size,
)
from graphtide_backfill.domain.slices import Cut
from graphtide_backfill.domain.task import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from graphtide_backfill.application.manifest import Manifest
    from graphtide_backfill.application.pieces import History
    from graphtide_backfill.application.ports import Cluster, Results
    from graphtide_backfill.application.reading_plan import PlannedPiece, ReadingPlan
    from graphtide_backfill.application.work import Duplicates
    from graphtide_backfill.domain.division import SliceKey
    from graphtide_backfill.domain.slices import Slice
    from graphtide_backfill.domain.task import Task


_SHOWN: Final = 40
"""Columns that an error names."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Options of a backfill beside the patterns.

    Attributes:
        start: first time of detection; None is the first of history.
        end: time before which matches are detected; None is after the last.
        slice_length: ticks of a slice; None cuts evenly.
        unique_ids: the user's word that no id comes twice within a window.
        by: what history is divided by, to which all patterns must be local; None cuts it by time alone.
    """

    start: int | None = None
    end: int | None = None
    slice_length: int | None = None
    unique_ids: bool = False
    by: SliceKey | None = None


class Progress(msgspec.Struct, frozen=True):
    """How far a run is: slices that are finished of all, their edges and matches, edges a second of this run."""

    slices_done: int
    slices: int
    edges: int
    matches: int
    edges_per_second: float


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that can begin.

    Attributes:
        manifest: what it is.
        reading: how history is read.
        slices: all of them, finished or not.
        estimate: what they cost.
        rest: where slices end, if history has grown past there since the run was cut and no end was requested.
    """

    manifest: Manifest
    reading: ReadingPlan
    slices: tuple[Slice, ...]
    estimate: Estimate
    rest: int | None


class RunTotals(msgspec.Struct, frozen=True):
    """What a run did.

    Attributes:
        slices: how many there were.
        edges: records in the slices.
        overlap: records looked at again, before slices.
        matches: matches found.
        extensions: extensions found.
        retractions: retractions found.
        timeouts: timeouts found.
        duplicates: records dropped because their id was in the window.
        rejected: records that could not be used.
        filtered: records that are not of the stream, as its statement says.
        seconds: of the whole run, with reading.
        slice_seconds: that slices took, all cores together.
        is_exact: False where a limit made an engine give up partial matches, or rest.
        unmatched: query edges, by their patterns, that no record could be by itself: often for want of a label or an attribute.
    """

    slices: int
    edges: int
    overlap: int
    matches: int
    extensions: int
    retractions: int
    timeouts: int
    duplicates: int
    rejected: int
    filtered: int
    seconds: float
    slice_seconds: float
    is_exact: bool
    unmatched: dict[str, list[str]]


class Backfill:
    """One run; `prepare`, then `run`."""

    def __init__(
        self,
        task: Task,
        history: History,
        cluster: Cluster,
        results: Results,
        asked: Asked,
        *,
        on_progress: Callable[[Progress], None],
        is_wanted: Callable[[], bool],
        cut_before: Callable[[Manifest], Cut | None] | None = None,
    ) -> None:
        """Put the run together.

        Args:
            task: what to find, and how.
            history: where edges come from.
            cluster: where work is done.
            results: where what is found is kept; a run that was begun there continues.
            asked: options beside the patterns.
            on_progress: called now and then.
            is_wanted: asked now and then; False cancels the run.
            cut_before: says how the run was cut if slices of it are published, though the results know of none.
        """
        self._task = task
        self._history = history
        self._cluster = cluster
        self._results = results
        self._asked = asked
        self._on_progress = on_progress
        self._is_wanted = is_wanted
        self._cut_before = cut_before
        self._started = time.perf_counter()
        self._before = 0
        self._also: Callable[[], None] = _nothing
        self._rejected = self._filtered = 0
        self._duplicates = 0

    def also(self, work: Callable[[], None]) -> None:
        """Do this, too, whenever progress is reported."""
        self._also = work

    def prepare(self) -> Prepared:
        """Count history and cut it, or take the slices of the run that continues.

        Raises:
            OtherRunError: what is kept is of another run.
            WindowTooLargeError: a window alone does not fit.
            CancelledError: the run is not wanted any more.
            InvalidPatternError: a pattern can never match, since it reads an attribute that history does not have. Or it is not
                local to the key.
            FatalError: history cannot be read.
        """
        refuse_missing_attributes(self._task, self._history)
        if self._asked.by is not None:
            refuse_not_local(self._task.patterns, self._asked.by.key, self._task.read_windows)
        asked, old = self._asked, self._results.manifest()
        this = manifest_of(self._task, self._history.fingerprint(), (asked.start, asked.end))
        if old is not None:
            old.check(this)
        known = old.cut if old is not None else self._cut_before and self._cut_before(this)
        division = known.division if known is not None else self._division()
        pieces = self._history.pieces()
        reading = reading_plan(pieces, self._cluster.count(pieces, self._task.unit, self._is_wanted, division))
        self._rejected, self._filtered = reading.rejected, reading.filtered
        used = (0,) if division is None else division.used(self._task.patterns)
        load = Load.of(reading.by_part, used, reading.profile.total)
        cut = known if known is not None else Cut(self._bounds(reading, load), division)
        slices = self._ended(cut.slices(used))
        estimate = estimate_size(reading.profile, cut.bounds, self._task.window, load)
        check_memory(estimate, self._cluster.machine)
        return Prepared(this.cut_as(cut), reading, slices, estimate, self._rest(reading, slices))

    def run(self, prepared: Prepared) -> RunTotals:
        """Match every slice that is not finished yet.

        Raises:
            CancelledError: the run is not wanted any more; what is finished stays.
            FatalError: an executor could not continue, or a limit was reached under the policy `fail`.
        """
        results, task, reading = self._results, self._task, prepared.reading
        if results.manifest() is None:
            results.begin(prepared.manifest)
        finished = results.finished()
        self._before = sum(each.edges for each in finished.values())
        missing = tuple(each for each in prepared.slices if each.number not in finished)
        if missing:
            end, tick = prepared.slices[-1].end, lambda: self._tick(prepared)
            duplicates = self._find_duplicates(reading, end, tick)
            self._duplicates = sum(map(len, duplicates.values()))
            pieces = reading.within(missing[0].start - task.window + 1, end)
            job = Job(task, missing, reading.deletions, prepared.manifest.cut.division)
            self._cluster.match(pieces, job, duplicates, results.sink, tick)
            for each in missing:
                if each.number not in results.finished():
                    results.keep_empty(Outcome(each.number))
        self._tick(prepared)
        return self.totals()

    def _find_duplicates(self, reading: ReadingPlan, end: int, tick: Callable[[], bool]) -> Duplicates:
        """Return the duplicates before a time; each stream has ids of its own."""
        if not self._history.may_repeat or not reading.has_ids or self._asked.unique_ids:
            return {}
        by_stream: dict[str, list[PlannedPiece]] = {}
        for each in reading.within(-(2**63), end):
            by_stream.setdefault(each.piece.stream, []).append(each)
        return {
            stream: self._cluster.duplicates(pieces, self._task.unit, self._task.lookback_of(stream), tick)
            for stream, pieces in by_stream.items()
        }

    def _ended(self, slices: tuple[Slice, ...]) -> tuple[Slice, ...]:
        """Return the slices; without a requested end, history ends with the last."""
        if self._asked.end is not None or not slices:
            return slices
        return tuple(replace(each, is_last=each.end == slices[-1].end) for each in slices)

    def _rest(self, reading: ReadingPlan, slices: tuple[Slice, ...]) -> int | None:
        if self._asked.end is not None or not slices or reading.profile.last < slices[-1].end:
            return None
        return slices[-1].end

    def _division(self) -> Division | None:
        by = self._asked.by
        if by is None:
            return None
        return Division(by.key, by.parts or min(MOST_PARTS, SLICES_A_CORE * self._cluster.machine.cores))

    def _bounds(self, reading: ReadingPlan, load: Load) -> tuple[int, ...]:
        asked, profile = self._asked, reading.profile
        start = asked.start if asked.start is not None else profile.first
        end = asked.end if asked.end is not None else profile.last + 1
        if start >= end:
            return ()
        if whole := self._task.uncuttable:
            if asked.slice_length is not None:
                message = (
                    f"under REPORT INSTANCES and REPORT CHANGES, as {', '.join(whole)}, history is one slice: leave --slice out"
                )
                raise FatalError(message)
            return start, end
        if asked.slice_length is not None:
            return cut_by_length(start, end, asked.slice_length, load.parts)
        return cut_evenly(profile, start, end, self._task.window, self._cluster.machine, in_order=reading.in_order, load=load)

    def _tick(self, prepared: Prepared) -> bool:
        done = self._results.finished().values()
        edges = sum(each.edges for each in done)
        rate = (edges - self._before) / max(time.perf_counter() - self._started, 1e-9)
        self._on_progress(Progress(len(done), len(prepared.slices), edges, sum(each.matches for each in done), round(rate, 1)))
        self._also()
        return self._is_wanted()

    def totals(self) -> RunTotals:
        """Return what is finished by now, in any state of the run."""
        done = self._results.finished().values()
        return RunTotals(
            slices=len(done),
            edges=sum(each.edges for each in done),
            overlap=sum(each.overlap for each in done),
            matches=sum(each.matches for each in done),
            extensions=sum(each.extensions for each in done),
            retractions=sum(each.retractions for each in done),
            timeouts=sum(each.timeouts for each in done),
            duplicates=self._duplicates,
            rejected=self._rejected,
            filtered=self._filtered,
            seconds=round(time.perf_counter() - self._started, 6),
            slice_seconds=round(sum(each.seconds for each in done), 6),
            is_exact=all(each.is_exact for each in done),
            unmatched=_find_unmatched(done),
        )


def refuse_missing_columns(mapped: Mapping[str, str], history: History) -> None:
    """Refuse columns that fields of a record are to be read from and that a part of history does not have.

    Raises:
        UnreadableStreamError: that is so, or history cannot be read.
    """
    headers = history.headers() if mapped else None
    for names in headers or ():
        for name, actual in mapped.items():
            if actual not in names:
                hint = did_you_mean(actual, names)
                message = f"no column {actual!r} (for {name}); the columns are {', '.join(map(repr, names[:_SHOWN]))}"
                raise UnreadableStreamError(f"{message}; {hint}" if hint else message)


def refuse_missing_attributes(task: Task, history: History) -> None:
    """Refuse patterns that read an attribute that no column of history can be; looks at headers until all were seen.

    Raises:
        InvalidPatternError: a pattern can never match for that.
        UnreadableStreamError: history cannot be read.
    """
    wanted, headers = set(task.attributes), history.headers()
    if not wanted or headers is None:
        return
    known: dict[str, None] = {}
    for names in headers:
        known.update(dict.fromkeys(names))
        if wanted <= known.keys():
            return
    if known:
        refuse_unknown_attributes(task.patterns, (*known, *task.read_windows.names))
        task.read_windows.refuse_unknown_inputs(tuple(known))


def _find_unmatched(done: Iterable[Outcome]) -> dict[str, list[str]]:
    each_of_some = [set(each.unmatched) for each in done if each.edges or each.overlap]
    found: dict[str, list[str]] = {}
    for pattern, edge in sorted(set.intersection(*each_of_some)) if each_of_some else ():
        found.setdefault(pattern, []).append(edge)
    return found


def _nothing() -> None:
    """Do nothing."""
