"""What an operator says of the counter, by variables of the environment: `GRAPHTIDE_STATISTICS_KAFKA__BOOTSTRAP` and so on."""

from __future__ import annotations

from graphtide_runtime.kafka.settings import KafkaSettings
from graphtide_wire.topics import DEFAULT_PREFIX
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class StatisticsSettings(BaseSettings):
    """Settings of the counter.

    Attributes:
        kafka: where the log is.
        prefix: what names of topics begin with.
        longest_window_seconds: bound on the window of a stream, in its own time.
        publish_seconds: time between two snapshots of a stream.
    """

    model_config = SettingsConfigDict(env_prefix="GRAPHTIDE_STATISTICS_", env_nested_delimiter="__")

    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    prefix: str = DEFAULT_PREFIX
    longest_window_seconds: int = Field(default=600, gt=0)
    publish_seconds: float = Field(default=5.0, ge=0)
