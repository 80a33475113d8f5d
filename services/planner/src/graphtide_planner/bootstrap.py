"""The one place where the planner is put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_runtime.clock import SystemClock
from graphtide_wire.topics import Topics

from graphtide_planner.application.planner import Planner
from graphtide_planner.domain.planning import PlanningPolicy

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log

    from graphtide_planner.settings import PlannerSettings


def planner(settings: PlannerSettings, log: Log) -> Planner:
    """Return the planner on a log."""
    policy = PlanningPolicy(settings.shards, settings.time_unit, settings.margin)
    return Planner(log, Topics(settings.prefix), SystemClock(), policy)
