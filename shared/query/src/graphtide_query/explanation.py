"""The explanation of a plan: what every family reports on the plans of its patterns, and on their runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphtide_core.funnel import Funnel
    from graphtide_core.ids import PatternName
    from graphtide_core.plans import Candidate

    from graphtide_query.event_trace import EventTrace
    from graphtide_query.funnel import PatternTrace
    from graphtide_query.nodes import Actual, Node
    from graphtide_query.plan_candidate import PlanCandidate

    UnitFunnel = Callable[[Sequence[PatternName]], EventTrace | None]
    """Maps the names of the patterns of one unit to the trace of a run."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a plan.

    Attributes:
        pattern: name of the pattern.
        engine: name of the engine.
        settings: other choices, by name.
        nodes: the steps, inputs first.
        counts: counts of a run, by name; empty before one.
        trace: of a traced run.
        considered: the plans that were compared, cheapest first; empty if there was no choice.
        logical: of a graph query, the expression of each output as lines, by the output's label.
        plans: of a graph query, the alternative plans as text, cheapest first.
        engines: of a graph query, the engines that could run it, with nanoseconds for an edge, cheapest first.
    """

    pattern: str
    engine: str
    settings: Mapping[str, str]
    nodes: tuple[Node, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    trace: PatternTrace | EventTrace | None = None
    considered: tuple[Candidate, ...] = ()
    logical: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plans: tuple[PlanCandidate, ...] = ()
    engines: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """The counts of a run for one pattern.

    Attributes:
        actuals: by the names of items; of event patterns, those of their unit.
        counts: by name, including `matches` if there is a funnel.
        funnel: of a pattern of edges, if the run was traced.
    """

    actuals: Mapping[str, Actual] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    funnel: Funnel | None = None
