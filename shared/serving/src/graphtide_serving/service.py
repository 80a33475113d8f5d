"""Run a service without HTTP of its own on Kafka, and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_log.deployment_topics import topics_on
from graphtide_log.kafka import KafkaLog
from graphtide_log.kafka.settings import KafkaSettings
from graphtide_log.profile import Profile
from graphtide_telemetry.logs import to_standard_error
from graphtide_telemetry.settings import TelemetrySettings
from graphtide_telemetry.setup import set_up
from graphtide_wire.topics import DEFAULT_PREFIX
from pydantic import Field
from pydantic_settings import BaseSettings

from graphtide_serving.clock import SystemClock
from graphtide_serving.health_server import HealthSettings
from graphtide_serving.process import serve
from graphtide_serving.replicas import Replicas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.ports.log import Log

    from graphtide_serving.loop import Worker


class ServiceSettings(BaseSettings):
    """Settings of every service without its own HTTP API.

    Attributes:
        kafka: connection to Kafka.
        prefix: prefix of the names of topics, groups and keys.
        health: health endpoint.
        telemetry: traces and metrics.
    """

    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    prefix: str = DEFAULT_PREFIX
    health: HealthSettings = Field(default_factory=HealthSettings)
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)


class ReplicatedSettings(ServiceSettings):
    """Settings of a service that may run in several processes.

    Attributes:
        replicated: several processes of the service run; one works, and another takes over if that is lost.
    """

    replicated: bool = False


def run_service(
    name: str, settings: ServiceSettings, workers: Callable[[Log], Sequence[Worker]], profile: Profile = Profile.THROUGHPUT
) -> None:
    """Run the workers of a service until a signal ends it; `name` is its name in Kafka and traces.

    Raises:
        SystemExit: the port of health cannot be opened.
    """
    to_standard_error()
    set_up(name, settings.telemetry)
    log = KafkaLog(settings.kafka.connection(name, profile))
    replicas = None
    if isinstance(settings, ReplicatedSettings) and settings.replicated:
        replicas = Replicas(log, topics_on(log, settings.prefix), name, SystemClock())
    serve(workers(log), settings.health, log.ping, replicas)
