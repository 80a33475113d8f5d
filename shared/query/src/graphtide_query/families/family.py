"""A family of patterns: everything that depends on what kind a pattern is of, in one object.

Code outside of a family asks `family_of(pattern)` and does not look at the pattern's class. A family is added by one entry of
`FAMILIES`. Families have no state. Their objects load fast: what plans is imported by the first call that plans.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from graphtide_core.statistics import DriftPolicy, StatisticsSnapshot
from graphtide_core.time import TimeUnit

from graphtide_query.estimates.budget import PlanningBudget
from graphtide_query.estimates.colocation import NO_OTHERS, ColocatedLoad

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.plans import AnyPlan, Assigned, AssignedPlan, Candidate, HostedPlan
    from graphtide_core.predicate import Expression
    from graphtide_core.reads import Reads
    from graphtide_core.returns import Field
    from graphtide_core.window import Window

    from graphtide_query.estimates.bursts import Burst
    from graphtide_query.explanation import Explanation, Seen, UnitFunnel
    from graphtide_query.families.planner_options import PlannerOptions
    from graphtide_query.language.dialect import Dialect
    from graphtide_query.layout import Layout

P_contra = TypeVar("P_contra", bound="AnyPattern", contravariant=True)
Hosted = TypeVar("Hosted", bound="HostedPlan")
PlanT = TypeVar("PlanT", bound="AnyPlan")


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """What plans are made for.

    Attributes:
        unit: of the stream's time.
        statistics: what is known of the stream; none where nothing is.
        colocated: the patterns that are matched in the same pass.
        budget: how much work the planning of one pattern may do.
    """

    unit: TimeUnit = TimeUnit.MILLISECOND
    statistics: StatisticsSnapshot | None = None
    colocated: ColocatedLoad = NO_OTHERS
    budget: PlanningBudget = PlanningBudget()  # noqa: RUF009 - frozen, so one instance serves all

    @property
    def known(self) -> StatisticsSnapshot:
        """The statistics; empty ones where nothing is known."""
        return self.statistics or StatisticsSnapshot()


@dataclass(frozen=True, slots=True)
class ReplanPolicy:
    """When another plan takes the place of one that runs.

    Attributes:
        margin: share of the running plan's estimated cost that the other's must stay below.
        drift: how far a stream must move, where plans follow from the rates of its records.
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
        """What its patterns are called in a sentence, in the plural."""
        ...

    @property
    def kind(self) -> str:
        """What one of its patterns is called after its name; empty where that is a pattern of edges."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its engines, as they are listed to users."""
        ...

    @property
    def variants(self) -> Mapping[str, tuple[str, ...]]:
        """The engines by name, each with the variants of its plans; none where there is but one."""
        ...

    @property
    def services(self) -> Mapping[str, str]:
        """The matcher service that runs each of its engines, by the engine's name."""
        ...

    @property
    def dialect(self) -> Dialect | None:
        """What the grammar has to be extended by for its texts; None where the grammar has them."""
        ...

    def text(self, pattern: P_contra, /) -> str:
        """Return the text of a pattern in its usual spelling; parsed, it is that pattern again."""
        ...

    def reads(self, pattern: P_contra, /) -> Reads:
        """Return what a pattern reads. Cost: O(size of the pattern).

        Raises:
            InvalidPatternError: how far the pattern looks back depends on the unit of the stream's time.
        """
        ...

    def lookback(self, pattern: P_contra, unit: TimeUnit, /) -> int:
        """Return how many ticks before a report a record can change it: while ts > detected_at - lookback.

        0 where edges are counted.

        Raises:
            InvalidPatternError: as `reads`.
        """
        ...

    def canonical(self, pattern: P_contra, /) -> str | None:
        """Return the form that patterns share which one plan and one unit may match; None where only the pattern itself may.

        Complexity: O(text).
        """
        ...

    def canonical_parts(self, pattern: P_contra, /) -> frozenset[str]:
        """Return forms that say which records the pattern's state follows from: equal forms share it, whatever the names."""
        ...

    @property
    def record_fields(self) -> frozenset[str]:
        """What its conditions can read of any record beside its attributes."""
        ...

    def edge_labels(self, pattern: P_contra, /) -> Iterable[str | None]:
        """Return the labels of the edges that a pattern asks for, types of events among them; None where any will do."""
        ...

    def vertex_labels(self, pattern: P_contra, /) -> Iterable[str | None]:
        """Return the labels of the vertices that a pattern asks for; None where any will do."""
        ...

    def conditions(self, pattern: P_contra, stream: str | None, /) -> Iterable[Expression]:
        """Return the conditions that records must satisfy, of those of one stream where it is given."""
        ...

    def readable(self, pattern: P_contra, /) -> frozenset[str]:
        """Return the names of what has attributes in the conditions."""
        ...

    def fields(self, pattern: P_contra, /) -> tuple[Field, ...]:
        """Return the fields that each match has beside its records, as they are written."""
        ...

    def layout(self, pattern: P_contra, /) -> Layout:
        """Return what a match of a pattern has."""
        ...

    def results_stay(self, pattern: P_contra, /) -> bool | None:
        """Return whether results stay valid once they are; None where matches are no results that are valid for a time."""
        ...

    def event_names(self, pattern: P_contra, /) -> tuple[str, ...]:
        """Return the names of the events that a pattern asks for, those that must not come included, in their order."""
        ...

    def window(self, pattern: P_contra, /) -> Window:
        """Return how long a match may last, as it is written."""
        ...

    @property
    def reads_by_name(self) -> bool:
        """Whether a pattern may read several streams, which are given by name."""
        ...

    def follows_from_reports(self, pattern: P_contra, /) -> bool:
        """Whether what a pattern reports follows from all that it reported before."""
        ...

    def burst(self, pattern: P_contra, known: tuple[StatisticsSnapshot, TimeUnit] | None, /) -> Burst | None:
        """Return how many matches one record may complete, where that is too many; without statistics the form alone counts.

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
            CutShortError: the budget says that nobody waits for the plan any more.
        """
        ...

    def assign(self, pattern: P_contra, planner_options: PlannerOptions, context: PlanningContext, /) -> Assigned:
        """Plan a pattern as it is sent to a host; `considered` begins with the plan itself, where there was a choice.

        Raises:
            As `plan`.
        """
        ...

    def assigned(self, pattern: P_contra, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> Assigned:
        """Return a pattern with how it is to be matched, as it comes from elsewhere.

        Raises:
            ValueError: no pattern of the family is matched so.
        """
        ...

    def hosted(self, pattern: P_contra, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> Hosted:
        """Return what a host keeps of a plan that was sent to it.

        Raises:
            InvalidQueryError: the plan is not of this pattern.
            ValueError: no pattern of the family is matched so.
        """
        ...

    def unit_key(self, plan: Hosted, /) -> Hashable:
        """Return what is equal of plans that may be of one unit."""
        ...

    @property
    def is_united(self) -> bool:
        """Whether patterns are matched in units, which are planned anew as a whole while they run."""
        ...

    def united(self, plans: Sequence[Hosted], unit: TimeUnit, /) -> tuple[PlanT, ...]:
        """Return what a matcher takes for plans of one company, in their order.

        Raises:
            InvalidPatternError: a pattern asks for what no engine does.
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
        """Lay plans open, with what a run saw of each; `unit_funnel` says more of those of one unit."""
        ...

    def explain_assigned(
        self, pattern: P_contra, physical: AssignedPlan, considered: tuple[Candidate, ...], seen: Seen, unit: TimeUnit, /
    ) -> Explanation:
        """Lay open how a pattern is to be matched, as it is sent to a host, with what the host counted.

        Raises:
            InvalidQueryError: the plan is not of this pattern.
            ValueError: no pattern of the family is matched so.
        """
        ...

    def regrouped(
        self, members: Sequence[tuple[Hosted, PlanT]], unit: TimeUnit, /
    ) -> tuple[list[int], tuple[PlanT, ...]] | None:
        """Plan patterns of one company that run anew, as one unit.

        Args:
            members: how each is to be matched, and how it is.
            unit: of the stream's time.

        Returns:
            Their places among the members and their plans, in the order of the unit; None where that is not worth the change,
            or patterns are matched by themselves.

        Raises:
            InvalidPatternError: as `united`.
        """
        ...

    def without(self, plans: Sequence[PlanT], place: int, /) -> tuple[PlanT, ...]:
        """Return the plans of one unit without that in a place."""
        ...

    @property
    def begins_anew(self) -> bool:
        """Whether another plan of a running pattern takes the records of its windows again, which are kept for it."""
        ...

    def improved(
        self, running: Mapping[int, PlanT], planner_options: PlannerOptions, context: PlanningContext, policy: ReplanPolicy, /
    ) -> Iterator[Mapping[int, PlanT]]:
        """Yield plans that should take the place of those that run, by the places given; those that change together at once.

        Raises:
            As `plan`.
        """
        ...

    def is_better(
        self, pattern: P_contra, new: AssignedPlan, running: AssignedPlan, context: PlanningContext, policy: ReplanPolicy, /
    ) -> bool:
        """Whether a plan is so much better than the one that runs, on the stream as it is now, that it shall take its place.

        A plan that cannot run is worse than any.
        """
        ...


if TYPE_CHECKING:
    AnyFamily = Family[AnyPattern, AnyPlan, HostedPlan]
    """A family of which it is not known which patterns it takes."""
