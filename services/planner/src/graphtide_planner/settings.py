"""What an operator says of the planner, by variables of the environment: `GRAPHTIDE_PLANNER_KAFKA__BOOTSTRAP` and so on."""

from __future__ import annotations

from graphtide_core.time import TimeUnit
from graphtide_runtime.health_server import HealthSettings
from graphtide_runtime.service import ServiceSettings
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from graphtide_planner.domain.planning import SIMULATION, SJ_TREE, TIMING


class PlannerSettings(ServiceSettings):
    """Settings of the planner.

    Attributes:
        shards: shards of each matcher service, as a JSON object.
        time_unit: what a tick of streams' times is: s, ms, us or ns.
        margin: share of the running plan's estimated cost that another's must stay below to take its place.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHTIDE_PLANNER_", env_nested_delimiter="__", nested_model_default_partial_update=True
    )

    health: HealthSettings = HealthSettings(port=8082)
    shards: dict[str, int] = Field(default_factory=lambda: {TIMING: 1, SJ_TREE: 1, SIMULATION: 1})
    time_unit: TimeUnit = TimeUnit.MILLISECOND
    margin: float = Field(default=0.8, gt=0, le=1)
