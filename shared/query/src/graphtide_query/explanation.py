"""A plan laid open: what every family says of the plans of its patterns, and what a run saw of them."""

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
    """Says of patterns of one unit, by their names, what a traced run saw of them."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan laid open.

    Attributes:
        pattern: name of the pattern.
        engine: name of the engine.
        settings: what else was chosen, by name.
        nodes: the steps, inputs first.
        counts: counts of a run, by name; empty before one.
        trace: what was told of a run that was traced.
        considered: what the choice was made from, cheapest first; empty if there was none.
        logical: of a graph query, the expression of each output as lines, by the output's label.
        plans: of a graph query, what it could have computed, as text, cheapest first.
        engines: of a graph query, what could run it, with the nanoseconds of an edge, cheapest first.
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
    """What a run saw of one pattern.

    Attributes:
        actuals: by the names of items; of event patterns, those of their unit.
        counts: by name, with that of `matches` where there is a funnel.
        funnel: of a pattern of edges, if the run was traced.
    """

    actuals: Mapping[str, Actual] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    funnel: Funnel | None = None
