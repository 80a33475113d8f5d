"""Which patterns move to another shard of their service: all from shards that will be removed, some if loads are uneven.

A move costs both hosts work (`docs/adr/0016-plans-that-move-take-their-edges-along.md`), so it must gain something. Shards
whose loads differ by less than a fifth are even. A pattern moves only if that makes the greatest load less.
Cost: O(patterns) to look.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_planner.domain.known import load_of
from graphtide_planner.domain.passes import HostId

if TYPE_CHECKING:
    from graphtide_wire.control import PlanRecord

    from graphtide_planner.domain.known import Known

_EVEN: Final = 0.8
"""Share of the greatest load that the least one has where loads are even."""

_ENDED: Final = frozenset({"paused", "stopped", "failed"})


@dataclass(frozen=True, slots=True)
class ShardCount:
    """The shards of a service.

    Attributes:
        given: plans are given to the shards below this.
        there: there are hosts for the shards below this, or will be again.
        leaving: plans leave the shards from this on; None is of none.
    """

    given: int
    there: int
    leaving: int | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What holds shards, and what runs on them.

    Attributes:
        waiting: plans of each host that have not ended by its reports: it must stay.
        running: plans that each host should run.
    """

    waiting: Counter[HostId]
    running: Counter[HostId]


class _Unit(NamedTuple):
    """Patterns that one engine matches, and what they cost together."""

    names: tuple[str, ...]
    load: int


def count_held(known: Known) -> Held:
    """Return what holds the shards of all services."""
    waiting: Counter[HostId] = Counter()
    running: Counter[HostId] = Counter()
    for plan in known.plans.values():
        host = HostId(plan.service, plan.shard)
        running[host] += plan.desired == "running"
        waiting[host] += not _is_over(plan, known)
    return Held(waiting, running)


def uneven(known: Known, service: str, shards: int, most: int) -> list[str]:
    """Return up to `most` patterns that leave for another of so many shards, so that their loads become even.

    Those that one engine matches leave together, or stay.
    """
    hosts = [HostId(service, shard) for shard in range(shards)]
    if len(hosts) < 2 or not _is_uneven(loads := [known.load(host) for host in hosts]):
        return []
    movable = _movable(known, service)
    found: list[str] = []
    while _is_uneven(loads):
        high, low = loads.index(max(loads)), loads.index(min(loads))
        gap = loads[high] - loads[low]
        units = [unit for unit in movable[high] if unit.load < gap and len(found) + len(unit.names) <= most]
        if not units:
            break
        chosen = min(units, key=lambda unit: (abs(gap - 2 * unit.load), unit.names))
        movable[high].remove(chosen)
        loads[high] -= chosen.load
        loads[low] += chosen.load
        found += chosen.names
    return found


def runs_where_assigned(plan: PlanRecord, known: Known) -> bool:
    """Whether the host has said that the newest plan runs: it is not asked to move before."""
    plan_status = known.plan_status(plan)
    return (
        plan.desired == "running"
        and plan_status is not None
        and (plan_status.epoch, plan_status.state) == (plan.epoch, "running")
    )


def _is_over(plan: PlanRecord, known: Known) -> bool:
    plan_status = known.plan_status(plan)
    return plan_status is not None and plan_status.epoch == plan.epoch and plan_status.state in _ENDED


def _is_uneven(loads: list[int]) -> bool:
    return min(loads) < _EVEN * max(loads)


def _movable(known: Known, service: str) -> defaultdict[int, list[_Unit]]:
    movable: defaultdict[int, list[_Unit]] = defaultdict(list)
    for plan in known.plans.values():
        if plan.service != service or plan.desired != "running":
            continue
        plans = [known.plans[name] for name in known.shared_units.beside(plan.name)]
        if plans and plans[0] is plan and all(runs_where_assigned(each, known) for each in plans):
            movable[plan.shard].append(_Unit(tuple(each.name for each in plans), max(map(load_of, plans))))
    return movable
