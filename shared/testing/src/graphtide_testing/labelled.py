"""A family for tests: an edge with a label. It shows all that a family brings, in one file.

`PATTERN paid LABELLED pays ON payments WINDOW 10m` matches each edge that has the label, loops too, when it comes; it may be
retracted while its edge is in the window. There is one engine, one kind of plan and one layout of results. The native matcher
runs a pattern of one edge for it. Its numbers are made up: each edge costs a nanosecond.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from graphtide_core.annotations import NO_ANNOTATIONS, Annotations
from graphtide_core.durations import refuse_shorter_than_a_tick
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.pattern import Morphism, QueryEdge, QueryVertex, SubgraphPattern
from graphtide_core.plans import AssignedPlan, Candidate, Plan, SearchPlan
from graphtide_core.predicate import RECORD_FIELDS
from graphtide_core.reads import Lookback, Reads
from graphtide_query.explanation import Explanation, Seen
from graphtide_query.families.engine import foreign_plan
from graphtide_query.language import ast  # noqa: TC002 - beside what else is of the language
from graphtide_query.language.clauses import bind_time
from graphtide_query.language.dialect import Dialect
from graphtide_query.language.spelling import write_name
from graphtide_query.language.tokens import name_of
from graphtide_query.layout import Layout
from graphtide_query.locality import Locality
from graphtide_query.nodes import Node
from lark import Token, Transformer, v_args

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.errors import Location
    from graphtide_core.part_key import PartKey
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import Duration, TimeUnit
    from graphtide_query.explanation import UnitFunnel
    from graphtide_query.families.family import Family, PlanningContext, ReplanPolicy
    from graphtide_query.families.planner_options import PlannerOptions

ENGINE: Final = "label-scan"


@dataclass(frozen=True, slots=True)
class LabelPattern:
    """An edge with a label; `window` is how long a match may be retracted."""

    name: PatternName
    label: str
    stream: StreamName
    window: Duration
    version: int = 1
    annotations: Annotations = NO_ANNOTATIONS
    family: ClassVar[str] = "labelled"
    attributes: ClassVar[tuple[str, ...]] = ()
    is_view: ClassVar[bool] = False
    reports_changes: ClassVar[bool] = False
    consumes: ClassVar[bool] = False

    @property
    def streams(self) -> tuple[StreamName, ...]:
        """The one stream that it reads."""
        return (self.stream,)

    def durations(self) -> Iterator[tuple[str, Duration, Location | None]]:
        """Yield the window."""
        yield "WINDOW", self.window, None

    def extent(self, unit: TimeUnit) -> int:
        """Return the window in ticks."""
        return self.lookback(unit)

    def lookback(self, unit: TimeUnit) -> int:
        """Return the window in ticks."""
        return self.window.ticks_at_least(unit)


@dataclass(frozen=True, slots=True)
class LabelScan(AssignedPlan):
    """Each edge is looked at as it comes; `share` estimates how many of them have the label."""

    share: float = 1.0
    engines: ClassVar[tuple[str, ...]] = (ENGINE,)


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """A pattern and how it is matched: what is sent, what a host keeps and what runs are the same."""

    pattern: LabelPattern
    physical: LabelScan
    considered: tuple[Candidate, ...] = ()
    native: Plan = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make what the native matcher runs."""
        one = SubgraphPattern(
            self.pattern.name,
            (QueryVertex("source"), QueryVertex("target")),
            (QueryEdge("edge", "source", "target", self.pattern.label),),
            self.pattern.window,
            self.pattern.stream,
            morphism=Morphism.EDGE_ISOMORPHISM,
            version=self.pattern.version,
        )
        object.__setattr__(self, "native", Plan(one, SearchPlan(((0,),))))

    @property
    def engine(self) -> str:
        """Name of the engine."""
        return self.physical.name


@v_args(inline=True)
class LabelRules(Transformer[Any, Any]):
    """The one rule of the dialect; those of ON and WINDOW are the grammar's."""

    def labelled(self, name: Token, label: Token, stream: ast.On, window: ast.Window) -> tuple[ast.Name, LabelPattern]:
        """`PATTERN name LABELLED label ON stream WINDOW time`."""
        named, wanted = name_of(name), name_of(label)
        length = bind_time(window.amount, window.unit, "a window")
        return named, LabelPattern(PatternName(named.text), wanted.text, StreamName(stream.stream.text), length)


