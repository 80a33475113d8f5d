"""What an operator says of the service, by variables of the environment: `GRAPHTIDE_MATCHER_SIMULATION_SHARD` and so on."""

from __future__ import annotations

from graphtide_matcher_host.settings import MatcherSettings
from graphtide_serving.health_server import HealthSettings
from pydantic_settings import SettingsConfigDict


class Settings(MatcherSettings):
    """Settings of one shard."""

    model_config = SettingsConfigDict(
        env_prefix="GRAPHTIDE_MATCHER_SIMULATION_", env_nested_delimiter="__", nested_model_default_partial_update=True
    )

    health: HealthSettings = HealthSettings(port=8087)
