"""Families of patterns of edges: their engines, and the choice of an engine. Their patterns differ in the morphism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphtide_core.durations import refuse_shorter_than_a_tick
from graphtide_core.errors import InvalidQueryError
from graphtide_core.one_per import with_past
from graphtide_core.pattern import Report
from graphtide_core.plans import CountedPart, PhysicalPlan, Plan
from graphtide_core.predicate import RECORD_FIELDS
from graphtide_core.reads import Lookback, Reads
from graphtide_core.window import EdgeCount

from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.families.engine import AnyEngine, engine_among, foreign_plan
from graphtide_query.families.planner_options import AUTO
from graphtide_query.families.variants import RUN_COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.part_key import PartKey
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import AssignedPlan, Candidate
    from graphtide_core.predicate import Expression
    from graphtide_core.returns import Field
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit
    from graphtide_core.window import Window

    from graphtide_query.estimates.bursts import Burst
    from graphtide_query.estimates.colocation import ColocatedLoad
    from graphtide_query.estimates.cost import Cost
    from graphtide_query.explanation import Explanation, Seen, UnitFunnel
    from graphtide_query.families.family import PlanningContext, ReplanPolicy
    from graphtide_query.families.planner_options import PlannerOptions
    from graphtide_query.layout import Layout
    from graphtide_query.locality import Locality


@dataclass(frozen=True, slots=True)
class SubgraphFamily:
    """A `Family` of patterns of edges, each of which is planned by itself.

    Attributes:
        name: its name.
        title: the name of its patterns.
        engines: its engines, in the order shown to users.
        services: the matcher service that runs each.
        auto: the same in the order of planning for `AUTO`; the first of equals is taken.
    """

    name: str
    title: str
    engines: tuple[AnyEngine, ...]
    auto: tuple[AnyEngine, ...]
    services: Mapping[str, str]

    @property
    def kind(self) -> str:
        """Empty: a pattern of edges."""
        return ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its engines."""
        return tuple(engine.name for engine in self.engines)

    @property
    def variants(self) -> Mapping[str, tuple[str, ...]]:
        """The engines by name, with the variants of their plans."""
        return {engine.name: engine.variants for engine in self.engines}

    @property
    def dialect(self) -> None:
        """None: the grammar has its texts."""

    def text(self, pattern: SubgraphPattern, /) -> str:
        """Return the text of a pattern."""
        from graphtide_query.language.printer import print_subgraph_pattern  # noqa: PLC0415 - not every run prints

        return print_subgraph_pattern(pattern)

    def reads(self, pattern: SubgraphPattern, /) -> Reads:
        """Return what a pattern reads; its lookback is its window. A window of edges counts all edges."""
        labels = {edge.label for edge in pattern.edges}
        counts = isinstance(pattern.window, EdgeCount)
        named = sorted(label for label in labels if label is not None)
        return Reads(
            streams=pattern.streams,
            lookback=Lookback(pattern.window, is_closed=pattern.morphism.has_closed_windows and not counts),
            labels=None if counts or None in labels else tuple(named),
            attributes=tuple(sorted(pattern.attributes)),
        )

    def lookback(self, pattern: SubgraphPattern, unit: TimeUnit, /) -> int:
        """Return its window, and the intervals of `ONE PER`."""
        return with_past(pattern.one_per, self.reads(pattern).lookback.ticks(unit), unit)

    def locality(self, pattern: SubgraphPattern, key: PartKey, /) -> Locality:
        """Return what its conditions prove."""
        from graphtide_query.families.subgraph_locality import locality  # noqa: PLC0415 - streams in parts alone ask

        return locality(pattern, key)

    def owner(self, _pattern: SubgraphPattern, locality: Locality, match: Mapping[str, Any], /) -> str:
        """Return the vertex around which all edges are."""
        return str(match["vertices"][locality.owners[0]])

    def canonical(self, pattern: SubgraphPattern, /) -> str | None:
        """Return the form of a pattern that reports matches; reported components depend on earlier ones."""
        from graphtide_query.canonical import canonical_pattern  # noqa: PLC0415 - hosts and planners alone ask

        return canonical_pattern(pattern) if pattern.report is Report.ALL else None

    def canonical_parts(self, pattern: SubgraphPattern, /) -> frozenset[str]:
        """Return the forms of its query edges."""
        from graphtide_query.canonical import canonical_edges  # noqa: PLC0415 - as above

        return canonical_edges(pattern)

    @property
    def record_fields(self) -> frozenset[str]:
        """Fields of every edge."""
        return RECORD_FIELDS

    def edge_labels(self, pattern: SubgraphPattern, /) -> tuple[str | None, ...]:
        """Return the labels of its edges."""
        return tuple(edge.label for edge in pattern.edges)

    def vertex_labels(self, pattern: SubgraphPattern, /) -> tuple[str | None, ...]:
        """Return the labels of its vertices."""
        return tuple(vertex.label for vertex in pattern.vertices)

    def conditions(self, pattern: SubgraphPattern, _stream: str | None, /) -> tuple[Expression, ...]:
        """Return its predicates; it reads one stream."""
        return pattern.predicates

    def readable(self, pattern: SubgraphPattern, /) -> frozenset[str]:
        """Return the names of its edges."""
        return frozenset(edge.name for edge in pattern.edges)

    def fields(self, pattern: SubgraphPattern, /) -> tuple[Field, ...]:
        """Return those of RETURN."""
        return () if pattern.returns is None else pattern.returns.fields

    def layout(self, pattern: SubgraphPattern, /) -> Layout:
        """Return its edges and vertices; a component has many of each."""
        from graphtide_query.layout import Layout, PatternGraph  # noqa: PLC0415 - not every run lays matches out

        has_lists = not pattern.morphism.is_mapping
        return Layout(
            edges={edge.name: has_lists for edge in pattern.edges},
            vertices={vertex.name: has_lists for vertex in pattern.vertices},
            changes=has_lists,
            fields=tuple(each.name for each in pattern.fields),
            graph=PatternGraph(pattern.vertices, pattern.edges, pattern.order.reduction()),
        )

    def results_stay(self, _pattern: SubgraphPattern, /) -> None:
        """Return None: matches have no validity."""

    def event_names(self, _pattern: SubgraphPattern, /) -> tuple[str, ...]:
        """Return no names: it reads edges."""
        return ()

    def window(self, pattern: SubgraphPattern, /) -> Window:
        """Return its window."""
        return pattern.window

    @property
    def reads_by_name(self) -> bool:
        """False: each reads one stream."""
        return False

    def follows_from_reports(self, pattern: SubgraphPattern, /) -> bool:
        """Return whether it consumes edges, or reports changes of matches."""
        return pattern.report in (Report.INSTANCES, Report.CHANGES)

    def burst(self, pattern: SubgraphPattern, known: tuple[StatisticsSnapshot, TimeUnit] | None, /) -> Burst | None:
        """Return what one edge may complete; under dual simulation that is one component."""
        if not pattern.morphism.is_mapping:
            return None
        from graphtide_query.families.subgraph_bursts import burst_of_edges  # noqa: PLC0415 - not every run warns

        return burst_of_edges(pattern, known)

    def plan(
        self, patterns: Sequence[SubgraphPattern], planner_options: PlannerOptions, context: PlanningContext, /
    ) -> tuple[Plan, ...]:
        """Plan each for the requested engine, or for the cheapest."""
        return tuple(self.plan_one(pattern, planner_options, context) for pattern in patterns)

    def plan_one(self, pattern: SubgraphPattern, planner_options: PlannerOptions, context: PlanningContext) -> Plan:
        """Plan a pattern for the requested engine, or for the cheapest; raises as `plan`."""
        refuse_shorter_than_a_tick(pattern, context.unit)
        model = CostModel(pattern, context.known, pattern.extent(context.unit), context.budget, context.evidence)
        if planner_options.engine == AUTO:
            candidates = self.considered(model, planner_options, context.colocated)
            return self.assigned(pattern, candidates[0].physical, candidates)
        engine = next(each for each in self.engines if each.name == planner_options.engine)
        return Plan(pattern, engine.plan(model, planner_options.variant(engine)))

    def assign(self, pattern: SubgraphPattern, planner_options: PlannerOptions, context: PlanningContext, /) -> Plan:
        """Plan a pattern; the cost of a requested engine is also estimated."""
        try:
            found = self.plan_one(pattern, planner_options, context)
        except ValueError as error:
            raise InvalidQueryError(str(error)) from error
        if planner_options.engine == AUTO:
            return found
        return Plan(pattern, found.physical, (self._cost(pattern, found.physical, context).candidate(found.physical),))

    def assigned(self, pattern: SubgraphPattern, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> Plan:
        """Return a pattern with a plan for an engine of patterns of edges."""
        if not isinstance(physical, PhysicalPlan):
            raise foreign_plan(pattern, physical)
        return Plan(pattern, physical, considered)

    def hosted(self, pattern: SubgraphPattern, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> Plan:
        """Return the plan as it is."""
        return self.assigned(pattern, physical, considered)

    def unit_key(self, _plan: Plan, /) -> None:
        """Return None: each is matched by itself."""

    @property
    def is_united(self) -> bool:
        """False: each is matched by itself."""
        return False

    def united(self, plans: Sequence[Plan], _unit: TimeUnit, /) -> tuple[Plan, ...]:
        """Return the plans as they are."""
        return tuple(plans)

    def counts(self, pattern: SubgraphPattern, /) -> tuple[str, ...]:
        """Return the counts of every pattern, and of matches that `ONE PER` suppressed."""
        return RUN_COUNTS if pattern.one_per is None else (*RUN_COUNTS, "suppressed")

    def explain(
        self,
        plans: Sequence[Plan],
        seen: Sequence[Seen | None],
        unit: TimeUnit,
        _unit_funnel: UnitFunnel,
        /,
    ) -> tuple[Explanation, ...]:
        """Explain each by itself, by the engine that runs it."""
        from graphtide_query.explanation import Seen  # noqa: PLC0415 - not every run explains
        from graphtide_query.families.subgraph_explaining import explain_edges  # noqa: PLC0415

        return tuple(
            explain_edges(plan, engine_among(self.engines, plan.physical), each or Seen(), unit)
            for plan, each in zip(plans, seen, strict=True)
        )

    def explain_assigned(
        self,
        pattern: SubgraphPattern,
        physical: AssignedPlan,
        considered: tuple[Candidate, ...],
        seen: Seen,
        unit: TimeUnit,
        /,
    ) -> Explanation:
        """Explain the plan."""
        return self.explain((self.assigned(pattern, physical, considered),), (seen,), unit, lambda _: None)[0]

    def counted(
        self, pattern: SubgraphPattern, physical: AssignedPlan, alive: Mapping[str, int], context: PlanningContext, /
    ) -> tuple[CountedPart, ...]:
        """Return what the steps of the plan store."""
        running = self.assigned(pattern, physical).physical
        model = CostModel(pattern, context.known, pattern.extent(context.unit))
        return tuple(
            CountedPart(
                tuple(pattern.edges[edge].name for edge in sorted(edges)), model.partial_matches(edges), float(alive[name])
            )
            for name, edges in engine_among(self.engines, running).stored(running)
            if name in alive
        )

    def regrouped(self, _members: Sequence[tuple[Plan, Plan]], _unit: TimeUnit, /) -> None:
        """Return None: each is matched by itself."""

    def without(self, plans: Sequence[Plan], place: int, /) -> tuple[Plan, ...]:
        """Return the others as they are."""
        return (*plans[:place], *plans[place + 1 :])

    @property
    def begins_anew(self) -> bool:
        """False: the engine replays the edges that it kept."""
        return False

    def improved(
        self, running: Mapping[int, Plan], planner_options: PlannerOptions, context: PlanningContext, policy: ReplanPolicy, /
    ) -> Iterator[dict[int, Plan]]:
        """Yield each plan that is better, by itself."""
        for place, old in running.items():
            new = self.plan_one(old.pattern, planner_options, context)
            if self.is_better(old.pattern, new.physical, old.physical, context, policy):
                yield {place: new}

    def is_better(
        self,
        pattern: SubgraphPattern,
        new: AssignedPlan,
        running: AssignedPlan,
        context: PlanningContext,
        policy: ReplanPolicy,
        /,
    ) -> bool:
        """Return whether it is estimated cheaper by the margin, each with its co-located load."""
        if new == running:
            return False
        try:
            then, now = (
                self._cost(pattern, self.assigned(pattern, each).physical, context).nanoseconds for each in (running, new)
            )
        except (LookupError, ValueError):
            # The running plan does not fit this pattern: another program wrote it.
            return True
        return now < policy.margin * then

    def _cost(self, pattern: SubgraphPattern, physical: PhysicalPlan, context: PlanningContext) -> Cost:
        model = CostModel(pattern, context.known, pattern.extent(context.unit), evidence=context.evidence)
        return engine_among(self.engines, physical).cost(model, physical, context.colocated.by(physical.name))

    def considered(self, model: CostModel, planner_options: PlannerOptions, colocated: ColocatedLoad) -> tuple[Candidate, ...]:
        """Plan a pattern for all engines, and estimate the plans with their co-located loads; cheapest first.

        Raises:
            InvalidQueryError: an engine does not have the requested variant.
            PlanningBudgetError: the pattern cannot be planned within the budget.
        """
        physicals = [engine.plan(model, planner_options.variant(engine)) for engine in self.auto]
        candidates = (
            engine_among(self.engines, each).cost(model, each, colocated.by(each.name)).candidate(each) for each in physicals
        )
        return tuple(sorted(candidates, key=lambda candidate: candidate.nanoseconds))
