"""The native matcher: many patterns in one pass over batches of records in stream order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from graphtide_core.consumption import ConsumptionCursor
from graphtide_core.errors import CutShortError, LimitExceededError
from graphtide_core.time import TimeUnit

from graphtide_native import _native
from graphtide_native.kinds import Kinds, by_kind
from graphtide_native.match_batch import MatchBatch
from graphtide_native.reports import PatternReport, Sharing, Totals, report_of
from graphtide_native.simulation import SimulationWork
from graphtide_native.spec import (
    Concurrency,
    Limits,
    encode,
    encode_graph_queries,
    encode_graph_query,
    encode_one,
    encode_unit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from graphtide_core.funnel import Funnel
    from graphtide_core.plans import AnyPlan, EventPlan, EventUnit, GraphPlan, Plan

    from graphtide_native.funnel import NativeFunnel
    from graphtide_native.records import EdgeBatch, Symbols

DEFAULT_MOST = 65_536
"""Matches that one call gives at once, so that a burst of matches is handed over in parts."""

MOST_PARTIAL_MATCHES = 100
"""Partial matches of a pattern that are shown."""

MOST_ROWS = 20_000
"""Stored rows that are looked at for them: about a millisecond."""

SLICE_SECONDS = 0.02
"""How long work continues before Python has the word."""


class Matcher:
    """Matches many patterns against one stream.

    Not safe for use by several threads at once; the interpreter lock is released while it works. What takes long is done in
    slices of some milliseconds: between two of them Python handles signals.
    """

    def __init__(
        self,
        plans: Sequence[AnyPlan],
        symbols: Symbols,
        projected: Sequence[str] = (),
        *,
        unit: TimeUnit = TimeUnit.MILLISECOND,
        deletions: bool = False,
        adaptive: bool = False,
        traced: int | None = None,
        asked: Sequence[str] = (),
        limits: Limits | Sequence[Limits] | None = None,
        concurrency: Concurrency | None = None,
        work: int | None = None,
        slice_seconds: float = SLICE_SECONDS,
    ) -> None:
        """Make the engines of the plans.

        Args:
            plans: one for each pattern; those of event patterns with all of each unit.
            symbols: the table of labels that the batches were decoded with.
            projected: the attributes of those batches, in order.
            unit: what a tick of the stream's time is.
            deletions: whether the stream may retract edges; then matches of the window are remembered to be retracted.
            adaptive: whether plans may change while the stream runs; then every edge that some query edge could be is kept.
            traced: how many near misses of each pattern to keep while it is traced; None traces nothing and costs nothing.
                Traced patterns keep their plans, and work on other threads is not traced.
            asked: ids of edges whose fate is traced for each pattern under dual simulation.
            limits: bounds on the state and the work of each pattern: the same for all, or one for each.
            concurrency: threads for each pattern under `timing`.
            work: steps of work a record that all patterns share; where they are spent, the pattern that spent most is limited.
            slice_seconds: how long work continues before Python has the word.
        """
        self._plans: Sequence[AnyPlan] = tuple(plans)
        self._unit, self._projected, self._concurrency = unit, tuple(projected), concurrency or Concurrency()
        if limits is None or isinstance(limits, Limits):
            limits = [limits or Limits()] * len(self._plans)
        self._limits = list(limits)
        encoded = encode(self._plans, unit, self._projected, self._limits, self._concurrency)
        self._native = _native.Matcher(encoded, symbols, deletions, adaptive, traced, work, slice_seconds)
        self._asked = tuple(dict.fromkeys(asked))
        self._unclaimed: list[MatchBatch] = []
        if self._asked:
            self._native.ask(list(self._asked))

    def push(
        self,
        batch: EdgeBatch,
        *,
        most: int = DEFAULT_MOST,
        budget: int | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> Generator[MatchBatch, None, None]:
        """Take a batch whose records follow, in order of time, those taken before; yield the matches in parts.

        The batch is taken only as far as the iterator is consumed. Where an exception comes in between, that of a signal say,
        what was found before is yielded before it continues. Patterns that lost something mark their matches from then on. A
        record that completes many matches is under way while parts of them are yielded. So consume the iterator in one thread,
        and exhaust or close it before the matcher is used otherwise. To close it gives up the rest of that record.

        Args:
            batch: the records.
            most: matches that one part holds, about; of a record that completes more, too.
            budget: steps of work that the batch may take; those that other threads take are not counted.
            is_cancelled: called between two slices; true ends the work.

        Raises:
            LimitExceededError: a pattern reached a bound under the policy `fail`; the matches before were yielded.
            CutShortError: the budget was spent, or it was cancelled; the matches before were yielded.
        """
        start = work = 0
        while start < len(batch):
            left = None if budget is None else budget - work
            interrupted = yield from self._work(partial(self._native.push, batch, start, most, left), is_cancelled)
            found = self._native.pushed()
            if found is not None:
                native, consumed, stopped, was_ended, steps = found
                start, work = start + consumed, work + steps
                if len(native):
                    yield MatchBatch(native, self._plans)
            if interrupted is not None:
                raise interrupted
            if found is not None and stopped is not None:
                raise LimitExceededError(*stopped)
            if found is not None and was_ended:
                raise CutShortError(start, work)

    def finish(self) -> Iterator[MatchBatch]:
        """End the stream: yield what follows once all time has passed. No record may follow."""
        yield from self._emitted(partial(self._native.finish, DEFAULT_MOST))

    def advance(self, now: int) -> Iterator[MatchBatch]:
        """Advance the stream to a time: yield what follows from that alone. Records before it may not follow."""
        yield from self._emitted(partial(self._native.advance, now, DEFAULT_MOST))

    def pass_time(self, watermark: int) -> Iterator[MatchBatch]:
        """Set a watermark: no record before it follows. Yield what follows from it; the newest record stays the newest."""
        yield from self._emitted(partial(self._native.pass_time, watermark, DEFAULT_MOST))

    def count_from(self, number: int) -> None:
        """Take it that so many edges of the stream came before the next record, deletions not counted."""
        self._native.count_from(number)

    def refill(self, records: int) -> None:
        """Refill every pattern's work budget as so many records do, for time that passed without records."""
        self._native.refill(records)

    def replan(self, number: int, plan: Plan) -> bool:
        """Match a pattern by another plan from the next record on; no match is lost and none comes twice.

        The new engine is warmed by replaying the window. Call it between two `push`es, with the iterator of the last one
        exhausted.

        Args:
            number: the pattern's place among the plans.
            plan: a plan for the same pattern.

        Returns:
            False if the new engine reached a limit while it was warmed: then the old plan continues.

        Raises:
            ValueError: the matcher is not adaptive, or is traced.
        """
        encoded = encode_one(plan, self._unit, self._projected, self._limits[number], self._concurrency)
        if not self._native.replan(number, encoded):
            self._finish()
        if not self._native.replanned():
            return False
        self._put({number: plan})
        return True

    def exchange(self, plans: Mapping[int, AnyPlan], past: Sequence[EdgeBatch] | None = None) -> set[int]:
        """Match patterns of one kind by other plans from the next record on; see `replan`, `regroup`, `replan_graph_queries`.

        Args:
            plans: by the numbers of patterns; those of event patterns are of one unit, all of it.
            past: the records that graph queries read so far. Without them a graph query keeps its plan, as it holds tuples, not
                the edges that another plan would begin with.

        Returns:
            The numbers of the patterns that have the plan.
        """
        kinds = Kinds.of(plans)
        found = {number for number, plan in kinds.edges.items() if self.replan(number, plan)}
        numbers = sorted(kinds.events, key=lambda number: kinds.events[number].place)
        if numbers and self.regroup(numbers, kinds.events[numbers[0]].unit):
            found |= kinds.events.keys()
        if kinds.queries and past is not None:
            found |= self.replan_graph_queries(kinds.queries, past)
        self._put({number: plans[number] for number in found if plans[number].native is not plans[number]})
        return found

    def add(
        self,
        plan: AnyPlan,
        limits: Limits,
        *,
        unreported: Sequence[EdgeBatch],
        reported: Sequence[EdgeBatch],
        projected: Sequence[str] | None = None,
        has_begun: bool = True,
        consumption: ConsumptionCursor | None = None,
    ) -> int:
        """Match one more pattern from the next record on, with the state that it would have if it had been there all along.

        Call it between two `push`es, with the iterator of the last one exhausted. Where a limit is reached on the way, the
        pattern behaves as its policy says; under `fail` it is paused.

        Args:
            plan: for the pattern, if it is one of events as a unit of its own; see `add_unit` and `add_graph_query`.
            limits: bounds on the state and the work of the pattern.
            unreported: records of the pattern's window that were taken, in stream order, deletions too, and all that it
                could use. Their matches were never reported, and never will be.
            reported: the records after those, likewise. Their matches count as reported, so they may be retracted.
            projected: the attributes of batches from now on, and of these; they begin with those before. None where they stay.
            has_begun: whether its matches count from the next record on, or with those reported; else it waits for `begin`.
            consumption: how far it has consumed, where it consumes and has begun before, here or elsewhere.

        Returns:
            The number of the pattern, which may be that of one that was removed.

        Raises:
            ValueError: the matcher is not adaptive, or is traced.
        """

        def add_edges(own: Plan) -> int:
            return self._add_edges(own, limits, unreported, reported, projected, has_begun=has_begun, consumption=consumption)

        def add_events(own: EventPlan) -> int:
            return self.add_unit(own.unit, limits, unreported=unreported, reported=reported, projected=projected)[0]

        def add_query(own: GraphPlan) -> int:
            return self.add_graph_query(own, limits, past=[*unreported, *reported], projected=projected)

        number = by_kind(plan, edges=add_edges, events=add_events, query=add_query)
        if plan.native is not plan:
            self._put({number: plan})
        return number

    def _add_edges(
        self,
        plan: Plan,
        limits: Limits,
        unreported: Sequence[EdgeBatch],
        reported: Sequence[EdgeBatch],
        projected: Sequence[str] | None,
        *,
        has_begun: bool,
        consumption: ConsumptionCursor | None,
    ) -> int:
        self._projected = self._projected if projected is None else tuple(projected)
        encoded = encode_one(plan, self._unit, self._projected, limits, self._concurrency)
        if not self._native.add(encoded, unreported, reported, has_begun, consumption):
            self._finish()
        number = self._native.added()
        self._limits[number : number + 1] = [limits]
        self._put({number: plan})
        return number

    def add_unit(
        self,
        unit: EventUnit,
        limits: Limits,
        *,
        unreported: Sequence[EdgeBatch],
        reported: Sequence[EdgeBatch],
        projected: Sequence[str] | None = None,
    ) -> tuple[int, ...]:
        """Match event patterns from the next record on, as one unit; arguments as of `add`.

        A match whose last event is among the records `reported` counts as reported if nothing can prevent it any more. Others
        are reported once time has passed their bound.

        Returns:
            The numbers of the patterns, in their order.

        Raises:
            ValueError: the matcher is not adaptive, or is traced.
        """
        self._projected = self._projected if projected is None else tuple(projected)
        if not self._native.add_unit(encode_unit(unit, self._unit, self._projected, limits), unreported, reported):
            self._finish()
        numbers = self._native.added_unit()
        for number in numbers:
            self._limits[number : number + 1] = [limits]
        self._put_unit(unit, numbers)
        return tuple(numbers)

    def add_graph_query(
        self,
        plan: GraphPlan,
        limits: Limits,
        *,
        past: Sequence[EdgeBatch],
        projected: Sequence[str] | None = None,
    ) -> int:
        """Answer one more graph query from the next record on; nothing of `past` is emitted.

        Arguments, result and errors otherwise as of `add`.
        """
        self._projected = self._projected if projected is None else tuple(projected)
        if not self._native.add_graph(encode_graph_query(plan, self._unit, self._projected, limits), past, []):
            self._finish()
        number = self._native.added()
        self._limits[number : number + 1] = [limits]
        self._put({number: plan})
        return number

    def replan_graph_queries(self, plans: Mapping[int, GraphPlan], past: Sequence[EdgeBatch]) -> set[int]:
        """Answer graph queries by other plans from the next record on; no result is lost and none comes twice.

        Call it between two `push`es, with the iterator of the last one exhausted. The pass waits for it, in slices; meanwhile
        the state of both plans is held.

        Args:
            plans: for queries, by their numbers.
            past: the records that graph queries read so far, in stream order, deletions too (see `selected_by_queries`). At
                least those of the longest lookback of these queries, and of those that share operators with them.

        Returns:
            The numbers of the queries that have the plan. The others keep theirs: a limit acted before, or would while the new
            operators take the past.

        Raises:
            ValueError: there is no graph query of a number.
        Complexity: that of answering the past once more.
        """
        limits = {number: self._limits[number] for number in plans}
        if not self._native.replan_graphs(encode_graph_queries(plans, self._unit, self._projected, limits), past):
            self._finish()
        replanned = set(self._native.added_unit())
        self._put({number: plans[number] for number in replanned})
        return replanned

    def regroup(self, numbers: Sequence[int], unit: EventUnit) -> bool:
        """Match the event patterns of one unit or of several as one unit, by its plan, from the next record on.

        No match is lost and none comes twice: what was pending still is, and what was emitted may still be retracted. Call it
        between two `push`es, with the iterator of the last one exhausted.

        Args:
            numbers: of the patterns of `unit`, in their order; all patterns of the units that they are of now.
            unit: the same patterns with a plan for all.

        Returns:
            False if the plan reached a limit while it took the past again, or a limit stopped the patterns before. Then the
            units continue as they were.

        Raises:
            ValueError: a pattern of the units is missing, limits of theirs differ, or the matcher is not adaptive, or traced.
                Complexity: that of detecting once more, by the new plan, in the events that the units hold. Those are the
                events of their lookbacks that some of the patterns asks for, each once. The pass waits for it, in slices;
                meanwhile both stores are held.
        """
        limits = self._limits[numbers[0]] if numbers else Limits()
        if any(self._limits[number] != limits for number in numbers):
            message = "patterns of one unit have the same limits"
            raise ValueError(message)
        if not self._native.regroup(encode_unit(unit, self._unit, self._projected, limits, numbers)):
            self._finish()
        if not self._native.replanned():
            return False
        self._put_unit(unit, numbers)
        return True

    def remove(self, number: int) -> None:
        """Match a pattern no more: none of its matches is found after this, nor retracted.

        Raises:
            ValueError: there is no such pattern, or the matcher is not adaptive, or is traced.
        """
        self._native.remove(number)

    def _put_unit(self, unit: EventUnit, numbers: Sequence[int]) -> None:
        from graphtide_core.plans.events import EventPlan  # noqa: PLC0415 - matchers of other patterns do without

        self._put({number: EventPlan(unit, place) for place, number in enumerate(numbers)})

    def _put(self, found: Mapping[int, AnyPlan]) -> None:
        if not found:
            return
        # Batches of matches keep the plans that they were found by.
        plans = list(self._plans)
        for number, plan in sorted(found.items()):
            plans[number : number + 1] = [plan]
        self._plans = tuple(plans)

    def unit(self, number: int) -> EventUnit | None:
        """Return the unit that a pattern is matched in, if it is one of events."""
        plan = self._plans[number]
        return by_kind(plan, edges=_none, events=lambda own: own.unit, query=_none)

    def plan(self, number: int) -> AnyPlan:
        """Return the plan that a pattern is matched by now."""
        return self._plans[number]

    def selected(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the records of the batch pushed last that the patterns' state can depend on: edges of use, and deletions.

        Another matcher of the same patterns, whatever their plans, that takes these records in place of the stream has the same
        state. The matcher is adaptive, and the iterator of the `push` exhausted.
        """
        return self._native.selected(batch)

    def selected_by_queries(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the records of the batch pushed last that the state of graph queries can depend on; see `selected`."""
        return self._native.selected_by_queries(batch)

    def wait(self, number: int, consumption: ConsumptionCursor | None = None) -> None:
        """Let a pattern wait for `begin`: what it finds until then counts for nothing. Call it before the first `push`.

        Args:
            number: the pattern's place among the plans.
            consumption: how far it had consumed, where it consumes and that is known: it is to begin where that was so.
        """
        self._native.wait(number, consumption)

    def take_deduplication(self, number: int, other: Matcher, of: int) -> None:
        """Continue the deduplication of a pattern under `ONE PER` from pattern `of` of another matcher.

        That one stands where this one stands. Of other patterns there is nothing to take.
        """
        self._native.take_deduplication(number, other._native, of)

    def begin(self, number: int) -> None:
        """Let a pattern's matches count from the next record on; earlier ones were not reported and are never retracted.

        It may consume and not know how far it had come. Then it consumes now as it would have if the edges of the window had
        been the first.
        """
        if not self._native.begin(number):
            self._finish()

    def consumption(self, number: int) -> ConsumptionCursor | None:
        """Return how far a pattern has consumed; None if it does not consume, or waits and does not know."""
        consumption = self._native.consumption(number)
        return None if consumption is None else ConsumptionCursor(*consumption)

    def mark_shed(self, number: int) -> None:
        """Mark a pattern's matches as incomplete from now on, as they were where its state comes from."""
        self._native.mark_shed(number)

    def partial_matches(self, number: int, most: int = MOST_PARTIAL_MATCHES, budget: int = MOST_ROWS) -> bytes:
        """Return the partial matches of a pattern that are nearest to completion, and counts by step of its plan, as JSON.

        Call it between two `push`es, with the iterator of the last one exhausted. The form is that of
        `graphtide_core.partial_matches.PartialMatches`.

        Args:
            number: of the pattern.
            most: partial matches returned.
            budget: stored rows that are looked at; beyond, the result is marked as truncated.

        Raises:
            LookupError: there is no such pattern.
        Complexity: O(budget), and what left the window since the pattern's last edge.
        """
        if not self._native.find_partial_matches(number, most, budget):
            self._finish()
        found = self._native.partial_matches()
        if found is None:
            message = f"no pattern has the number {number}"
            raise LookupError(message)
        return found

    def totals(self) -> Totals:
        """Return the counts of the whole pass."""
        return Totals(**self._native.totals())

    def patterns(self) -> tuple[PatternReport, ...]:
        """Return the counts of every pattern, in the order of their numbers."""
        return tuple(report_of(report) for report in self._native.patterns())

    def sharing(self, number: int) -> Sharing | None:
        """Return what a pattern's searches do together with those of others; None if that is nothing.

        Call it between two `push`es, with the iterator of the last one exhausted. Complexity: O(patterns with the same query
        edges), and to make the trees that are due.
        """
        found = self._native.sharing(number)
        return None if found is None else Sharing(*found)

    def changed(self, most: int) -> dict[int, PatternReport]:
        """Return counts that changed since they were returned last, by the numbers of their patterns; at most `most`.

        If more changed, calls return them in rotation, first those that reached a limit since. For a pattern that was never
        returned, counts have changed if they are not 0. Complexity: O(query edges of all patterns), one comparison each; more
        for patterns that had edges since, or had state then.
        """
        return {number: report_of(report) for number, report in self._native.changed(most)}

    def shed(self) -> list[int]:
        """Return the numbers of the patterns whose matches may be incomplete."""
        return self._native.shed()

    def probe(self, *, is_from_scratch: bool = False) -> None:
        """Time the verifications of dual simulation from now on, for a benchmark: a clock is read twice for each.

        Args:
            is_from_scratch: also compute anew, for every edge, what an engine knows of the window, as in the variants "recomp"
                of paper 000. That shows what following the window from edge to edge saves.
        """
        self._native.probe(is_from_scratch)

    def simulation_work(self, number: int) -> SimulationWork | None:
        """Return what a pattern's engine did, if it is one of dual simulation."""
        work = self._native.simulation_work(number)
        return None if work is None else SimulationWork(**work)

    def funnels(self) -> tuple[Funnel, ...]:
        """Return the trace of every pattern of edges so far, in the order of the plans; empty if they are not traced."""
        return tuple(each for each in self.funnel_of_each() if each is not None)

    def funnel_of_each(self) -> tuple[Funnel | None, ...]:
        """Return the same with None for patterns that are not traced."""
        reported = iter(self._native.funnels() or ())
        return tuple(
            by_kind(plan, edges=lambda own: self._funnel(own, next(reported, None)), events=_none, query=_none)
            for plan in self._plans
        )

    def _funnel(self, plan: Plan, reported: NativeFunnel | None) -> Funnel | None:
        if reported is None:
            return None
        from graphtide_native.funnel import funnel  # noqa: PLC0415 - what is not traced does without

        return funnel(reported, plan.pattern, self._asked)

    def _emitted(self, begin: Callable[[], bool]) -> Iterator[MatchBatch]:
        """Begin work; yield what comes of it."""
        interrupted = yield from self._work(begin)
        found = self._native.pushed()
        if found is not None and len(found[0]):
            yield MatchBatch(found[0], self._plans)
        if interrupted is not None:
            raise interrupted

    def _work(
        self, begin: Callable[[], bool], is_cancelled: Callable[[], bool] = lambda: False
    ) -> Generator[MatchBatch, None, BaseException | None]:
        """Begin work and run its slices until it is done or cancelled; yield what it finds before.

        Returns what interrupted it: a signal's handler may raise anything.
        """
        interrupted: BaseException | None = None
        try:
            is_done = begin()
            while not is_done:
                yield from self._found()
                if is_cancelled():
                    self._native.stop()
                    break
                is_done = self._native.go_on()
        except GeneratorExit:
            self._native.stop()
            self._unclaimed += self._found()
            if (rest := self._native.pushed()) is not None:
                self._unclaimed.append(MatchBatch(rest[0], self._plans))
            raise
        except BaseException as error:
            self._native.stop()
            interrupted = error
        yield from self._found()
        return interrupted

    def take_unclaimed(self) -> list[MatchBatch]:
        """Return what a `push` had found, and not yielded, when its iterator was closed; the counts include it."""
        unclaimed, self._unclaimed = self._unclaimed, []
        return unclaimed

    def _found(self) -> Iterator[MatchBatch]:
        for found in self._native.found():
            yield MatchBatch(found, self._plans)

    def _finish(self) -> None:
        """Run the slices of the current work until it is done."""
        try:
            while not self._native.go_on():
                pass
        except BaseException:
            self._native.stop()
            raise


def _none(_plan: AnyPlan) -> None:
    """Return nothing of a plan of another kind."""
