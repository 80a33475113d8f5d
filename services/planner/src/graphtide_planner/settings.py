"""What an operator says of the planner, by variables of the environment: `GRAPHTIDE_PLANNER_KAFKA__BOOTSTRAP` and so on."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, Self

from graphtide_core.time import TimeUnit
from graphtide_query.families import SERVICES
from graphtide_serving.health_server import HealthSettings
from graphtide_serving.service import ServiceSettings
from pydantic import BaseModel, Field, model_validator
from pydantic_settings import SettingsConfigDict

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ScaledService(BaseModel):
    """One matcher service that is scaled.

    Attributes:
        stateful_set: name of its StatefulSet, whose replicas are its shards.
        least: replicas that there shall be at least.
        most: replicas that there may be at most.
    """

    stateful_set: str = Field(min_length=1, max_length=253)
    least: int = Field(default=1, ge=1)
    most: int = Field(default=4, ge=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.least > self.most:
            message = f"from {self.least} to {self.most} replicas: say least <= most"
            raise ValueError(message)
        return self


class ScalingSettings(BaseModel):
    """Scaling of matcher services on Kubernetes.

    Attributes:
        mode: `off` takes the number of shards from `shards`; `follow` leaves the number of replicas to others, such as KEDA,
            and gives patterns to those that there are; `dry-run` decides, and lets the API check what would be asked for; `on`
            asks for it.
        services: the services that are scaled, by name, as a JSON object.
        busy: a host that is busy for this share of its time has too much to do.
        busy_after: share that hosts may be busy where there are fewer of them.
        lag_seconds: a host that reads records of this age is behind.
        lag_records: a host that has not read so many ordered records is behind.
        memory_bytes: a replica with so much memory has too much: some way below its limit.
        out_after_seconds: how long a host has too much before there are more.
        in_after_seconds: how long fewer would do before there are fewer.
        rest_seconds: how long nothing is decided after a change.
        drain_seconds: how long patterns may take to leave shards that are to go.
        step_out: replicas that are added at once at most.
        step_in: replicas that are taken away at once at most.
        every_seconds: time between two decisions.
        server: URL of the Kubernetes API.
        token: file of the service account's token.
        authorities: file of the certificates that the API's is signed by.
        namespace: of the StatefulSets and the lease; empty is that of the pod.
        lease: name of the lease that one planner at once holds.
        identity: name of this process in the lease; empty is that of the pod.
    """

    mode: Literal["off", "follow", "dry-run", "on"] = "off"
    services: dict[str, ScaledService] = Field(default_factory=dict)
    busy: float = Field(default=0.7, gt=0, lt=1)
    busy_after: float = Field(default=0.5, gt=0, lt=1)
    lag_seconds: float = Field(default=30.0, gt=0)
    lag_records: int = Field(default=1_000, ge=1)
    memory_bytes: int = Field(default=2 * 1024**3, ge=1)
    out_after_seconds: float = Field(default=60.0, ge=0)
    in_after_seconds: float = Field(default=600.0, ge=0)
    rest_seconds: float = Field(default=180.0, ge=0)
    drain_seconds: float = Field(default=900.0, gt=0)
    step_out: int = Field(default=2, ge=1)
    step_in: int = Field(default=1, ge=1)
    every_seconds: float = Field(default=15.0, gt=0, le=300)
    server: str = "https://kubernetes.default.svc"
    token: Path = _ACCOUNT / "token"
    authorities: Path = _ACCOUNT / "ca.crt"
    namespace: str = ""
    lease: str = Field(default="graphtide-planner", min_length=1, max_length=253)
    identity: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.mode != "off" and not self.services:
            message = (
                'no service to scale: say SCALING__SERVICES={"matcher_timing": {"stateful_set": "…", "least": 1, "most": 4}}'
            )
            raise ValueError(message)
        unknown = sorted(set(self.services) - set(SERVICES.values()))
        if unknown:
            message = f"there is no matcher service {unknown[0]!r}; there are {', '.join(sorted(set(SERVICES.values())))}"
            raise ValueError(message)
        if self.busy_after >= self.busy:
            message = f"busy_after {self.busy_after} is not below busy {self.busy}: fewer replicas would at once be too few"
            raise ValueError(message)
        return self


class PlannerSettings(ServiceSettings):
    """Settings of the planner.

    Attributes:
        shards: shards of each matcher service that is not scaled, as a JSON object.
        time_unit: what a tick of streams' times is: s, ms, us or ns.
        margin: share of the running plan's estimated cost that another's must stay below to take its place.
        scaling: of matcher services on Kubernetes.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHTIDE_PLANNER_", env_nested_delimiter="__", nested_model_default_partial_update=True
    )

    health: HealthSettings = HealthSettings(port=8082)
    shards: dict[str, int] = Field(default_factory=lambda: dict.fromkeys(SERVICES.values(), 1))
    time_unit: TimeUnit = TimeUnit.MILLISECOND
    margin: float = Field(default=0.8, gt=0, le=1)
    scaling: ScalingSettings = Field(default_factory=ScalingSettings)
