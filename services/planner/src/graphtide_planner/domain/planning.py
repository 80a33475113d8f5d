"""From a registered pattern to a plan on a host."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from graphtide_core.any_pattern import ordered_stream
from graphtide_core.errors import InvalidQueryError
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.merged_streams import logical_stream, whole_of
from graphtide_core.statistics import DriftPolicy
from graphtide_core.time import TimeUnit
from graphtide_query.estimates.budget import PlanningBudget
from graphtide_query.estimates.colocation import ColocatedLoad, EngineLoad
from graphtide_query.families import SERVICES, PlannerOptions, family_of, refuse_other_family
from graphtide_query.families.family import PlanningContext, ReplanPolicy
from graphtide_query.reads import reads_of
from graphtide_wire.plans import plan_of
from graphtide_wire.reads_form import form_of

from graphtide_planner.domain.passes import HostId, PassId
from graphtide_planner.domain.shared_units import unit_key_of
from graphtide_planner.domain.texts import pattern_in, stream_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.plans import Assigned, Candidate
    from graphtide_wire.control import PatternRecord, PlanRecord

    from graphtide_planner.domain.known import Known
    from graphtide_planner.domain.spreading import ShardCount

_WELL: Final = frozenset({"pending", "warming", "running"})
"""What hosts say of a plan that others may have, too."""


@dataclass(frozen=True, slots=True)
class PlanningPolicy:
    """How plans are made.

    Attributes:
        shards: how many shards each matcher service gives plans to; one that is not there, or has none, gets no plans.
        there: how many shards of a service have hosts, where that is more: those lose no plans by themselves.
        leaving: patterns leave this shard of a service, and all after it, for others.
        unit: what a tick of a stream's time is.
        margin: share of the running plan's estimated cost that another's must stay below to take its place.
        drift: how far a stream must move for running plans to be looked at again.
        budget: how much work the planning of one pattern may do; one that needs more is refused, and the others continue.
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

    def within(self, shard_counts: Mapping[str, ShardCount]) -> PlanningPolicy:
        """Return the policy where some services have other shards now."""
        return replace(
            self,
            shards={**self.shards, **{service: shard_count.given for service, shard_count in shard_counts.items()}},
            there={service: shard_count.there for service, shard_count in shard_counts.items()},
            leaving={
                service: shard_count.leaving for service, shard_count in shard_counts.items() if shard_count.leaving is not None
            },
        )


def pattern_of(record: PatternRecord) -> AnyPattern:
    """Return the pattern that was registered, under the name of its plan.

    Raises:
        InvalidQueryError: the text is wrong, or not of the name and the stream that it was registered for. Or it reads
            something else than others take it to read.
    """
    pattern = pattern_in(record.text)
    stream, registered = ordered_stream(pattern), (whole_of(record.name), logical_stream(StreamName(record.stream)))
    if (pattern.name, stream) != registered:
        message = (
            f"the text is of pattern {pattern.name!r} on {stream!r}, it was registered as {record.name!r} on {record.stream!r}"
        )
        raise InvalidQueryError(message)
    if form_of(reads_of(pattern)) != record.reads:
        message = "the text reads something else than was registered: register it again"
        raise InvalidQueryError(message)
    return pattern if pattern.name == record.name else replace(pattern, name=PatternName(record.name))


def make_plan(record: PatternRecord, known: Known, policy: PlanningPolicy) -> Assigned:
    """Plan a pattern on the newest statistics; `considered` begins with the plan itself and its estimated cost.

    For an event pattern it says how to group it with those that its host has beside it. For a graph query it says how the plan
    follows from it.

    Raises:
        InvalidQueryError: see `pattern_of`; or there is no such engine, no service runs it, or planning exceeds its budget.
    """
    pattern, engine = pattern_of(record), record.options.engine
    refuse_other_family(pattern, engine)
    found = family_of(pattern).assign(pattern, PlannerOptions(engine), _context(pattern, record.stream, known, policy))
    considered = found.considered
    able = [each for each in considered if _is_served(each.physical.name, policy)]
    if not able:
        message = f"no service runs the engine {found.engine!r}"
        raise InvalidQueryError(message)
    rest = tuple(each if each in able else _without_service(each) for each in considered if each is not able[0])
    if able[0] is considered[0]:
        return replace(found, considered=(able[0], *rest))
    return family_of(pattern).assigned(pattern, able[0].physical, (able[0], *rest))


def _is_served(engine: str, policy: PlanningPolicy) -> bool:
    return policy.shards.get(SERVICES.get(engine, ""), 0) > 0


def find_leader(record: PatternRecord, known: Known, policy: PlanningPolicy) -> PlanRecord | None:
    """Return the running plan that a pattern is to have, too: that of the first equal one with the same options.

    Returns:
        None if there is none before it.

    Raises:
        InvalidQueryError: see `pattern_of`.
    """
    pattern_of(record)
    likeness = unit_key_of(record.text, record.stream, record.limits)
    for name in () if likeness is None else known.shared_units.names(likeness):
        other, plan = known.patterns.get(name), known.plans[name]
        plan_status = known.plan_status(plan)
        is_well = plan.shard < policy.shards.get(plan.service, 0) and (plan_status is None or plan_status.state in _WELL)
        if name == record.name or (is_well and other is not None and other.options == record.options):
            return None if name == record.name else plan
    return None


def is_better(new: Assigned, running: PlanRecord, known: Known, policy: PlanningPolicy) -> bool:
    """Whether a plan is so much cheaper than the running one, on the stream as it is now, that it takes its place.

    For an event pattern: whether its events come so much more or less often that its host should group it anew.
    """
    stream = stream_of(running)
    snapshot = known.snapshot(stream)
    if snapshot.edges < max(1, policy.drift.fewest_edges):
        return False
    physical, context = plan_of(running.plan)[0], _context(new.pattern, stream, known, policy)
    replans = ReplanPolicy(policy.margin, policy.drift)
    return family_of(new.pattern).is_better(new.pattern, new.physical, physical, context, replans)


def _context(pattern: AnyPattern, stream: str, known: Known, policy: PlanningPolicy) -> PlanningContext:
    snapshot = known.snapshot(stream)
    bare = PlanningContext(policy.unit, snapshot, colocated_load_of(pattern, stream, known, policy), policy.budget)
    return replace(bare, evidence=known.counts.evidence(pattern, known.plans.get(pattern.name), bare))


def colocated_load_of(pattern: AnyPattern, stream: str, known: Known, policy: PlanningPolicy) -> ColocatedLoad:
    """Return the co-located load of a pattern by each engine of its family: where it runs, else at the least loaded shard."""
    running = known.plans.get(pattern.name)
    found: dict[str, EngineLoad] = {}
    for engine in family_of(pattern).names:
        service = SERVICES.get(engine, "")
        if policy.shards.get(service, 0) > 0:
            stays = running is not None and running.desired == "running" and running.service == service
            shard = running.shard if running is not None and stays else least_loaded(service, known, policy)
            at = PassId(stream, HostId(service, shard))
            found[engine] = known.passes.engine_load(pattern.name, at, engine)
    return ColocatedLoad(found)


def least_loaded(service: str, known: Known, policy: PlanningPolicy) -> int:
    """Return the shard of a service whose plans cost least by estimate; of equals the first."""
    return min(range(policy.shards[service]), key=lambda shard: known.load(HostId(service, shard)))


def _without_service(candidate: Candidate) -> Candidate:
    return replace(candidate, reason=f"not taken, as no service runs it; {candidate.reason}")
