"""The family of streaming graph queries: what they read, their canonical forms, and their planner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.errors import InvalidPatternError, InvalidQueryError
from graphtide_core.graph_query import EDGE, GraphQuery, Input, Output
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.path_expression import Symbol
from graphtide_core.plans import DerivedPlan, PathEngine
from graphtide_core.predicate import RECORD_FIELDS
from graphtide_core.reads import Lookback, Reads
from graphtide_core.regular_rule import Atom, Rule, Variable
from graphtide_core.stream_window import StreamWindow, WindowKind
from graphtide_core.suggestion import show
from graphtide_core.time import Duration, TimeUnit

from graphtide_query.families.engine import foreign_plan
from graphtide_query.families.variants import PATH_ENGINES, PLANS_OF_QUERIES, RUN_COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.part_key import PartKey
    from graphtide_core.plans import AssignedPlan, Candidate, GraphPlan
    from graphtide_core.predicate import Expression
    from graphtide_core.returns import Field
    from graphtide_core.statistics import StatisticsSnapshot

    from graphtide_query.estimates.bursts import Burst
    from graphtide_query.explanation import Explanation, Seen, UnitFunnel
    from graphtide_query.families.family import PlanningContext, ReplanPolicy
    from graphtide_query.families.planner_options import PlannerOptions
    from graphtide_query.layout import Layout
    from graphtide_query.locality import Locality


@dataclass(frozen=True, slots=True)
class AlgebraFamily:
    """The `Family` of streaming graph queries; its engines differ in how they run PATHs."""

    name: str = "algebra"
    title: str = "streaming graph queries"
    kind: str = "streaming graph query"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its engines."""
        return PATH_ENGINES

    @property
    def variants(self) -> Mapping[str, tuple[str, ...]]:
        """The engines, each with the searched and the canonical plan."""
        return dict.fromkeys(PATH_ENGINES, PLANS_OF_QUERIES)

    @property
    def services(self) -> Mapping[str, str]:
        """The service of graph queries."""
        return {engine.value: "matcher_algebra" for engine in PathEngine}

    @property
    def dialect(self) -> None:
        """None: the grammar has its texts."""

    def text(self, pattern: GraphQuery, /) -> str:
        """Return the text of a pattern."""
        from graphtide_query.language.graph_query_printer import print_graph_query  # noqa: PLC0415 - not every run prints

        return print_graph_query(pattern)

    def reads(self, query: GraphQuery, /) -> Reads:
        """Return what a query reads; its lookback is its longest window.

        The window is closed: a result that ends now is extended by an edge that begins now.

        Raises:
            InvalidPatternError: some windows have units and some are in ticks, so only the stream's unit decides which is the
            longest.
        """
        labels = {each.label for each in query.inputs}
        return Reads(
            streams=query.streams,
            lookback=Lookback(_longest_window(query), is_closed=True, is_rounded_up=True),
            labels=None if None in labels else tuple(sorted(each for each in labels if each is not None)),
            attributes=query.attributes,
        )

    def lookback(self, query: GraphQuery, unit: TimeUnit, /) -> int:
        """Return its longest window. Raises as `reads`."""
        return self.reads(query).lookback.ticks(unit)

    def locality(self, query: GraphQuery, key: PartKey, /) -> Locality:
        """Return what its conditions prove."""
        from graphtide_query.families.algebra.locality import locality  # noqa: PLC0415 - streams in parts alone ask

        return locality(query, key)

    def owner(self, query: GraphQuery, locality: Locality, match: Mapping[str, Any], /) -> str:
        """Return the vertex in the column of a result that decides the part of all edges it follows from."""
        number = next(number for number, each in enumerate(query.outputs) if each.label == match["label"])
        column, columns = locality.owners[number], query.outputs[number].columns
        if "bindings" in match:
            return str(match["bindings"][column])
        return str(match["src" if columns.index(column) == 0 else "dst"])

    def canonical(self, query: GraphQuery, /) -> None:
        """Return None: queries of one stream share operators even if they differ."""

    def canonical_parts(self, query: GraphQuery, /) -> frozenset[str]:
        """Return the forms of its inputs: the edges that each reads, without their windows."""
        return frozenset(map(_canonical_input, query.inputs))

    @property
    def record_fields(self) -> frozenset[str]:
        """Fields of every edge."""
        return RECORD_FIELDS

    def edge_labels(self, query: GraphQuery, /) -> tuple[str | None, ...]:
        """Return the labels of its inputs."""
        return tuple(each.label for each in query.inputs)

    def vertex_labels(self, query: GraphQuery, /) -> tuple[str | None, ...]:
        """Return the labels of the ends of its inputs."""
        return tuple(label for each in query.inputs for label in (each.source_label, each.target_label))

    def conditions(self, query: GraphQuery, stream: str | None, /) -> Iterator[Expression]:
        """Yield those of its inputs, or of its inputs of one stream."""
        inputs = (each for each in query.inputs if stream is None or each.window.stream == stream)
        yield from (condition for each in inputs for condition in each.conditions)

    def readable(self, _query: GraphQuery, /) -> frozenset[str]:
        """Return the name that every input gives its edges."""
        return frozenset((EDGE,))

    def fields(self, _query: GraphQuery, /) -> tuple[Field, ...]:
        """Return no fields: results have columns, which are not attributes of records."""
        return ()

    def layout(self, query: GraphQuery, /) -> Layout:
        """Return its outputs; their columns are vertices."""
        from graphtide_query.layout import Layout  # noqa: PLC0415 - not every run lays matches out

        vertices = {column: False for output in query.outputs for column in output.columns}
        return Layout(vertices=vertices, outputs=query.outputs)

    def results_stay(self, query: GraphQuery, /) -> bool:
        """Return whether all its windows keep their results."""
        return query.results_stay

    def event_names(self, _query: GraphQuery, /) -> tuple[str, ...]:
        """Return no names: it reads edges."""
        return ()

    def window(self, query: GraphQuery, /) -> Duration:
        """Return its longest window. Raises as `reads`."""
        return _longest_window(query)

    @property
    def reads_by_name(self) -> bool:
        """True: a query may join streams."""
        return True

    def follows_from_reports(self, _query: GraphQuery, /) -> bool:
        """Return False: results follow from the windows alone."""
        return False

    def burst(self, query: GraphQuery, known: tuple[StatisticsSnapshot, TimeUnit] | None, /) -> Burst | None:
        """Return what one edge may bring."""
        from graphtide_query.families.algebra.bursts import burst_of_results  # noqa: PLC0415 - not every run warns

        return burst_of_results(query, known)

    def plan(
        self, queries: Sequence[GraphQuery], planner_options: PlannerOptions, context: PlanningContext, /
    ) -> tuple[GraphPlan, ...]:
        """Plan each query by itself."""
        from graphtide_query.families.algebra.planning import plan_graph_query  # noqa: PLC0415 - loaded by the first that plans

        return tuple(
            plan_graph_query(each, planner_options, unit=context.unit, statistics=context.statistics, budget=context.budget)
            for each in queries
        )

    def assign(self, query: GraphQuery, planner_options: PlannerOptions, context: PlanningContext, /) -> DerivedPlan:
        """Return the query with the derivation of its plan."""
        from graphtide_query.families.algebra.planning import choose_plan  # noqa: PLC0415 - as above

        return choose_plan(query, planner_options, unit=context.unit, statistics=context.statistics, budget=context.budget)

    def assigned(self, pattern: GraphQuery, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> DerivedPlan:
        """Return a query with the received derivation of its plan."""
        from graphtide_core.plans.algebra import Derivation  # noqa: PLC0415 - as above

        if not isinstance(physical, Derivation):
            raise foreign_plan(pattern, physical)
        return DerivedPlan(pattern, physical, considered)

    def hosted(self, pattern: GraphQuery, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> GraphPlan:
        """Return the plan that the derivation gives."""
        from graphtide_core.plans.algebra import GraphPlan  # noqa: PLC0415 - as above

        from graphtide_query.families.algebra.derivation import derive_plan  # noqa: PLC0415 - as above

        return GraphPlan(pattern, derive_plan(pattern, self.assigned(pattern, physical, considered).physical))

    def unit_key(self, _plan: GraphPlan, /) -> None:
        """Return None: queries share operators whatever their plans."""

    @property
    def is_united(self) -> bool:
        """False: queries share operators whatever their plans."""
        return False

    def united(self, plans: Sequence[GraphPlan], _unit: TimeUnit, /) -> tuple[GraphPlan, ...]:
        """Return the plans as they are."""
        return tuple(plans)

    def counts(self, _query: GraphQuery, /) -> tuple[str, ...]:
        """Return the counts of every pattern, and how often results were extended."""
        return (*RUN_COUNTS, "extensions")

    def explain(
        self,
        plans: Sequence[GraphPlan],
        seen: Sequence[Seen | None],
        _unit: TimeUnit,
        _unit_funnel: UnitFunnel,
        /,
    ) -> tuple[Explanation, ...]:
        """Explain each by itself, with a node for each operator."""
        from graphtide_query.explanation import Seen  # noqa: PLC0415 - not every run explains
        from graphtide_query.families.algebra.explaining import explain_query  # noqa: PLC0415

        both = ((plan, each or Seen()) for plan, each in zip(plans, seen, strict=True))
        return tuple(explain_query(plan, each.actuals, each.counts) for plan, each in both)

    def explain_assigned(
        self,
        query: GraphQuery,
        physical: AssignedPlan,
        considered: tuple[Candidate, ...],
        seen: Seen,
        _unit: TimeUnit,
        /,
    ) -> Explanation:
        """Explain the derived plan, with the plans it was compared with."""
        from graphtide_query.families.algebra.derivation import derive_with_alternatives  # noqa: PLC0415 - as above
        from graphtide_query.families.algebra.explaining import explain_query  # noqa: PLC0415

        return explain_query(derive_with_alternatives(self.assigned(query, physical, considered)), seen.actuals, seen.counts)

    def counted(
        self, _pattern: GraphQuery, _physical: AssignedPlan, _alive: Mapping[str, int], _context: PlanningContext, /
    ) -> tuple[()]:
        """Return nothing: its operators store results, not parts of matches."""
        return ()

    def regrouped(self, _members: Sequence[tuple[GraphPlan, GraphPlan]], _unit: TimeUnit, /) -> None:
        """Return None: each is matched by itself."""

    def without(self, plans: Sequence[GraphPlan], place: int, /) -> tuple[GraphPlan, ...]:
        """Return the others as they are."""
        return (*plans[:place], *plans[place + 1 :])

    @property
    def begins_anew(self) -> bool:
        """True: operators hold tuples, not the edges that other operators need."""
        return True

    def improved(
        self,
        running: Mapping[int, GraphPlan],
        planner_options: PlannerOptions,
        context: PlanningContext,
        policy: ReplanPolicy,
        /,
    ) -> Iterator[dict[int, GraphPlan]]:
        """Yield the better plans, all at once: the windows are replayed once."""
        from graphtide_query.families.algebra.derivation import derive_with_alternatives, is_cheaper  # noqa: PLC0415 - as above
        from graphtide_query.families.algebra.planning import choose_plan  # noqa: PLC0415 - as above

        found: dict[int, GraphPlan] = {}
        for number, old in running.items():
            new = choose_plan(old.query, planner_options, unit=context.unit, statistics=context.known)
            then = old.derivation
            if then is not None and is_cheaper(
                old.query, new.physical, then, unit=context.unit, known=context.known, margin=policy.margin
            ):
                found[number] = derive_with_alternatives(new)
        if found:
            yield found

    def is_better(
        self, query: GraphQuery, new: AssignedPlan, running: AssignedPlan, context: PlanningContext, policy: ReplanPolicy, /
    ) -> bool:
        """Return whether it is estimated cheaper by the margin; a plan for another engine follows from the planner options."""
        from graphtide_core.plans.algebra import Derivation  # noqa: PLC0415 - as above

        from graphtide_query.families.algebra.derivation import is_cheaper  # noqa: PLC0415 - as above

        if new == running:
            return False
        if not (isinstance(running, Derivation) and isinstance(new, Derivation)) or new.engine is not running.engine:
            return True
        try:
            return is_cheaper(query, new, running, unit=context.unit, known=context.known, margin=policy.margin)
        except InvalidQueryError:
            # The running plan does not fit this query: another program wrote it.
            return True


ALGEBRA: Final = AlgebraFamily()


def _longest_window(query: GraphQuery) -> Duration:
    """Return the longest window of a query; one of NOW is a tick, and no other is shorter."""
    windows = [each.window for each in query.inputs if each.window.kind is not WindowKind.NOW]
    lengths = {length: window for window in windows for length in (window.slide, window.length) if length is not None}
    first = next(iter(lengths), None)
    for length, window in lengths.items():
        if first is not None and (first.unit is None) != (length.unit is None):
            message = f"{show(query.name)} has windows and slides of time and of ticks, {first} and {length}"
            hint = "give all of them a unit, or none: only the stream defines its ticks"
            raise InvalidPatternError(message, window.location, hint=hint)
    return max(lengths, key=lambda each: each.ticks(TimeUnit.NANOSECOND), default=Duration(1))


def _canonical_input(read: Input) -> str:
    part = replace(read, name="part", window=StreamWindow(StreamName("s"), Duration(1)))
    ends = (Variable("s"), Variable("t"))
    rule = Rule("Answer", ("s", "t"), (Atom(Symbol(part.name), *ends),))
    return ALGEBRA.text(GraphQuery(PatternName("part"), (part,), (rule,), (Output(rule.head, rule.head, rule.columns),)))
