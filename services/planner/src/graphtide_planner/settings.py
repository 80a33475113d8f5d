"""What an operator says of the planner, by variables of the environment: `GRAPHTIDE_PLANNER_KAFKA__BOOTSTRAP` and so on."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, Self

from graphtide_core.time import TimeUnit
from graphtide_query.families import SERVICES
from graphtide_serving.health_server import HealthSettings
from graphtide_serving.service import ReplicatedSettings
from pydantic import BaseModel, Field, model_validator
from pydantic_settings import SettingsConfigDict

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ScaledService(BaseModel):
    """One matcher service that is scaled.

    Attributes:
        stateful_set: name of its StatefulSet, whose replicas are its shards.
        least: replicas that there must be at least.
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
        mode: `off` takes the number of shards from `shards`. `follow` leaves the number of replicas to others, such as KEDA,
            and gives patterns to those that there are. `dry-run` decides, and lets the API check the request; `on` sends it.
        services: bounds of each scaled service, by name.
        busy: share of its time for which a host may be busy before it is overloaded.
        busy_after: share of their time for which hosts may be busy after a replica is removed.
        lag_seconds: age of the records being read at which a host is behind.
        lag_records: unread ordered records at which a host is behind.
        memory_bytes: memory at which a replica is overloaded; set it below the container's limit.
        out_after_seconds: seconds of overload before replicas are added.
        in_after_seconds: seconds for which fewer replicas must suffice before some are removed.
        rest_seconds: seconds without a decision after each change.
        drain_seconds: seconds in which patterns must leave the shards to be removed.
        step_out: most replicas to add at once.
        step_in: most replicas to remove at once.
        every_seconds: seconds between two decisions.
        server: URL of the Kubernetes API.
        token: file with the service account's token.
        authorities: PEM file of the API server's certificate authority.
        namespace: namespace of the StatefulSets and the lease; empty is the pod's.
        lease: name of the lease that the active planner holds.
        identity: name of this process in the lease; empty is the pod's.
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


class PlannerSettings(ReplicatedSettings):
    """Settings of the planner.

    Attributes:
        shards: number of shards of each matcher service that is not scaled.
        time_unit: time unit of ticks: s, ms, us or ns.
        margin: a new plan replaces the running one if its estimated cost is below this share of the running plan's.
        scaling: scaling of matcher services on Kubernetes.
    """

    model_config = SettingsConfigDict(
        env_prefix="GRAPHTIDE_PLANNER_", env_nested_delimiter="__", nested_model_default_partial_update=True
    )

    health: HealthSettings = HealthSettings(port=8082)
    shards: dict[str, int] = Field(default_factory=lambda: dict.fromkeys(SERVICES.values(), 1))
    time_unit: TimeUnit = TimeUnit.MILLISECOND
    margin: float = Field(default=0.8, gt=0, le=1)
    scaling: ScalingSettings = Field(default_factory=ScalingSettings)
