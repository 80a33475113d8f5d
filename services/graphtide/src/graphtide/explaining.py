"""How patterns would be matched, and how they were: plans with estimates, and with what a traced run saw."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, overload

from graphtide_core.time import TimeUnit
from graphtide_native.sampling import sample
from graphtide_native.stages import Stages
from graphtide_query.estimates.colocation import ColocatedLoad
from graphtide_query.explain import Seen, explain_all, with_localities, with_sharing
from graphtide_query.families import family_of
from graphtide_query.nodes import Actual
from graphtide_query.parts import localities
from graphtide_query.planner import plan_all

from graphtide.event_questions import questions
from graphtide.explanations import FORMATS, Explanations
from graphtide.notes import PatternWarning
from graphtide.options import MatchOptions
from graphtide.pipeline import Pipeline
from graphtide.readers import ReaderOptions
from graphtide.readers.opening import format_by_name
from graphtide.record import columns_to_read
from graphtide.rejections import Rejections, warn
from graphtide.remedies import by_python
from graphtide.run import Run
from graphtide.session import open_reader, parse_text, read_by
from graphtide.wording import refuse_unless_one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.funnel import Funnel
    from graphtide_core.ids import PatternName
    from graphtide_core.plans import AnyPlan
    from graphtide_core.ports.dead_letter_sink import DeadLetterSink
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_native.reports import PatternReport
    from graphtide_query.event_trace import EventTrace

    from graphtide.rejections import Warn
    from graphtide.session import Patterns, Records

NEAR_MISSES = 3
"""Near misses that are shown of each pattern by default."""


class _Nowhere:
    """A `MatchSink` that keeps nothing."""

    def write(self, lines: bytes) -> None:
        """Forget the lines."""

    def flush(self) -> None:
        """Do nothing."""


@overload
def explain(
    pattern: Patterns,
    statistics_from: Records | None = None,
    options: MatchOptions | None = None,
    *,
    analyze: Records | None = None,
    near_misses: int = NEAR_MISSES,
    why_not: Sequence[str] = (),
    format: None = None,
) -> Explanations: ...
@overload
def explain(
    pattern: Patterns,
    statistics_from: Records | None = None,
    options: MatchOptions | None = None,
    *,
    analyze: Records | None = None,
    near_misses: int = NEAR_MISSES,
    why_not: Sequence[str] = (),
    format: str,
) -> str: ...
def explain(
    pattern: Patterns,
    statistics_from: Records | None = None,
    options: MatchOptions | None = None,
    *,
    analyze: Records | None = None,
    near_misses: int = NEAR_MISSES,
    why_not: Sequence[str] = (),
    format: str | None = None,
) -> Explanations | str:
    """Say how the patterns would be matched: an object that prints as text and that notebooks draw, see `Explanations`.

    A `StreamWarning` reports records of a stream that could not be used, a `PatternWarning` names what patterns ask that the
    analyzed stream never had.

    Args:
        pattern: text of one or several patterns, or parsed patterns.
        statistics_from: a stream whose first records show the planner what is frequent.
        options: see `MatchOptions`.
        analyze: a stream to match first, or several by name (`Inputs`). It is traced, on one thread and by one plan. Then the
            actual counts are beside the estimates, with the match funnel and what came near a match.
        near_misses: how many partial matches that came near a match to show of each pattern; under dual simulation, how many
            edges.
        why_not: what to ask of the stream to analyze. Ids of edges: of patterns under dual simulation, why each is in no match,
            or since when it is. Of event patterns `a=17,b=21`, ids by names of events: whether there is a match with these, and
            if not, why.
        format: `text`, `json`, `dot`, `svg` or `html` for that text itself, in place of the object.

    Raises:
        InvalidPatternError: the text is wrong, or reads an attribute that the stream to analyze does not have.
        InvalidQueryError: the patterns read other streams than those to analyze.
        UnreadableStreamError: a stream cannot be read.
        LimitExceededError: a pattern reached a bound under the policy `fail` while the stream was matched.
        ValueError: there is no such format, or `why_not` has no stream, or no pattern that can answer it.
        TypeError: a pattern or a stream is of another type.
    """
    if format is not None:
        refuse_unless_one_of(format, FORMATS, "format")
    patterns = parse_text(pattern)
    refuse_vain_questions(patterns, analyze, why_not)
    options = options or MatchOptions()
    if statistics_from is not None:
        options = replace(options, statistics=statistics_of(statistics_from, options))
    if analyze is None:
        found = plan_each(patterns, options)
    else:
        found = _complete(analyze_run(patterns, analyze, options, near_misses, why_not=why_not))
    return found if format is None else FORMATS[format](found)


def _complete(run: Run) -> Explanations:
    """Lay a run open that nothing ended early."""
    remedies = by_python(run.pipeline.time_unit)
    losses = run.losses("graphtide.match() gives them by take_dead_letters()", remedies)
    if losses.sentences:
        warn("\n".join(losses.sentences), losses.category)
    if notes := run.missing_names():
        warn("\n".join(notes), PatternWarning)
    if run.error is not None:
        raise run.error
    if run.interrupt is not None:
        raise run.interrupt
    return run_explain(run)


def refuse_vain_questions(patterns: Sequence[AnyPattern], analyze: Records | None, why_not: Sequence[str]) -> None:
    """Check that it can be said why edges are in no match, or events no match, if that is asked.

    Raises:
        ValueError: no stream is matched, no pattern is under dual simulation and none has events of these names, or no match
            can have them all.
    """
    if not why_not:
        return
    if analyze is None:
        message = "why not is asked of edges, but no stream is matched: say which to analyze"
        raise ValueError(message)
    _, others = questions(patterns, why_not, TimeUnit.MILLISECOND)
    if not others or any(family_of(pattern).layout(pattern).changes for pattern in patterns):
        return
    of_events = next((pattern for pattern in patterns if family_of(pattern).layout(pattern).events), None)
    if of_events is not None:
        names = family_of(of_events).layout(of_events).events
        message = (
            f"{others[0]!r} is not a question of an event pattern: that is NAME=ID, or several with commas between them;"
            f" {of_events.name!r} has the events {', '.join(names)}"
        )
        raise ValueError(message)
    message = "why not is asked of edges, but no pattern is under dual simulation; of others the near misses show it"
    raise ValueError(message)


def plan_each(patterns: Sequence[AnyPattern], options: MatchOptions) -> Explanations:
    """Say how the patterns would be matched."""
    colocated = ColocatedLoad.of(len(patterns))
    plans = plan_all(
        patterns, options.planner_options, unit=options.time_unit, statistics=options.statistics, colocated=colocated
    )
    where = localities(patterns, options.record_options.stream)
    explained = with_localities(explain_all(plans, [None] * len(plans)), where)
    return Explanations(with_sharing(explained, sharing_of(plans, options)))


def sharing_of(plans: Sequence[AnyPlan], options: MatchOptions) -> dict[str, str]:
    """Return what patterns search for together, by their names; those that share nothing are missing."""
    searched = [plan for plan in plans if plan.pattern.family == "isomorphism"]
    if len(searched) < 2:
        return {}
    matcher = Stages.of([plan.pattern for plan in searched], options.time_unit).matcher(searched)
    found = {plan.pattern.name: matcher.sharing(number) for number, plan in enumerate(searched)}
    return {name: str(sharing) for name, sharing in found.items() if sharing is not None}


def analyze_run(
    patterns: Sequence[AnyPattern],
    records: Records,
    options: MatchOptions,
    near_misses: int,
    *,
    why_not: Sequence[str] = (),
    dead_letters: DeadLetterSink | None = None,
    reading: ReaderOptions | None = None,
    on_progress: Callable[[Run], None] | None = None,
) -> Run:
    """Match a stream, or several by name, traced; what ended the run is its `error`. `reading` says how they are written.

    `on_progress` is called after every batch. `why_not` are ids of edges, to explain their fate by patterns under dual
    simulation, and questions of event patterns.

    Raises:
        InvalidPatternError: a pattern reads an attribute that the stream does not have.
        InvalidQueryError: the patterns read other streams than these.
        UnreadableStreamError: the stream cannot be opened.
    """
    of_events, others = questions(patterns, why_not, options.time_unit)
    pipeline = Pipeline(patterns, options, traced=near_misses, asked=others, questions=of_events)
    reading = reading or ReaderOptions(keep_raw=dead_letters is not None)
    run = Run(pipeline, read_by(records, pipeline, options, reading), _Nowhere(), dead_letters)
    if on_progress is not None:
        run.on_progress = lambda: on_progress(run)
    run.execute()
    return run


def run_explain(run: Run) -> Explanations:
    """Lay open the plans of a run that was executed, the actual counts beside the estimates."""
    pipeline = run.pipeline
    matcher, plans = pipeline.matcher, pipeline.plans
    reports, funnels = matcher.patterns(), matcher.funnel_of_each()
    reported = {plan.pattern.name: report for plan, report in zip(plans, reports, strict=True)}

    def unit_funnel(names: Sequence[PatternName]) -> EventTrace | None:
        return None if pipeline.events is None else pipeline.events.trace({name: reported[name] for name in names})

    seen = [_describe_seen(plan.pattern, report, funnel) for plan, report, funnel in zip(plans, reports, funnels, strict=True)]
    explanations = explain_all(plans, seen, pipeline.time_unit, unit_funnel)
    return Explanations(with_localities(explanations, localities(pipeline.patterns, pipeline.definitions)))


def _describe_seen(pattern: AnyPattern, report: PatternReport, funnel: Funnel | None) -> Seen:
    actuals = {item.name: Actual(item.peak, item.created) for item in report.items}
    counts = {name: getattr(report, name) for name in family_of(pattern).counts(pattern)}
    return Seen(actuals, counts, funnel)


def statistics_of(
    stream: Records, options: MatchOptions, notify: Warn = warn, reading: ReaderOptions | None = None
) -> StatisticsSnapshot | None:
    """Count what a planner wants to know of a stream's first block with a record; None if it has no record.

    Args:
        stream: what to look at.
        options: see `MatchOptions`.
        notify: called with records looked at that could not be used.
        reading: how the stream is written, with the unit and columns of the options.

    Raises:
        UnreadableStreamError: the stream cannot be read.
    """
    is_named = isinstance(stream, str | os.PathLike) and format_by_name(os.fspath(stream)) is not None
    reading = reading or ReaderOptions(
        time_unit=options.time_unit,
        columns=columns_to_read(options.columns),
        # It may be written otherwise than the stream that the options are for.
        format=None if is_named else options.format,
        record_options=options.record_options,
        latest=options.latest,
    )
    # The first records alone are looked at.
    reader = open_reader(stream, replace(reading, sorts=False))
    rejections = Rejections()
    try:
        for batch in reader.batches():
            rejections.add(reader.take_dead_letters())
            if len(batch):
                return sample(batch, reading.symbols)
    finally:
        reader.close()
        for text in rejections.sentences(
            reader.records, reader.place, "they do not count in the statistics that plans are made on"
        )[:1]:
            notify(text)
    return None
