"""What an operator says of backfills, by variables of the environment: `GRAPHTIDE_BACKFILL_MASTER` and so on."""

from __future__ import annotations

from pathlib import Path

from graphtide_serving.health_server import HealthSettings
from graphtide_serving.service import ServiceSettings
from pydantic import Field
from pydantic_settings import SettingsConfigDict


class BackfillSettings(ServiceSettings):
    """Settings of the service.

    Attributes:
        master: Spark master: `local[2]`, `spark://…`, `k8s://…`.
        executor_memory: memory of an executor: its JVM and its Python processes.
        spark: further Spark settings.
        folder: folder for finished slices of running backfills; it must outlive the service, and all executors must reach it
            by this path.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHTIDE_BACKFILL_", env_nested_delimiter="__", nested_model_default_partial_update=True
    )

    health: HealthSettings = HealthSettings(port=8086)
    master: str = "local[*]"
    executor_memory: str = "2g"
    spark: dict[str, str] = Field(default_factory=dict)
    folder: Path = Path("graphtide-backfills")
