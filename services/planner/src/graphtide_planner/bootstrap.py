"""The one place where the planner is put together."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError
from graphtide_core.installing import line_for
from graphtide_log.deployment_topics import topics_on
from graphtide_serving.clock import SystemClock

from graphtide_planner.application.planner import Planner
from graphtide_planner.application.replica_exchange import ReplicaExchange
from graphtide_planner.application.scaler import Neighbours, Scaler, ScalingPlan
from graphtide_planner.domain.planning import PlanningPolicy
from graphtide_planner.domain.scaling import Aims, Bounds

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log
    from graphtide_serving.loop import Worker

    from graphtide_planner.settings import PlannerSettings, ScalingSettings

_NAMESPACE: Final = "namespace"
"""File beside the token of a service account that says where its pod is."""


def workers(settings: PlannerSettings, log: Log) -> list[Worker]:
    """Return the planner on a log, and beside it the scaler where one is wanted.

    Raises:
        FatalError: a scaler is wanted, and what it needs is not there.
    """
    scaling = settings.scaling
    if scaling.mode == "off":
        return [planner(settings, log)]
    bounds = {service: Bounds(each.least, each.most) for service, each in scaling.services.items()}
    plan = ScalingPlan(scaling.mode, bounds, _aims(scaling), scaling.every_seconds)
    replica_exchange = ReplicaExchange(plan.shard_counts())
    return [planner(settings, log, replica_exchange), scaler(settings, log, replica_exchange, plan)]


def planner(settings: PlannerSettings, log: Log, replica_exchange: ReplicaExchange | None = None) -> Planner:
    """Return the planner on a log."""
    policy = PlanningPolicy(settings.shards, unit=settings.time_unit, margin=settings.margin)
    return Planner(log, topics_on(log, settings.prefix), SystemClock(), policy, replica_exchange=replica_exchange)


def scaler(settings: PlannerSettings, log: Log, replica_exchange: ReplicaExchange, plan: ScalingPlan) -> Scaler:
    """Return the scaler on a log and the Kubernetes API.

    Raises:
        FatalError: the client is not installed, or our namespace is not known.
    """
    try:
        from graphtide_planner.adapters.api import Api, ApiAddress  # noqa: PLC0415 - its client takes memory, and is an extra
        from graphtide_planner.adapters.lease import Lease  # noqa: PLC0415 - the same
        from graphtide_planner.adapters.stateful_sets import StatefulSets  # noqa: PLC0415 - the same
    except ImportError as error:
        message = f"scaling needs the client of Kubernetes: {line_for('kubernetes')}"
        raise FatalError(message) from error
    scaling_settings, clock = settings.scaling, SystemClock()
    namespace = scaling_settings.namespace or _namespace(scaling_settings)
    api = Api(ApiAddress(scaling_settings.server, scaling_settings.token, scaling_settings.authorities))
    names = {service: each.stateful_set for service, each in scaling_settings.services.items()}
    lease = Lease(api, namespace, scaling_settings.lease, identity=scaling_settings.identity or platform.node(), clock=clock)
    return Scaler(
        log,
        topics_on(log, settings.prefix),
        clock,
        Neighbours(StatefulSets(api, namespace, names), lease, replica_exchange),
        plan,
    )


def _aims(scaling_settings: ScalingSettings) -> Aims:
    return Aims(
        busy=scaling_settings.busy,
        busy_after=scaling_settings.busy_after,
        lag_seconds=scaling_settings.lag_seconds,
        lag_records=scaling_settings.lag_records,
        memory_bytes=scaling_settings.memory_bytes,
        out_after_seconds=scaling_settings.out_after_seconds,
        in_after_seconds=scaling_settings.in_after_seconds,
        rest_seconds=scaling_settings.rest_seconds,
        load_seconds=max(60.0, 4 * scaling_settings.every_seconds),
        drain_seconds=scaling_settings.drain_seconds,
        step_out=scaling_settings.step_out,
        step_in=scaling_settings.step_in,
    )


def _namespace(scaling_settings: ScalingSettings) -> str:
    path = scaling_settings.token.with_name(_NAMESPACE)
    try:
        return path.read_text("ascii").strip()
    except OSError as error:
        message = f"the namespace of the StatefulSets is not known: say SCALING__NAMESPACE ({path}: {error.strerror})"
        raise FatalError(message) from error