DIALECT: Final = Dialect(
    grammar="""
%extend pattern: labelled
labelled: _PATTERN NAME _LABELLED NAME on window
_LABELLED.2: /labelled\\b/i
""",
    rules=LabelRules,
    keywords=("_LABELLED",),
)


@dataclass(frozen=True, slots=True)
class LabelFamily:
    """The `Family` of edges with a label."""

    name: str = "labelled"
    title: str = "labelled edges"
    kind: str = "labelled edge"
    names: tuple[str, ...] = (ENGINE,)
    record_fields: frozenset[str] = RECORD_FIELDS
    reads_by_name: bool = False
    is_united: bool = False
    begins_anew: bool = False
    dialect: Dialect = DIALECT

    @property
    def variants(self) -> Mapping[str, tuple[str, ...]]:
        """The engine; its plans have no variants."""
        return {ENGINE: ()}

    @property
    def services(self) -> Mapping[str, str]:
        """The service that runs it."""
        return {ENGINE: "matcher_timing"}

    def text(self, pattern: LabelPattern, /) -> str:
        """Return its one clause after the other."""
        name, label, stream = map(write_name, (pattern.name, pattern.label, pattern.stream))
        return f"PATTERN {name}\nLABELLED {label}\nON {stream} WINDOW {pattern.window}\n"

    def reads(self, pattern: LabelPattern, /) -> Reads:
        """Return the edges of its label."""
        return Reads(pattern.streams, Lookback(pattern.window), (pattern.label,), ())

    def lookback(self, pattern: LabelPattern, unit: TimeUnit, /) -> int:
        """Return its window."""
        return pattern.lookback(unit)

    def locality(self, _pattern: LabelPattern, key: PartKey, /) -> Locality:
        """Return that an edge is in one part; by a vertex key that of its source reports it."""
        return Locality(key, owners=("source",) if key.is_vertex else ())

    def owner(self, _pattern: LabelPattern, _locality: Locality, match: Mapping[str, Any], /) -> str:
        """Return the source of the edge."""
        return str(match["vertices"]["source"])

    def canonical(self, _pattern: LabelPattern, /) -> None:
        """Return None: each is matched by itself."""

    def canonical_parts(self, pattern: LabelPattern, /) -> frozenset[str]:
        """Return its label and its window."""
        return frozenset({f"{pattern.label} {pattern.window}"})

    def edge_labels(self, pattern: LabelPattern, /) -> tuple[str, ...]:
        """Return its label."""
        return (pattern.label,)

    def vertex_labels(self, _pattern: LabelPattern, /) -> tuple[None, ...]:
        """Return that any vertex will do."""
        return (None, None)

    def conditions(self, _pattern: LabelPattern, _stream: str | None, /) -> tuple[()]:
        """Return none."""
        return ()

    def readable(self, _pattern: LabelPattern, /) -> frozenset[str]:
        """Return its one edge."""
        return frozenset({"edge"})

    def fields(self, _pattern: LabelPattern, /) -> tuple[()]:
        """Return none."""
        return ()

    def layout(self, _pattern: LabelPattern, /) -> Layout:
        """Return the edge and its ends."""
        return Layout(edges={"edge": False}, vertices={"source": False, "target": False})

    def results_stay(self, _pattern: LabelPattern, /) -> None:
        """Return None: matches are not results."""

    def event_names(self, _pattern: LabelPattern, /) -> tuple[()]:
        """Return none."""
        return ()

    def window(self, pattern: LabelPattern, /) -> Duration:
        """Return its window."""
        return pattern.window

    def follows_from_reports(self, _pattern: LabelPattern, /) -> bool:
        """Return False: each match is for itself."""
        return False

    def burst(self, _pattern: LabelPattern, _known: tuple[StatisticsSnapshot, TimeUnit] | None, /) -> None:
        """Return None: an edge completes one match at most."""

    def plan(
        self, patterns: Sequence[LabelPattern], planner_options: PlannerOptions, context: PlanningContext, /
    ) -> tuple[LabelPlan, ...]:
        """Plan each by itself."""
        return tuple(self.assign(pattern, planner_options, context) for pattern in patterns)

    def assign(self, pattern: LabelPattern, planner_options: PlannerOptions, context: PlanningContext, /) -> LabelPlan:
        """Return its one plan."""
        refuse_shorter_than_a_tick(pattern, context.unit)
        planner_options.variant_among(ENGINE, ())
        edges = context.known.edges
        own = sum(count for kind, count in context.known.types.items() if kind.label == pattern.label)
        physical = LabelScan(own / edges if edges else 1.0)
        return LabelPlan(pattern, physical, (Candidate(physical, 1.0, 0.0),))

    def assigned(self, pattern: LabelPattern, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> LabelPlan:
        """Return a pattern with its plan."""
        if not isinstance(physical, LabelScan):
            raise foreign_plan(pattern, physical)
        return LabelPlan(pattern, physical, considered)

    def hosted(self, pattern: LabelPattern, physical: AssignedPlan, considered: tuple[Candidate, ...] = (), /) -> LabelPlan:
        """Return the plan as it is."""
        return self.assigned(pattern, physical, considered)

    def unit_key(self, _plan: LabelPlan, /) -> None:
        """Return None: each is matched by itself."""

    def united(self, plans: Sequence[LabelPlan], _unit: TimeUnit, /) -> tuple[LabelPlan, ...]:
        """Return the plans as they are."""
        return tuple(plans)

    def counts(self, _pattern: LabelPattern, /) -> tuple[str, ...]:
        """Return how many there were."""
        return ("matches",)

    def explain(
        self, plans: Sequence[LabelPlan], seen: Sequence[Seen | None], _unit: TimeUnit, _unit_funnel: UnitFunnel, /
    ) -> tuple[Explanation, ...]:
        """Return the one step of each."""
        return tuple(
            Explanation(
                plan.pattern.name,
                plan.engine,
                {"share": f"{plan.physical.share:.0%}"},
                (Node("scan", f"edges labelled {plan.pattern.label}"),),
                (each or Seen()).counts,
                considered=plan.considered,
            )
            for plan, each in zip(plans, seen, strict=True)
        )

    def explain_assigned(
        self,
        pattern: LabelPattern,
        physical: AssignedPlan,
        considered: tuple[Candidate, ...],
        seen: Seen,
        unit: TimeUnit,
        /,
    ) -> Explanation:
        """Return its one step."""
        return self.explain((self.assigned(pattern, physical, considered),), (seen,), unit, lambda _: None)[0]

    def counted(
        self, _pattern: LabelPattern, _physical: AssignedPlan, _alive: Mapping[str, int], _context: PlanningContext, /
    ) -> tuple[()]:
        """Return nothing: it stores nothing."""
        return ()

    def regrouped(self, _members: Sequence[tuple[LabelPlan, LabelPlan]], _unit: TimeUnit, /) -> None:
        """Return None: each is matched by itself."""

    def without(self, plans: Sequence[LabelPlan], place: int, /) -> tuple[LabelPlan, ...]:
        """Return the others as they are."""
        return (*plans[:place], *plans[place + 1 :])

    def improved(
        self,
        _running: Mapping[int, LabelPlan],
        _planner_options: PlannerOptions,
        _context: PlanningContext,
        _policy: ReplanPolicy,
        /,
    ) -> Iterator[Mapping[int, LabelPlan]]:
        """Yield nothing: there is one plan."""
        return iter(())

    def is_better(
        self,
        _pattern: LabelPattern,
        _new: AssignedPlan,
        _running: AssignedPlan,
        _context: PlanningContext,
        _policy: ReplanPolicy,
        /,
    ) -> bool:
        """Return False: there is one plan."""
        return False


LABELLED: Final = LabelFamily()

if TYPE_CHECKING:
    _PATTERN: Final[type[AnyPattern]] = LabelPattern
    _FAMILY: Final[Family[LabelPattern, LabelPlan, LabelPlan]] = LABELLED
