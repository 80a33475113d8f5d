"""Trying patterns on a few edges, before they are registered: the engines, without the log, within bounds."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import CutShortError, InvalidQueryError
from graphtide_core.time import TimeUnit
from graphtide_native.records import Duplicates, take_dead_letters
from graphtide_native.spec import Limits
from graphtide_native.stages import Stages
from graphtide_query.estimates.budget import PlanningBudget
from graphtide_query.estimates.colocation import ColocatedLoad
from graphtide_query.families import AUTO, PlannerOptions
from graphtide_query.planner import plan_all
from graphtide_query.reads import reads_of

from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.registration import check_engine, read_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ports.dead_letter_sink import DeadLetter

MOST_EDGES: Final = 10_000
MOST_MATCHES: Final = 1_000
MOST_PATTERNS: Final = 20
_MOST_PARTIAL_MATCHES: Final = 200_000
_MOST_STATE_BYTES: Final = 64 * 1024 * 1024
"""Of all patterns of a dry run together."""

_WORK: Final = 100_000_000
_SECONDS: Final = 5.0
"""Steps of work, and time with planning, that matching may take; the first one spent ends it."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What was found.

    Attributes:
        matches: match records as JSON, in order of detection.
        engines: the engine of each pattern.
        dead_letters: edges that could not be used.
        truncated: whether a bound ended the run: more may be to be found.
    """

    matches: list[bytes]
    engines: dict[str, str]
    dead_letters: list[DeadLetter]
    truncated: bool


def dry_run(
    text: str,
    edges: list[bytes],
    engine: str = AUTO,
    unit: TimeUnit = TimeUnit.MILLISECOND,
    is_unwanted: Callable[[], bool] = lambda: False,
) -> DryRun:
    """Match patterns over edges, each a JSON object, put in the order of their times first.

    It ends early, with what was found, when its time is over, and as soon as it learns that it is unwanted.

    Raises:
        ProblemError: the text is wrong, there is no such engine, or there is too much of something.
    """
    patterns = read_all(text)
    if len(edges) > MOST_EDGES or len(patterns) > MOST_PATTERNS:
        detail = f"a dry run takes up to {MOST_EDGES} edges and {MOST_PATTERNS} patterns"
        raise ProblemError(413, "too-large", detail)
    for pattern in patterns:
        check_engine(engine, pattern)
    stages = Stages.of(patterns, unit)
    decoder, sequencer = stages.json_decoder(keep_raw=True), stages.sequencer()
    for batch in (decoder.decode(b"\n".join(edges) + b"\n"), decoder.finish()):
        sequencer.push(batch)
    letters = take_dead_letters(decoder)
    ordered = sequencer.finish()
    if ordered is None:
        return DryRun([], {}, letters, truncated=False)
    lookbacks = [reads_of(pattern).lookback for pattern in patterns]
    ordered = Duplicates(max(each.ticks(unit) for each in lookbacks), max(each.edges for each in lookbacks)).filter(ordered)
    known = stages.statistics()
    known.push(ordered)
    deadline = time.monotonic() + _SECONDS

    def is_over() -> bool:
        return is_unwanted() or time.monotonic() > deadline

    colocated, budget = ColocatedLoad.of(len(patterns)), PlanningBudget(is_cancelled=is_over)
    try:
        plans = plan_all(
            patterns, PlannerOptions(engine), unit=unit, statistics=known.snapshot(), colocated=colocated, budget=budget
        )
    except CutShortError:
        return DryRun([], {}, letters, truncated=True)
    except InvalidQueryError as error:
        raise ProblemError(422, "invalid-pattern", str(error)) from error
    limits = Limits(_MOST_PARTIAL_MATCHES // len(plans), _MOST_STATE_BYTES // len(plans), policy="shed")
    matcher = stages.matcher(plans, deletions=decoder.has_operations(), limits=limits)
    found: list[bytes] = []
    truncated = False

    try:
        # As at the end of a file, matches that follow from time alone come at the end.
        with closing(matcher.push(ordered, most=100, budget=_WORK, is_cancelled=is_over)) as matched:
            for part in chain(matched, matcher.finish()):
                found += [match.json.removesuffix(b"\n") for match in part.records()]
                if len(found) > MOST_MATCHES or is_over():
                    truncated = True
                    break
    except CutShortError:
        truncated = True
    truncated |= any(report.limited for report in matcher.patterns())
    return DryRun(found[:MOST_MATCHES], {each.pattern.name: each.engine for each in plans}, letters, truncated)
