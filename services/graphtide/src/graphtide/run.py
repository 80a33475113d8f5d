"""The main job: patterns over a stream, matches and dead letters out, counts at the end.

However the run ends, what was found before is written and the summary is true for it.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from graphtide_core.errors import LimitExceededError, UnreadableStreamError
from graphtide_query.families import family_of

from graphtide.inputs import Inputs
from graphtide.losses import (
    Losses,
    note_on_first_limit,
    notes_on_columns,
    notes_on_duplicates,
    notes_on_filtered,
    notes_on_limits,
    notes_on_nothing_left,
    notes_on_replaced,
)
from graphtide.notes import notes_on, notes_on_unmatched
from graphtide.pipeline import Pipeline
from graphtide.readers import MergedReader, ReaderOptions, open_stream
from graphtide.readers.ahead import read_ahead
from graphtide.record import columns_to_read
from graphtide.record_options import RecordOptions
from graphtide.rejections import Rejections, notes_on_settled_columns, notes_on_unusable_values
from graphtide.summary import Summary, summarize

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.errors import GraphtideError
    from graphtide_core.match import MatchKind
    from graphtide_core.ports.dead_letter_sink import DeadLetterSink
    from graphtide_core.ports.match_sink import MatchSink
    from graphtide_core.time import EventTime
    from graphtide_native.match_batch import MatchBatch
    from graphtide_native.records import EdgeBatch

    from graphtide.options import MatchOptions
    from graphtide.readers import Reader, Settled, UnusableValues
    from graphtide.remedies import Remedies


@runtime_checkable
class TableSink(Protocol):
    """Takes matches as they are found, to write them as rows of a table."""

    def take(self, matches: MatchBatch) -> None:
        """Take matches; rows may wait for others."""
        ...


@dataclass(slots=True)
class Run:
    """One run; make it with `prepare`, then `execute` it once.

    Attributes:
        pipeline: the stages, for their plans and counts after the run.
        reader: where records come from.
        matches: where matches go.
        dead_letters: where bad records go; counted alone if None.
        on_progress: called after every batch.
        on_first_loss: called with a sentence when a limit makes a pattern give something up for the first time.
        error: what ended the run, if not the end of the stream.
        rejections: the records that could not be used.
        interrupt: what interrupted the run, if anything did.
        until: the last time of wanted records: nothing is read once all of them came. None wants all.
        found: matches that were written so far.
    """

    pipeline: Pipeline
    reader: Reader
    matches: MatchSink | TableSink
    dead_letters: DeadLetterSink | None = None
    on_progress: Callable[[], None] | None = None
    on_first_loss: Callable[[str], None] | None = None
    error: GraphtideError | None = None
    rejections: Rejections = field(default_factory=Rejections)
    interrupt: KeyboardInterrupt | None = None
    until: EventTime | None = None
    found: int = 0
    _unwritten: tuple[MatchBatch, int] | None = None
    _outcome: str = field(default="done")
    _unlooked: int = 0

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
                self._unlooked += len(batch)
                self._count_rejections()
                self._look_at_limits()
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
        self.found += len(matches)

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

    def _look_at_limits(self) -> None:
        """Report the first loss at a limit. A look has a cost for each pattern, so there are records for each before it."""
        if self.on_first_loss is None or not self.pipeline.may_lose or self._unlooked < len(self.pipeline.patterns):
            return
        self._unlooked = 0
        for report in self.pipeline.matcher.patterns():
            if report.limited or report.paused:
                self.on_first_loss(note_on_first_limit(report))
                self.on_first_loss = None
                return

    def losses(self, how: str, remedies: Remedies) -> Losses:
        """Return sentences about all that was lost; `how` says what shows rejected records."""
        return describe_losses(self.pipeline, self.reader, self.rejections, how, remedies)

    def notes(self) -> list[str]:
        """Return what was done to records, what could not be done and, once the stream ended by itself, what fits nothing."""
        done = describe_changes(self.pipeline, self.reader.filtered, self.reader.records)
        if self._outcome != "done":
            return [*self.pipeline.notes, *done]
        zoneless = [ZONELESS] if self.reader.has_zoneless_times else []
        sorted_here = [SORTED] if self.reader.is_sorted_here else []
        return [*self.pipeline.notes, *done, *sorted_here, *zoneless, *describe_fit(self.pipeline, self.reader.records)]

    def missing_names(self) -> list[str]:
        """Return what patterns ask and no record had, once the stream ended by itself; nothing where something cut it off."""
        return describe_names(self.pipeline, self.reader.records) if self._outcome == "done" else []

    def _notify(self) -> None:
        if self.on_progress is not None:
            self.on_progress()

    def _summary(self, seconds: float) -> Summary:
        notes = self.notes()
        return summarize(
            self.pipeline,
            self.reader,
            self.rejections,
            seconds,
            self._outcome,
            unwritten=self._lost(),
            notes=notes,
            filtered=self.reader.filtered,
        )


def describe_changes(pipeline: Pipeline, filtered: int, records: int) -> list[str]:
    """Return sentences about records that were filtered, or replaced others: as their statement says, so no losses."""
    return [*notes_on_filtered(filtered, records), *notes_on_replaced(pipeline.replaced, records)]


def describe_fit(pipeline: Pipeline, records: int) -> list[str]:
    """Return sentences about what of the patterns fits nothing in a stream, at its end after so many records."""
    matcher = pipeline.matcher
    edges = notes_on_unmatched(pipeline.patterns, matcher.patterns()) if matcher.totals().records else []
    return [*edges, *describe_names(pipeline, records)]


def describe_names(pipeline: Pipeline, records: int) -> list[str]:
    """Return sentences about names that patterns ask and that a stream, at its end after so many records, never had."""
    matched = {report.name for report in pipeline.matcher.patterns() if report.matches}
    return notes_on(
        pipeline.patterns,
        records,
        pipeline.seen,
        first=pipeline.first,
        declared=pipeline.declared,
        matched=matched,
        unit=pipeline.time_unit,
    )


def describe_losses(
    pipeline: Pipeline,
    reader: Reader,
    rejections: Rejections,
    how: str,
    remedies: Remedies,
    *,
    unusable: Iterable[UnusableValues] | None = None,
    settled: Iterable[Settled] | None = None,
    filtered: int | None = None,
) -> Losses:
    """Return sentences about all that a run lost: records, values, work given up at limits.

    Args:
        pipeline: the stages.
        reader: of the stream, or of its last piece.
        rejections: of all pieces.
        how: what shows rejected records.
        remedies: what to do about the rest.
        unusable: of all pieces; None for those of the reader.
        settled: likewise.
        filtered: likewise.
    """
    columns, dropped = pipeline.columns, pipeline.duplicates
    has_limits = pipeline.may_lose and pipeline.is_started
    return Losses(
        rejections.sentences(reader.records, reader.place, how, remedies),
        notes_on_duplicates(dropped, pipeline.first_duplicate, reader.records, columns.get("id", "id"), remedies),
        [
            *(notes_on_limits(pipeline.matcher.patterns(), remedies) if has_limits else ()),
            *notes_on_unusable_values(reader.unusable_values if unusable is None else unusable, reader.place),
            *notes_on_settled_columns(reader.settled if settled is None else settled, pipeline.patterns, remedies.typed),
            *notes_on_columns(reader, columns),
            *notes_on_nothing_left(reader.filtered if filtered is None else filtered, reader.records),
        ],
    )


ZONELESS: Final = "times that name no zone were read as those of UTC; --time-zone says another"

SORTED: Final = "the stream is not in order of time, so it was sorted first; --lateness reads it as it comes"

UNLABELLED: Final = "edge"
"""Label of edges that have none, where no pattern names one."""


def prepare(
    patterns: Sequence[AnyPattern],
    stream: str | Sequence[str] | Inputs,
    options: MatchOptions,
    *,
    reading: ReaderOptions,
    matches: MatchSink | TableSink,
    dead_letters: DeadLetterSink | None = None,
) -> Run:
    """Open a stream for patterns, or several by name, each the name of a file, or of several files.

    `reading` says how the stream is written; what the matcher needs of it is added here.

    Raises:
        UnreadableStreamError: the stream cannot be opened.
    """
    pipeline = Pipeline(patterns, options)
    own = tune_reader(reading, pipeline, options)
    if isinstance(stream, Inputs):
        return Run(
            pipeline,
            merge(stream, pipeline, own, lambda each, read: read_ahead(open_stream(str(each), read))),
            matches,
            dead_letters,
        )
    reader = read_ahead(open_stream(stream, own))
    return Run(pipeline, reader, matches, dead_letters)


def merge(
    inputs: Inputs, pipeline: Pipeline, reading: ReaderOptions, open: Callable[[object, ReaderOptions], Reader]
) -> MergedReader:
    """Open streams by name and return a reader of all; where one cannot be opened, none is left open.

    Raises:
        UnreadableStreamError: one cannot be opened, or a statement defines a stream that is not given.
    """
    for each in reading.record_options.stream:
        if each.name not in inputs.names:
            message = f"STREAM {each.name} defines a stream that is not given: the streams are {', '.join(inputs.names)}"
            raise UnreadableStreamError(message)
    with contextlib.ExitStack() as stack:
        readers: dict[str, Reader] = {}
        for name, stream in inputs:
            readers[name] = open(stream, reading.for_stream(name))
            stack.callback(readers[name].close)
        found = MergedReader(readers, pipeline.ordering(readers), pipeline.symbols)
        stack.pop_all()
        return found


def tune_reader(reading: ReaderOptions, pipeline: Pipeline, options: MatchOptions) -> ReaderOptions:
    """Return the reader options with what the pipeline needs: labels, attributes and their types, unit, columns.

    How a stream is written, and which times are taken, is as `reading` says, or else the options. Edges need no label if no
    pattern names one.
    """
    tuned = replace(
        reading,
        symbols=pipeline.symbols,
        attributes=pipeline.projected,
        time_unit=options.time_unit,
        columns=columns_to_read(options.columns),
        format=reading.format or options.format,
        record_options=options.record_options if reading.record_options == RecordOptions() else reading.record_options,
        latest=min(reading.latest, options.latest),
        lateness=int(options.lateness.ticks(options.time_unit)),
        max_pending=options.max_pending,
        sorts=options.sort,
        types={**reading.types, **options.declared},
    )
    return allow_unlabelled(tuned, pipeline.patterns)


def allow_unlabelled(reading: ReaderOptions, patterns: Iterable[AnyPattern]) -> ReaderOptions:
    """Return the reader options for edges that need no label, if no pattern names one, or a type of events."""
    is_asked = any(label is not None for each in patterns for label in family_of(each).edge_labels(each))
    if is_asked or reading.record_options.label is not None or reading.record_options.stream:
        return reading
    return replace(reading, record_options=replace(reading.record_options, label=UNLABELLED))
