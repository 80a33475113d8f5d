"""A family of patterns: everything that depends on the kind of a pattern, in one object.

Code outside of a family asks `family_of(pattern)` and does not look at the pattern's class. A family is added by one entry of
`FAMILIES`. Families have no state. Their objects load fast: the first call that plans imports the planner.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from graphtide_core.statistics import DriftPolicy, StatisticsSnapshot
from graphtide_core.time import TimeUnit

from graphtide_query.estimates.budget import PlanningBudget
from graphtide_query.estimates.colocation import NO_OTHERS, ColocatedLoad

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.part_key import PartKey
    from graphtide_core.plans import AnyPlan, Assigned, AssignedPlan, Candidate, CountedPart, HostedPlan
    from graphtide_core.predicate import Expression
    from graphtide_core.reads import Reads
    from graphtide_core.returns import Field
    from graphtide_core.window import Window

    from graphtide_query.estimates.bursts import Burst
    from graphtide_query.explanation import Explanation, Seen, UnitFunnel
    from graphtide_query.families.planner_options import PlannerOptions
    from graphtide_query.language.dialect import Dialect
    from graphtide_query.layout import Layout
    from graphtide_query.locality import Locality

P_contra = TypeVar("P_contra", bound="AnyPattern", contravariant=True)
Hosted = TypeVar("Hosted", bound="HostedPlan")
PlanT = TypeVar("PlanT", bound="AnyPlan")


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """The context of planning.

    Attributes:
        unit: of the stream's time.
        statistics: of the stream, if there are any.
        colocated: the patterns that are matched in the same pass.
        budget: the work budget of planning one pattern.
        evidence: parts of the pattern that were counted on a running plan; for one pattern at a time.
    """

    unit: TimeUnit = TimeUnit.MILLISECOND
    statistics: StatisticsSnapshot | None = None
    colocated: ColocatedLoad = NO_OTHERS
    budget: PlanningBudget = PlanningBudget()  # noqa: RUF009 - frozen, so one instance serves all
    evidence: tuple[CountedPart, ...] = ()

    @property
    def known(self) -> StatisticsSnapshot:
        """The statistics; empty if there are none."""
        return self.statistics or StatisticsSnapshot()


@dataclass(frozen=True, slots=True)
class ReplanPolicy:
    """When another plan replaces a running one.

    Attributes:
        margin: share of the running plan's estimated cost that the other's must stay below.
        drift: how far a stream must drift, if plans depend on the rates of its records.
    """

    margin: float
    drift: DriftPolicy = field(default_factory=DriftPolicy)


class Family(Protocol[P_contra, PlanT, Hosted]):
    """Patterns with one definition of a result."""

    @property
    def name(self) -> str:
        """The name, which its patterns give as their `family`."""
        ...

    @property
    def title(self) -> str:
        """The name of its patterns in a sentence, in the plural."""
        ...

    @property
    def kind(self) -> str:
        """The kind of its patterns, written after their names; empty for patterns of edges."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its engines, in the order shown to users."""
        ...

    @property
    def variants(self) -> Mapping[str, tuple[str, ...]]:
        """The engines by name, each with the variants of its plans; empty if there is only one."""
        ...

    @property
    def services(self) -> Mapping[str, str]:
        """The matcher service that runs each of its engines, by the engine's name."""
        ...

    @property
    def dialect(self) -> Dialect | None:
        """The extension of the grammar for its texts; None if the grammar has them."""
        ...

    def text(self, pattern: P_contra, /) -> str:
        """Return the text of a pattern in its usual spelling; parsed, it is that pattern again."""
        ...

    def reads(self, pattern: P_contra, /) -> Reads:
        """Return the records that a pattern reads. Cost: O(size of the pattern).

        Raises:
            InvalidPatternError: its lookback depends on the unit of the stream's time.
        """
        ...

    def lookback(self, pattern: P_contra, unit: TimeUnit, /) -> int:
        """Return how many ticks before a report a record can change it: while ts > detected_at - lookback.

        0 for windows of edges.

        Raises:
            InvalidPatternError: as `reads`.
        """
        ...

    def locality(self, pattern: P_contra, key: PartKey, /) -> Locality:
        """Return whether the parts of a stream may match a pattern by themselves. Complexity: O(events * conditions)."""
        ...

    def owner(self, pattern: P_contra, locality: Locality, match: Mapping[str, Any], /) -> str:
        """Return the vertex that decides which part reports a match, given the match record; `locality` is by a vertex key."""
        ...

    def canonical(self, pattern: P_contra, /) -> str | None:
        """Return the form of patterns that one plan and one unit may match; None if only the pattern itself may.

        Complexity: O(text).
        """
        ...

    def canonical_parts(self, pattern: P_contra, /) -> frozenset[str]:
        """Return forms of the records that determine the pattern's state: equal forms share it, whatever the names."""
        ...

    @property
    def record_fields(self) -> frozenset[str]:
        """The fields that its conditions can read of any record beside its attributes."""
        ...

    def edge_labels(self, pattern: P_contra, /) -> Iterable[str | None]:
        """Return the labels of the edges that a pattern matches, including types of events; None for any."""
        ...

    def vertex_labels(self, pattern: P_contra, /) -> Iterable[str | None]:
        """Return the labels of the vertices that a pattern matches; None for any."""
        ...

    def conditions(self, pattern: P_contra, stream: str | None, /) -> Iterable[Expression]:
        """Return the conditions that records must satisfy, of those of one stream where it is given."""
        ...

    def readable(self, pattern: P_contra, /) -> frozenset[str]:
        """Return the names whose attributes conditions can read."""
        ...

    def fields(self, pattern: P_contra, /) -> tuple[Field, ...]:
        """Return the fields that each match has beside its records, as they are written."""
        ...

    def layout(self, pattern: P_contra, /) -> Layout:
        """Return the layout of a match of a pattern."""
        ...

    def results_stay(self, pattern: P_contra, /) -> bool | None:
        """Return whether results stay valid; None if matches are not results with a validity."""
        ...

    def event_names(self, pattern: P_contra, /) -> tuple[str, ...]:
        """Return the names of the events of a pattern in their order, including those that must not come."""
        ...

    def window(self, pattern: P_contra, /) -> Window:
        """Return the window of a pattern, as it is written."""
        ...

    @property
    def reads_by_name(self) -> bool:
        """Return whether a pattern may read several streams, by name."""
        ...

    def follows_from_reports(self, pattern: P_contra, /) -> bool:
        """Return whether a pattern's reports depend on all its earlier reports."""
        ...

    def burst(self, pattern: P_contra, known: tuple[StatisticsSnapshot, TimeUnit] | None, /) -> Burst | None:
        """Return how many matches one record may complete, if that is too many; without statistics only the form counts.

        Complexity: O(n^2) for n parts.
        """
        ...

    def plan(
        self, patterns: Sequence[P_contra], planner_options: PlannerOptions, context: PlanningContext, /
    ) -> tuple[PlanT, ...]:
        """Plan patterns of one pass, in their order.

        Raises:
            InvalidPatternError: no engine can match a pattern.
            InvalidQueryError: an engine has no such variant, or a duration is shorter than a tick.
            PlanningBudgetError: a pattern cannot be planned within the budget.
            CutShortError: the request was cancelled.
        """
        ...

    def assign(self, pattern: P_contra, planner_options: PlannerOptions, context: PlanningContext, /) -> Assigned:
        """Plan a pattern as it is sent to a host; if there was a choice, `considered` begins with the plan itself.

        Raises:
            As `plan`.
        """
        ...

    def assigned(self, pattern: P_contra, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> Assigned:
        """Return a pattern with a received plan.

        Raises:
            ValueError: no engine of the family runs such a plan.
        """
        ...

    def hosted(self, pattern: P_contra, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> Hosted:
        """Return what a host keeps of a received plan.

        Raises:
            InvalidQueryError: the plan is not of this pattern.
            ValueError: no engine of the family runs such a plan.
        """
        ...

    def unit_key(self, plan: Hosted, /) -> Hashable:
        """Return the key that plans of one unit share."""
        ...

    @property
    def is_united(self) -> bool:
        """Return whether patterns are matched in units, which are replanned as a whole while they run."""
        ...

    def united(self, plans: Sequence[Hosted], unit: TimeUnit, /) -> tuple[PlanT, ...]:
        """Return the plans of one unit as a matcher runs them, in their order.

        Raises:
            InvalidPatternError: no engine can match a pattern.
            LookupError: there is no such variant of a plan.
        """
        ...

    def counts(self, pattern: P_contra, /) -> tuple[str, ...]:
        """Return the names of the counts of a run that EXPLAIN shows of a pattern."""
        ...

    def explain(
        self,
        plans: Sequence[PlanT],
        seen: Sequence[Seen | None],
        unit: TimeUnit,
        unit_funnel: UnitFunnel,
        /,
    ) -> tuple[Explanation, ...]:
        """Explain plans, with the run of each; `unit_funnel` has the traces of the patterns of one unit."""
        ...

    def explain_assigned(
        self, pattern: P_contra, physical: AssignedPlan, considered: tuple[Candidate, ...], seen: Seen, unit: TimeUnit, /
    ) -> Explanation:
        """Explain a plan that is sent to a host, with the counts of the host.

        Raises:
            InvalidQueryError: the plan is not of this pattern.
            ValueError: no engine of the family runs such a plan.
        """
        ...

    def counted(
        self, pattern: P_contra, physical: AssignedPlan, alive: Mapping[str, int], context: PlanningContext, /
    ) -> tuple[CountedPart, ...]:
        """Return the parts of a pattern whose partial matches a running plan stores, with estimates and counts.

        Args:
            pattern: the pattern.
            physical: the running plan.
            alive: how many partial matches each step of the plan has, by its name in EXPLAIN.
            context: its evidence does not count: the estimates are those of the statistics alone.

        Returns:
            Nothing for plans that store no partial matches of parts of the pattern.
        """
        ...

    def regrouped(
        self, members: Sequence[tuple[Hosted, PlanT]], unit: TimeUnit, /
    ) -> tuple[list[int], tuple[PlanT, ...]] | None:
        """Replan running patterns of one unit.

        Args:
            members: the assigned plan and the running plan of each.
            unit: of the stream's time.

        Returns:
            Their places among the members and their plans, in the order of the unit. None if the change is not worth it, or
            patterns are matched by themselves.

        Raises:
            InvalidPatternError: as `united`.
        """
        ...

    def without(self, plans: Sequence[PlanT], place: int, /) -> tuple[PlanT, ...]:
        """Return the plans of one unit without the plan in a place."""
        ...

    @property
    def begins_anew(self) -> bool:
        """Return whether another plan of a running pattern replays the records of its windows, which are kept for it."""
        ...

    def improved(
        self, running: Mapping[int, PlanT], planner_options: PlannerOptions, context: PlanningContext, policy: ReplanPolicy, /
    ) -> Iterator[Mapping[int, PlanT]]:
        """Yield plans that should replace running ones, by the given places; plans that change together come together.

        Raises:
            As `plan`.
        """
        ...

    def is_better(
        self, pattern: P_contra, new: AssignedPlan, running: AssignedPlan, context: PlanningContext, policy: ReplanPolicy, /
    ) -> bool:
        """Return whether a plan is so much better than the running one, on the current stream, that it should replace it.

        A plan that cannot run is worse than any.
        """
        ...


if TYPE_CHECKING:
    AnyFamily = Family[AnyPattern, AnyPlan, HostedPlan]
    """A family whose patterns have an unknown type."""
