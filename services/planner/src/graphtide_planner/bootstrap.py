"""The one place where the planner is put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_runtime.clock import SystemClock
from graphtide_runtime.kafka import KafkaLog
from graphtide_wire.topics import Topics

from graphtide_planner.application.planner import Planner
from graphtide_planner.domain.planning import PlanningPolicy

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log

    from graphtide_planner.settings import PlannerSettings


def planner(settings: PlannerSettings, log: Log | None = None) -> Planner:
    """Return the planner, on the log that the settings name unless another is given."""
    policy = PlanningPolicy(settings.shards, settings.time_unit, settings.margin)
    return Planner(
        log or KafkaLog(settings.kafka.connection("graphtide-planner")), Topics(settings.prefix), SystemClock(), policy
    )
