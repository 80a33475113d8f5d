"""What an operator says of the counter, by variables of the environment: `GRAPHTIDE_STATISTICS_KAFKA__BOOTSTRAP` and so on."""

from __future__ import annotations

from graphtide_serving.health_server import HealthSettings
from graphtide_serving.service import ReplicatedSettings
from pydantic import Field
from pydantic_settings import SettingsConfigDict


class StatisticsSettings(ReplicatedSettings):
    """Settings of the counter.

    Attributes:
        longest_window_seconds: longest window that is counted, in the stream's time.
        publish_seconds: seconds between two snapshots of a stream.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHTIDE_STATISTICS_", env_nested_delimiter="__", nested_model_default_partial_update=True
    )

    health: HealthSettings = HealthSettings(port=8083)
    longest_window_seconds: int = Field(default=600, gt=0)
    publish_seconds: float = Field(default=5.0, ge=0)
