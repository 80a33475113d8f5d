"""The main job: patterns over a stream, matches and dead letters out, counts at the end.

However the run ends, what was found before is written and the summary is true for it.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from graphtide_core.errors import LimitExceededError, UnreadableStreamError
from graphtide_core.match import MatchKind
from graphtide_query.families import family_of

from graphtide.inputs import Inputs
from graphtide.notes import notes_on
from graphtide.pipeline import Pipeline
from graphtide.readers import MergedReader, ReaderOptions, open_stream
from graphtide.readers.ahead import read_ahead
from graphtide.rejections import Rejections, settled_notes, unusable_values_notes
from graphtide.summary import PatternSummary, Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.errors import GraphtideError
    from graphtide_core.ports.dead_letter_sink import DeadLetterSink
    from graphtide_core.ports.match_sink import MatchSink
    from graphtide_core.time import EventTime
    from graphtide_native.match_batch import MatchBatch
    from graphtide_native.records import EdgeBatch

    from graphtide.options import MatchOptions
    from graphtide.readers import Reader


@runtime_checkable
class TableSink(Protocol):
    """Takes matches as they are found, to write them as rows of a table."""

    def take(self, matches: MatchBatch) -> None:
        """Take matches; rows may wait for others."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come: of the source's bytes, where it has any, and in records and matches."""

    bytes_read: int
    bytes_total: int | None
    records: int
    matches: int


@dataclass(slots=True)
class Run:
    """One run; make it with `prepare`, then `execute` it once.

    Attributes:
        pipeline: the stages, for their plans and counts after the run.
        reader: where records come from.
        matches: where matches go.
        dead_letters: where bad records go; counted alone if None.
        on_progress: called after every batch.
        error: what ended the run, if not the end of the stream.
        rejections: the records that could not be used.
        interrupt: what interrupted the run, if anything did.
        until: the last time of wanted records: nothing is read once all of them came. None wants all.
    """

    pipeline: Pipeline
    reader: Reader
    matches: MatchSink | TableSink
    dead_letters: DeadLetterSink | None = None
    on_progress: Callable[[Progress], None] | None = None
    error: GraphtideError | None = None
    rejections: Rejections = field(default_factory=Rejections)
    interrupt: KeyboardInterrupt | None = None
    until: EventTime | None = None
    _found: int = 0
    _unwritten: tuple[MatchBatch, int] | None = None
    _records: int = 0
    _outcome: str = field(default="done")

    def execute(self) -> Summary:
        """Read, match and write until the stream ends, a limit stops the run, or someone interrupts it or closes the output.

        Raises:
            InvalidPatternError: a pattern reads an attribute that the stream does not have; nothing was matched.
        """
        started = time.perf_counter()
        try:
            self._read()
            self._hand_on()
        except KeyboardInterrupt as error:
            self._outcome, self.interrupt = "interrupted", error
            self._flush()
        except BrokenPipeError:
            self._outcome = "output closed"
        except LimitExceededError as error:
            self._outcome, self.error = "limit reached", error
            self._flush()
        except UnreadableStreamError as error:
            self._outcome, self.error = "unreadable", error
            self._flush()
        finally:
            self._count_rejections()
            self.reader.close()
        if self._outcome == "done" and self.rejections.is_all(self.reader.records):
            self._outcome = "unreadable"
        return self._summary(time.perf_counter() - started - self.pipeline.plan_seconds)

    def _read(self) -> None:
        try:
            for batch in self.reader.batches():
                self._write_all(self.pipeline.push(batch, self.reader))
                self._records += len(batch)
                self._count_rejections()
                self._hand_on()
                self._notify()
                if self._is_past(batch):
                    break
        except UnreadableStreamError:
            # What was read before is matched, held-back records included.
            self._finish()
            raise
        self._finish()

    def _is_past(self, batch: EdgeBatch) -> bool:
        """Return whether all that follows is after what is wanted, or late."""
        last = batch.last_ts
        return self.until is not None and last is not None and last > self.until + self.pipeline.lateness

    def _finish(self) -> None:
        self._write_all(self.pipeline.finish(self.reader))
        self._notify()

    def _write_all(self, found: Generator[MatchBatch, None, None]) -> None:
        # A record that completes many matches is under way meanwhile: in every case it ends here.
        with contextlib.closing(found):
            for matches in found:
                self._write(matches)

    def _write(self, matches: MatchBatch) -> None:
        if isinstance(self.matches, TableSink):
            self.matches.take(matches)
        else:
            self._unwritten = (matches, 0)
            for lines, place in matches.json_lines():
                # Before the writing: the reader of a line may interrupt the run at once.
                self._unwritten = (matches, place)
                self.matches.write(lines)
            self._unwritten = None
        self._found += len(matches)

    def _lost(self) -> Counter[tuple[int, MatchKind]]:
        """Return how many matches were found and not written, since something came in between, by pattern and kind."""
        lost: Counter[tuple[int, MatchKind]] = Counter()
        unwritten = [] if self._unwritten is None else [self._unwritten]
        for matches, place in [*unwritten, *((each, 0) for each in self.pipeline.matcher.take_unclaimed())]:
            lost.update({(pattern, kind): count for pattern, kind, count in matches.counts(place)})
        return lost

    def _hand_on(self) -> None:
        """Hand on the lines that were written; of a table rows wait for others."""
        if not isinstance(self.matches, TableSink):
            self.matches.flush()

    def _flush(self) -> None:
        try:
            self._hand_on()
        except BrokenPipeError:
            self._outcome = "output closed"

    def _count_rejections(self) -> None:
        letters = [*self.reader.take_dead_letters(), *self.pipeline.take_dead_letters()]
        self.rejections.add(letters)
        if self.dead_letters is not None:
            for letter in letters:
                self.dead_letters.write(letter)
            self.dead_letters.flush()

    def unused(self, how: str) -> list[str]:
        """Return sentences about what could not be used; `how` says what shows it."""
        return [
            *self.rejections.sentences(self.reader.records, self.reader.place, how),
            *unusable_values_notes(self.reader.unusable_values, self.reader.place),
            *settled_notes(self.reader.settled, self.pipeline.patterns, "--type {column}:number"),
        ]

    def notes(self) -> list[str]:
        """Return what of the patterns does not fit the stream, once it ended by itself; nothing where something cut it off."""
        if self._outcome != "done":
            return []
        pipeline = self.pipeline
        matched = {report.name for report in pipeline.matcher.patterns() if report.matches}
        return notes_on(
            pipeline.patterns,
            self.reader.records,
            pipeline.seen,
            first=pipeline.first,
            declared=pipeline.declared,
            matched=matched,
        )

    def _notify(self) -> None:
        if self.on_progress is not None:
            progress = Progress(self.reader.bytes_read, self.reader.bytes_total, self._records, self._found)
            self.on_progress(progress)

    def _summary(self, seconds: float) -> Summary:
        matcher = self.pipeline.matcher
        totals, patterns = matcher.totals(), matcher.patterns()
        engines = {plan.engine for plan in self.pipeline.plans}
        lost = self._lost()
        return Summary(
            read=self.reader.records,
            records=totals.records,
            matches=totals.matches - sum(count for (_, kind), count in lost.items() if kind is MatchKind.MATCH),
            seconds=round(seconds, 6),
            records_per_second=round(totals.records / seconds, 1) if seconds > 0 else 0.0,
            engine=engines.pop() if len(engines) == 1 else "mixed",
            plan_seconds=round(self.pipeline.plan_seconds, 6),
            match_seconds=round(self.pipeline.match_seconds, 6),
            peak_partial_matches=totals.peak_partial_matches,
            peak_state_bytes=totals.peak_state_bytes,
            dead_letters=self.rejections.count,
            duplicates=self.pipeline.duplicates,
            relevant=totals.relevant,
            deletions=totals.deletions,
            outcome=self._outcome,
            replans=tuple(self.pipeline.replans),
            patterns=tuple(
                PatternSummary(
                    name=report.name,
                    engine=plan.engine,
                    matches=report.matches - lost[number, MatchKind.MATCH],
                    retractions=report.retractions - lost[number, MatchKind.RETRACT],
                    candidates=report.candidates,
                    discarded=report.discarded,
                    peak_partial_matches=report.peak_partial_matches,
                    limited=report.limited,
                    paused=report.paused,
                    timeouts=report.timeouts - lost[number, MatchKind.TIMEOUT],
                    suppressed=report.suppressed,
                    unmatched_edges=_find_unmatched(plan.pattern, report.hits),
                )
                for number, (report, plan) in enumerate(zip(patterns, self.pipeline.plans, strict=True))
            ),
        )


