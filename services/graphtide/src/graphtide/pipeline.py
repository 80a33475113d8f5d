"""The way of a batch in one process: put in order, cleared of duplicates, matched.

The same stages as in the running system, over batches in memory. Plans are made when the first batch is there, because only
then is it known what the stream has. That is its columns, whether it gives ids and deletions, and how frequent its labels are.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.errors import LimitExceededError
from graphtide_core.window import longest
from graphtide_native.records import take_dead_letters
from graphtide_native.sampling import sample
from graphtide_native.spec import Concurrency
from graphtide_native.stages import Stages
from graphtide_query.estimates.colocation import ColocatedLoad
from graphtide_query.families import AUTO, FAMILIES, family_of, refuse_other_family
from graphtide_query.families.family import PlanningContext, ReplanPolicy
from graphtide_query.known_attributes import refuse_unknown_attributes
from graphtide_query.planner import plan_all

from graphtide.adaptation import Watch
from graphtide.counted_features import CountedFeatures
from graphtide.kept_records import MOST_BYTES, KeptRecords
from graphtide.names_seen import NamesSeen
from graphtide.readers.merged import MergedReader, Ordering
from graphtide.repeated_ids import RepeatedIds

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.attribute_type import AttributeType
    from graphtide_core.plans import AnyPlan
    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import MatchBatch
    from graphtide_native.matcher import Matcher
    from graphtide_native.records import EdgeBatch

    from graphtide.event_questions import Question
    from graphtide.event_watch import EventWatch
    from graphtide.options import MatchOptions
    from graphtide.readers import Reader
    from graphtide.repeated_ids import FirstDuplicate

LOOKED_AT = (256, 4096)
"""Records after which the plans of a stream that is live are made again on all that came so far."""

MOST_ADAPTED = 100
"""Largest number of edge patterns in one pass whose plans change with the stream."""


class Replan(NamedTuple):
    """A plan that changed: after how many records, the pattern, the old engine and the new one."""

    records: int
    pattern: str
    before: str
    after: str


class Pipeline:
    """Takes a reader's batches and gives matches.

    Attributes:
        patterns: what is matched.
        symbols: the table of labels; the reader must decode with it.
        projected: attributes the reader must decode, in this order.
        plans: one for each pattern, once a batch was seen.
        plan_seconds: what planning took.
        match_seconds: what matching took.
        replans: plans that changed while the stream ran.
        notes: sentences about what could not be done as it was meant.
        events: what is noted of event patterns while they are traced.
        seen: which of the names that patterns ask the stream has had.
        first: statistics of the stream's first records, once a batch was seen.
    """

    def __init__(
        self,
        patterns: Sequence[AnyPattern],
        options: MatchOptions,
        *,
        traced: int | None = None,
        asked: Sequence[str] = (),
        questions: Sequence[Question] = (),
    ) -> None:
        """Prepare for patterns; nothing is planned yet.

        Args:
            patterns: what to match.
            options: how.
            traced: how many near misses of each pattern to keep while it is traced, on one thread and by one plan; None traces
                nothing.
            asked: ids of edges whose fate to explain by each traced pattern under dual simulation.
            questions: of events, of traced event patterns.

        Raises:
            InvalidQueryError: the engine is not for a pattern's family.
        """
        for pattern in patterns:
            refuse_other_family(pattern, options.engine)
        self._stages, self._features = _stages_and_features(patterns, options)
        self.symbols, self.projected = self._stages.symbols, self._stages.attributes
        self.plans: tuple[AnyPlan, ...] = ()
        self.plan_seconds = 0.0
        self.match_seconds = 0.0
        self.replans: list[Replan] = []
        self.notes: list[str] = []
        self.seen = NamesSeen(patterns, self._features.names, self._features.labels)
        self.first: StatisticsSnapshot | None = None
        self._watch: Watch | None = None
        self._kept: KeptRecords | None = None
        self.patterns = tuple(patterns)
        self._options = options if traced is None else replace(options, adapt=False, concurrency=Concurrency())
        self._traced = traced
        self._asked = asked
        self.events: EventWatch | None = None
        if traced is not None and any(family_of(pattern).is_united for pattern in patterns):
            from graphtide.event_watch import EventWatch  # noqa: PLC0415 - what is not traced does without

            self.events = EventWatch(self.patterns, questions, self._stages)
        self._matcher: Matcher | None = None
        self._duplicates: RepeatedIds | None = None
        self._merged: MergedReader | None = None
        self._deletions = False
        self._sequencer = self._stages.sequencer(self.lateness, options.max_pending)
        self._early: list[tuple[EdgeBatch, int | None]] = []
        self._early_records = 0
        self._looks: tuple[int, ...] = ()

    @property
    def duplicates(self) -> int:
        """Records dropped because their id was in the window already."""
        own = self._duplicates.dropped if self._duplicates is not None else 0
        return own if self._merged is None else own + self._merged.dropped

    @property
    def replaced(self) -> int:
        """Records that are in the place of what had their id."""
        own = self._duplicates.replaced if self._duplicates is not None else 0
        return own if self._merged is None else own + self._merged.replaced

    @property
    def first_duplicate(self) -> FirstDuplicate | None:
        """The first record that was dropped so; of streams by name, of the first of them that has one."""
        if self._merged is not None:
            return self._merged.first_duplicate
        return self._duplicates.first if self._duplicates is not None else None

    @property
    def time_unit(self) -> TimeUnit:
        """What times of the stream count."""
        return self._options.time_unit

    @property
    def columns(self) -> Mapping[str, str]:
        """What the stream calls the fields of a record."""
        return self._options.columns

    @property
    def definitions(self) -> tuple[StreamDefinition, ...]:
        """The statements of its streams."""
        return self._options.record_options.stream

    @property
    def may_lose(self) -> bool:
        """Whether a limit may make patterns lose matches while the run continues."""
        limits = self._options.limits
        return limits.policy != "fail" and {limits.partial_matches, limits.state_bytes, limits.work} != {None}

    @property
    def declared(self) -> Mapping[str, AttributeType]:
        """What is declared of attributes."""
        return self._options.declared

    def ordering(self, streams: Iterable[str]) -> Ordering:
        """Return how streams by name are put in order before they are merged."""
        unit = self.time_unit
        lookbacks = {name: longest(each.extent(unit) for each in self.patterns if name in each.streams)[0] for name in streams}
        latenesses = {name: int(self._options.lateness_of(name).ticks(unit)) for name in lookbacks}
        policies = {name: self._options.duplicates_of(name) for name in lookbacks}
        return Ordering(latenesses, self._options.max_pending, lookbacks, policies, self._features.add_to)

    @property
    def lateness(self) -> int:
        """Ticks that a record may be late."""
        return int(self._options.lateness.ticks(self.time_unit))

    @property
    def held_back(self) -> int:
        """Records that wait to be put in order."""
        return self._sequencer.pending

    @property
    def is_started(self) -> bool:
        """Whether plans were made."""
        return self._matcher is not None

    @property
    def matcher(self) -> Matcher:
        """The matcher, for its counts; one without records if nothing was pushed."""
        return self._matcher or self._start(None, None)

    def refuse_unknown(self, columns: Sequence[str], stream: str | None = None) -> None:
        """Do nothing if a stream with these columns has what its statement counts and what patterns read; None is the only one.

        Raises:
            InvalidPatternError: it does not.
        """
        self._features.refuse_unknown(columns, stream)
        refuse_unknown_attributes(self.patterns, [*columns, *self._features.names_of(stream)], stream=stream)

    def push(self, batch: EdgeBatch, reader: Reader) -> Generator[MatchBatch, None, None]:
        """Take a batch of the reader's; yield matches in parts. One without records moves time at most, as merged streams say.

        Raises:
            InvalidPatternError: a pattern can never match, since it reads an attribute that the stream does not have.
            LimitExceededError: a pattern reached a bound under the policy `fail`.
        """
        if not len(batch):
            if self._matcher is not None and self._merged is not None:
                yield from self._match(batch)
            return
        self.seen.take(batch)
        if self._matcher is None:
            self._start(batch, reader)
        elif self._watch is not None and (known := self._watch.look(batch)) is not None:
            self._replan(known)
        yield from self._match(self._sequencer.push(batch) if self._merged is None else batch)

    def finish(self, reader: Reader) -> Generator[MatchBatch, None, None]:
        """Take the end of the stream: match what was held back.

        Raises:
            InvalidPatternError: as `push`, for a stream without a record.
            LimitExceededError: as `push`.
        """
        if self._matcher is None:
            self._start(None, reader)
        rest = self._sequencer.finish()
        if rest is not None:
            yield from self._match(rest)
        yield from self.matcher.finish()
        self.notes += self._features.losses()

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected as late since the last call."""
        return take_dead_letters(self._sequencer)

    @property
    def _is_adaptive(self) -> bool:
        # Among many patterns of edges those kept for a change of plan would outweigh what it gains; events stay anyway.
        families = map(family_of, self.patterns)
        of_edges = sum(not family.is_united and not family.begins_anew for family in families)
        return self._options.engine == AUTO and self._options.adapt and of_edges <= MOST_ADAPTED

    def _all_planned(self, statistics: StatisticsSnapshot | None) -> tuple[AnyPlan, ...]:
        options, colocated = self._options, ColocatedLoad.of(len(self.patterns))
        return plan_all(
            self.patterns, options.planner_options, unit=options.time_unit, statistics=statistics, colocated=colocated
        )

    def _replan(self, known: StatisticsSnapshot) -> None:
        """Give another plan to the patterns that are worth it on the stream as it is now."""
        policy = ReplanPolicy(self._options.adaptation.margin)
        context = PlanningContext(self.time_unit, known, ColocatedLoad.of(len(self.patterns)))
        past = self._kept.past if self._kept is not None and self._kept.is_whole else None
        for family in FAMILIES.values():
            own = {number: plan for number, plan in enumerate(self.plans) if plan.pattern.family == family.name}
            if family.begins_anew and past is None:
                continue
            for plans in list(family.improved(own, self._options.planner_options, context, policy)):
                changed = self.matcher.exchange(plans, past)
                self._changed({number: plans[number] for number in changed})

    def _changed(self, plans: Mapping[int, AnyPlan]) -> None:
        """Note that patterns have other plans from now on."""
        records = self.matcher.totals().records
        changes = [(self.plans[number], new) for number, new in sorted(plans.items())]
        self.replans += [Replan(records, old.pattern.name, old.engine, new.engine) for old, new in changes]
        self.plans = tuple(plans.get(number, old) for number, old in enumerate(self.plans))

    def _match(self, batch: EdgeBatch) -> Iterator[MatchBatch]:
        started = time.perf_counter()
        newest = batch.last_ts if self._merged is None else self._merged.passed
        if self._duplicates is not None:
            batch = self._duplicates.filter(batch)
        if self._merged is None:
            batch = self._features.add_to(batch, newest)
        if self.events is not None:
            self.events.take(batch)
        try:
            with contextlib.closing(_match(self.matcher, batch, newest)) as found:
                for matches in found:
                    self.match_seconds += time.perf_counter() - started
                    yield matches
                    started = time.perf_counter()
        finally:
            # Also after an error, what was taken is kept.
            if self._kept is not None and len(batch):
                self._keep_read(self._kept, batch)
        self.match_seconds += time.perf_counter() - started
        if self._looks:
            self._keep_early(batch, newest)

    def _keep_read(self, kept: KeptRecords, batch: EdgeBatch) -> None:
        """Keep what graph queries read of a batch that was matched, to begin another plan with."""
        last = batch.last_ts
        if last is None or not kept.is_whole:
            return
        kept.take(self.matcher.selected_by_queries(batch), last)
        if not kept.is_whole:
            self.notes.append(
                "graph queries keep their plans from now on: the records of their windows, needed to begin with other plans, "
                f"and their state take over {kept.most:,} bytes. A higher limit of bytes of state lets plans follow the stream"
            )

    def _keep_early(self, batch: EdgeBatch, newest: int | None) -> None:
        """Plan again when enough came: a live stream's first batch, maybe one record, gives a planner no information.

        What came so far is run through new engines, whose matches are those that were reported: only the cost changes.
        """
        self._early.append((batch, newest))
        self._early_records += len(batch)
        if self._early_records < self._looks[0]:
            return
        started = time.perf_counter()
        self._looks = tuple(look for look in self._looks if look > self._early_records)
        counted = self._stages.statistics()
        for early, _ in self._early:
            counted.push(early)
        known = counted.snapshot()
        if self._watch is not None:
            self._watch = Watch(self.symbols, known, self._options.adaptation)
        plans = self._all_planned(known)
        if plans != self.plans and (fresh := self._caught_up(plans)) is not None:
            self.plans, self._matcher = plans, fresh
        if not self._looks:
            self._early = []
        self.plan_seconds += time.perf_counter() - started

    def _caught_up(self, plans: tuple[AnyPlan, ...]) -> Matcher | None:
        """Return engines of these plans that saw what came so far; None if a limit acted or acts now: results would differ."""
        fresh = self._made(plans)
        try:
            for early, newest in self._early:
                for _ in _match(fresh, early, newest):
                    pass
        except LimitExceededError:
            return None
        return None if any(_is_limited(matcher) for matcher in (self.matcher, fresh)) else fresh

    def _start(self, batch: EdgeBatch | None, reader: Reader | None) -> Matcher:
        """Plan the patterns and make the stages, now that the stream is known."""
        started = time.perf_counter()
        options = self._options
        # A format without columns may turn out to give ids and deletions at any record.
        has_columns = reader is not None and reader.columns is not None
        if isinstance(reader, MergedReader):
            self._merged = reader
            for name, own in reader.streams():
                if own.columns is not None:
                    self.refuse_unknown(own.columns, name)
        elif reader is not None and reader.columns is not None:
            self.refuse_unknown(reader.columns)
        # Of merged streams each is cleared of its own duplicates.
        has_ids = reader is not None and self._merged is None and (not has_columns or reader.has_ids)
        has_deletions = reader is not None and (not has_columns or reader.has_operations)
        if has_ids and reader is not None:
            window, edges = longest(each.extent(self.time_unit) for each in self.patterns)
            self._duplicates = RepeatedIds(window, edges, policy=options.duplicates, locate=reader.locate)
        if batch is not None:
            self.first = sample(batch, self.symbols)
            options = replace(options, statistics=options.statistics or self.first)
        self.plans = self._all_planned(options.statistics)
        if self._is_adaptive and options.statistics is not None:
            self._watch = Watch(self.symbols, options.statistics, options.adaptation)
        if reader is not None and reader.is_live and self._options.statistics is None:
            self._looks = LOOKED_AT
        self._deletions = has_deletions or DuplicatePolicy.UPDATE in self._options.all_duplicates
        queries = [each for each in self.patterns if family_of(each).begins_anew]
        if queries and self._watch is not None:
            lookback, most = max(each.lookback(self.time_unit) for each in queries), self._options.limits.state_bytes
            self._kept = KeptRecords(lookback, MOST_BYTES if most is None else most * len(queries), self._bytes_of_queries)
        self._matcher = self._made(self.plans)
        self.plan_seconds = time.perf_counter() - started
        return self._matcher

    def _bytes_of_queries(self) -> int:
        own = {each.name for each in self.patterns if family_of(each).begins_anew}
        return sum(report.state_bytes for report in self.matcher.patterns() if report.name in own)

    def _made(self, plans: Sequence[AnyPlan]) -> Matcher:
        """Make the engines of plans."""
        return self._stages.matcher(
            plans,
            deletions=self._deletions,
            adaptive=self._watch is not None,
            traced=self._traced,
            asked=self._asked,
            limits=self._options.limits,
            concurrency=self._options.concurrency,
        )


def _stages_and_features(patterns: Sequence[AnyPattern], options: MatchOptions) -> tuple[Stages, CountedFeatures]:
    """Return the stages of a run, whose attributes are those that patterns and features read, and the features."""
    stages = Stages.of(patterns, options.time_unit)
    features = CountedFeatures(options.record_options.stream, stages.attributes, options.time_unit)
    if not features.inputs and not features.names:
        return stages, features
    attributes = tuple(dict.fromkeys((*stages.attributes, *features.inputs)))
    return Stages(options.time_unit, attributes), features


def _match(matcher: Matcher, batch: EdgeBatch, newest: int | None) -> Generator[MatchBatch, None, None]:
    """Match records; duplicates that were dropped behind the last of them move time as they would have, up to `newest`."""
    yield from matcher.push(batch)
    if newest is not None and batch.last_ts != newest:
        yield from matcher.pass_time(newest)


def _is_limited(matcher: Matcher) -> bool:
    return any(report.limited or report.paused for report in matcher.patterns())
