"""From a registered pattern to a plan on a host."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from graphtide_core.any_pattern import ordered_stream
from graphtide_core.errors import InvalidQueryError
from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.plans import AGGREGATION, Derivation, DerivedPlan, GroupedPlan, Grouping, PathEngine, Plan, assigned
from graphtide_core.statistics import DriftPolicy
from graphtide_core.time import TimeUnit
from graphtide_query.estimates.budget import PlanningBudget
from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.estimates.crowd import Crowd
from graphtide_query.families import AUTO, Wish, refuse_other_family
from graphtide_query.families.algebra.derivation import is_cheaper
from graphtide_query.families.algebra.planning import chosen
from graphtide_query.families.events.grouping import grouped, has_drifted
from graphtide_query.planner import plan
from graphtide_query.reads import reads_of
from graphtide_query.worth import cost, is_worth_it
from graphtide_wire.plan_forms import plan_of
from graphtide_wire.reads_form import form_of

from graphtide_planner.domain.likes import likeness_of
from graphtide_planner.domain.passes import HostId, PassId
from graphtide_planner.domain.texts import pattern_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import Assigned, Candidate
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_wire.control import PatternRecord, PlanRecord

    from graphtide_planner.domain.known import Known
    from graphtide_planner.domain.spreading import Room

TIMING: Final = "matcher_timing"
SJ_TREE: Final = "matcher_sjtree"
SIMULATION: Final = "matcher_simulation"
EVENT_PATTERN: Final = "matcher_event_pattern"
ALGEBRA: Final = "matcher_algebra"
SERVICES: Final = {
    "timing": TIMING,
    "re-search": TIMING,
    "filtering": TIMING,
    "sj-tree": SJ_TREE,
    "ddst-coloring": SIMULATION,
    "ddst-signature": SIMULATION,
    "ddst-baseline": SIMULATION,
    AGGREGATION: EVENT_PATTERN,
    **{engine.value: ALGEBRA for engine in PathEngine},
}
"""The service that runs each engine."""

_WELL: Final = frozenset({"pending", "warming", "running"})
"""What hosts say of a plan that others may have, too."""


@dataclass(frozen=True, slots=True)
class PlanningPolicy:
    """How plans are made.

    Attributes:
        shards: how many shards each matcher service gives plans to; one that is not there, or has none, gets no plans.
        there: how many shards of a service have hosts, where that is more: those lose no plans by themselves.
        leaving: shard of a service from which on plans leave for others.
        unit: what a tick of a stream's time is.
        margin: share of the running plan's estimated cost that another's must stay below to take its place.
        drift: how far a stream must move for running plans to be looked at again.
        budget: how much work the planning of one pattern may do; one that needs more is refused, and the others go on.
    """

    shards: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(SERVICES.values(), 1))
    there: Mapping[str, int] = field(default_factory=dict)
    leaving: Mapping[str, int] = field(default_factory=dict)
    unit: TimeUnit = TimeUnit.MILLISECOND
    margin: float = 0.8
    drift: DriftPolicy = field(default_factory=DriftPolicy)
    budget: PlanningBudget = field(default_factory=PlanningBudget)

    def has(self, host: HostId) -> bool:
        """Whether there is such a host, or will be again."""
        return host.shard < max(self.shards.get(host.service, 0), self.there.get(host.service, 0))

    def leaves(self, host: HostId) -> bool:
        """Whether plans leave a host."""
        first = self.leaving.get(host.service)
        return first is not None and host.shard >= first

    def within(self, rooms: Mapping[str, Room]) -> PlanningPolicy:
        """Return the policy where some services have other shards now."""
        return replace(
            self,
            shards={**self.shards, **{service: room.given for service, room in rooms.items()}},
            there={service: room.there for service, room in rooms.items()},
            leaving={service: room.leaving for service, room in rooms.items() if room.leaving is not None},
        )


def pattern_of(record: PatternRecord) -> AnyPattern:
    """Return the pattern that was registered.

    Raises:
        InvalidQueryError: the text is wrong, or not of the name and the stream it was registered for, or reads something else
            than others take it to read.
    """
    pattern = pattern_in(record.text)
    stream = ordered_stream(pattern)
    if (pattern.name, stream) != (record.name, record.stream):
        message = (
            f"the text is of pattern {pattern.name!r} on {stream!r}, it was registered as {record.name!r} on {record.stream!r}"
        )
        raise InvalidQueryError(message)
    if form_of(reads_of(pattern)) != record.reads:
        message = "the text reads something else than was registered: register it again"
        raise InvalidQueryError(message)
    return pattern


def stream_of(plan: PlanRecord) -> str:
    """Return the stream that a published plan is for."""
    return ordered_stream(pattern_in(plan.pattern.text))


def planned(record: PatternRecord, known: Known, policy: PlanningPolicy) -> Assigned:
    """Plan a pattern on the newest statistics; `considered` begins with the plan itself and its estimated cost.

    Of an event pattern it says how it is to be grouped with those that its host has beside it; of a graph query, how the plan
    follows from it.

    Raises:
        InvalidQueryError: see `pattern_of`; or there is no such engine, nobody runs it, or planning would exceed its budget.
    """
    pattern = pattern_of(record)
    snapshot = known.snapshot(record.stream)
    if isinstance(pattern, EventPattern):
        return _grouped(pattern, record.options.engine, snapshot, policy)
    if isinstance(pattern, GraphQuery):
        return _derived(pattern, record.options.engine, snapshot, policy)
    crowd = crowd_of(pattern, known, policy)
    try:
        found = plan(
            pattern,
            record.options.engine,
            unit=policy.unit,
            statistics=snapshot,
            crowd=crowd,
            budget=policy.budget,
        )
    except ValueError as error:
        raise InvalidQueryError(str(error)) from error
    if record.options.engine != AUTO:
        found = Plan(pattern, found.physical, (_costed(found, snapshot, policy, crowd),))
    able = [each for each in found.considered if policy.shards.get(SERVICES.get(each.physical.name, ""), 0) > 0]
    if not able:
        message = f"no service runs the engine {found.engine!r}"
        raise InvalidQueryError(message)
    rest = tuple(each if each in able else _without_service(each) for each in found.considered if each is not able[0])
    return assigned(pattern, able[0].physical, (able[0], *rest))


def _grouped(pattern: EventPattern, engine: str, snapshot: StatisticsSnapshot, policy: PlanningPolicy) -> GroupedPlan:
    refuse_other_family(pattern, engine)
    _refuse_unserved(EVENT_PATTERN, AGGREGATION, policy)
    return grouped(pattern, Wish(engine), unit=policy.unit, statistics=snapshot)


def _derived(query: GraphQuery, engine: str, snapshot: StatisticsSnapshot, policy: PlanningPolicy) -> DerivedPlan:
    refuse_other_family(query, engine)
    found = chosen(query, Wish(engine), unit=policy.unit, statistics=snapshot, budget=policy.budget)
    _refuse_unserved(ALGEBRA, found.engine, policy)
    return found


def _refuse_unserved(service: str, engine: str, policy: PlanningPolicy) -> None:
    if policy.shards.get(service, 0) == 0:
        message = f"no service runs the engine {engine!r}"
        raise InvalidQueryError(message)


def followed(record: PatternRecord, known: Known, policy: PlanningPolicy) -> PlanRecord | None:
    """Return the running plan that a pattern is to have, too: that of the first like it, of which the same was asked.

    Returns:
        None if there is none before it.

    Raises:
        InvalidQueryError: see `pattern_of`.
    """
    pattern_of(record)
    likeness = likeness_of(record.text, record.limits)
    for name in () if likeness is None else known.likes.names(likeness):
        other, plan = known.patterns.get(name), known.plans[name]
        standing = known.standing(plan)
        is_well = plan.shard < policy.shards.get(plan.service, 0) and (standing is None or standing.state in _WELL)
        if name == record.name or (is_well and other is not None and other.options == record.options):
            return None if name == record.name else plan
    return None


def is_better(new: Assigned, running: PlanRecord, known: Known, policy: PlanningPolicy) -> bool:
    """Whether a plan is so much cheaper than the one that runs, on the stream as it is now, that it shall take its place.

    Of an event pattern whether its events come so much more or less often that its host should group it anew.
    """
    snapshot = known.snapshot(ordered_stream(new.pattern))
    if snapshot.edges < max(1, policy.drift.fewest_edges):
        return False
    physical = plan_of(running.plan)[0]
    if isinstance(new, GroupedPlan):
        return not isinstance(physical, Grouping) or has_drifted(physical, new.physical, policy.drift)
    if isinstance(new, DerivedPlan):
        return not isinstance(physical, Derivation) or _is_cheaper(new, physical, snapshot, policy)
    if isinstance(physical, Grouping | Derivation):
        # It is no plan for this family: somebody else wrote it.
        return True
    try:
        crowd = crowd_of(new.pattern, known, policy)
        return is_worth_it(
            Plan(new.pattern, physical), new, snapshot, new.pattern.extent(policy.unit), policy.margin, crowd=crowd
        )
    except (LookupError, ValueError):
        # It is no plan for this pattern: somebody else wrote it.
        return True


def _is_cheaper(new: DerivedPlan, running: Derivation, snapshot: StatisticsSnapshot, policy: PlanningPolicy) -> bool:
    """Whether the plan of a query is so much cheaper than the one that runs; that of another engine is what was wished."""
    if new.physical == running:
        return False
    if new.physical.engine is not running.engine:
        return True
    try:
        return is_cheaper(new.pattern, new.physical, running, unit=policy.unit, known=snapshot, margin=policy.margin)
    except InvalidQueryError:
        # It is no plan for this query: somebody else wrote it.
        return True


def crowd_of(pattern: SubgraphPattern, known: Known, policy: PlanningPolicy) -> Crowd:
    """Return the company that a pattern has or would have by each engine: where it runs, else at the least loaded shard."""
    running = known.plans.get(pattern.name)
    found = {}
    for engine, service in SERVICES.items():
        if policy.shards.get(service, 0) > 0:
            stays = running is not None and running.desired == "running" and running.service == service
            shard = running.shard if running is not None and stays else least_loaded(service, known, policy)
            at = PassId(pattern.stream, HostId(service, shard))
            found[engine] = known.passes.company(pattern.name, at, engine)
    return Crowd(found)


def least_loaded(service: str, known: Known, policy: PlanningPolicy) -> int:
    """Return the shard of a service whose plans cost least by estimate; of equals the first."""
    return min(range(policy.shards[service]), key=lambda shard: known.load(HostId(service, shard)))


def _costed(found: Plan, snapshot: StatisticsSnapshot, policy: PlanningPolicy, crowd: Crowd) -> Candidate:
    model = CostModel(found.pattern, snapshot, found.pattern.extent(policy.unit))
    return cost(model, found.physical, crowd).candidate(found.physical)


def _without_service(candidate: Candidate) -> Candidate:
    return replace(candidate, reason=f"not taken, as no service runs it; {candidate.reason}")
