"""Settings of alerts, read from environment variables: `GRAPHTIDE_ALERTS_KAFKA__BOOTSTRAP` and so on."""

from __future__ import annotations

from pathlib import Path

from graphtide_serving.health_server import HealthSettings
from graphtide_serving.service import ReplicatedSettings
from pydantic import Field
from pydantic_settings import SettingsConfigDict


class AlertsSettings(ReplicatedSettings):
    """Settings of the service that delivers alerts.

    Attributes:
        allowed_addresses: networks and hosts that are not public and that targets may name, as JSON: `["10.0.0.0/8"]`.
        secrets: folder of the files with secrets of targets; without it no target may name one.
        files: folder of the files of targets of the kind `file`; without it none is written.
        attempts: attempts for an alert before it is a dead letter.
        request_seconds: seconds that an attempt may take.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHTIDE_ALERTS_", env_nested_delimiter="__", nested_model_default_partial_update=True
    )

    health: HealthSettings = HealthSettings(port=8089)
    allowed_addresses: tuple[str, ...] = ()
    secrets: Path | None = None
    files: Path | None = None
    attempts: int = Field(default=12, ge=1, le=1_000)
    request_seconds: float = Field(default=10.0, gt=0, le=60)