def _find_unmatched(pattern: AnyPattern, hits: Sequence[int]) -> tuple[str, ...]:
    """Return the edges of a pattern that no record could be by itself."""
    edges = family_of(pattern).layout(pattern).edges
    return tuple(name for name, hit in zip(edges, hits, strict=True) if hit == 0)


def prepare(
    patterns: Sequence[AnyPattern],
    stream: str | Inputs,
    options: MatchOptions,
    *,
    reading: ReaderOptions,
    matches: MatchSink | TableSink,
    dead_letters: DeadLetterSink | None = None,
) -> Run:
    """Open a stream for patterns, or several by name, each the name of a file.

    `reading` says how the stream is written; what the matcher needs of it is added here.

    Raises:
        UnreadableStreamError: the stream cannot be opened.
    """
    pipeline = Pipeline(patterns, options)
    own = tune_reader(reading, pipeline, options)
    if isinstance(stream, Inputs):
        return Run(
            pipeline, merge(stream, pipeline, lambda each: read_ahead(open_stream(str(each), own))), matches, dead_letters
        )
    reader = read_ahead(open_stream(stream, own))
    return Run(pipeline, reader, matches, dead_letters)


def merge(inputs: Inputs, pipeline: Pipeline, opened: Callable[[object], Reader]) -> MergedReader:
    """Open streams by name and return a reader of all; where one cannot be opened, none is left open."""
    with contextlib.ExitStack() as stack:
        readers: dict[str, Reader] = {}
        for name, stream in inputs:
            readers[name] = opened(stream)
            stack.callback(readers[name].close)
        found = MergedReader(readers, pipeline.ordering(readers), pipeline.symbols)
        stack.pop_all()
        return found


def tune_reader(reading: ReaderOptions, pipeline: Pipeline, options: MatchOptions) -> ReaderOptions:
    """Return the reader options with what the pipeline needs: labels, attributes and their types, unit, columns."""
    return replace(
        reading,
        symbols=pipeline.symbols,
        attributes=pipeline.projected,
        time_unit=options.time_unit,
        columns=options.columns,
        types={**reading.types, **options.declared},
    )
