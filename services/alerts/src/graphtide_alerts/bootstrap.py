"""The one place where alerts are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.outbound_addresses import AllowedAddresses
from graphtide_log.deployment_topics import topics_on
from graphtide_serving.clock import SystemClock
from graphtide_serving.supervisor import Supervisor

from graphtide_alerts.adapters.alert_file import AlertFile
from graphtide_alerts.adapters.misconfigured import Misconfigured
from graphtide_alerts.adapters.webhook import Webhook
from graphtide_alerts.application.delivery import Delivery, Pace
from graphtide_alerts.application.known import Feed, Known

LOOK_SECONDS: Final = 0.5
"""Between two looks at the targets."""

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from graphtide_core.ports.log import Log
    from graphtide_serving.loop import Worker
    from graphtide_wire.targets import TargetRecord

    from graphtide_alerts.application.ports import Sender
    from graphtide_alerts.settings import AlertsSettings


def feed(settings: AlertsSettings, log: Log, pace: Pace | None = None) -> Feed:
    """Return the worker that delivers matches of a log to the targets that it has.

    Raises:
        InvalidQueryError: what is allowed is neither a network nor a host.
    """
    topics, clock = topics_on(log, settings.prefix), SystemClock()
    known = Known(topics)
    make = senders(settings, AllowedAddresses(settings.allowed_addresses))
    paced = pace or Pace(most_attempts=settings.attempts)

    def deliver(target: TargetRecord) -> Delivery:
        return Delivery(log, topics, clock, target=target, known=known, make=make, pace=paced)

    def supervise(wanted: Callable[[], Collection[str]], make: Callable[[str], Worker]) -> Supervisor:
        return Supervisor("deliveries", wanted, make, look_seconds=LOOK_SECONDS)

    return Feed(log, topics, clock, known, deliver=deliver, supervise=supervise)


def senders(settings: AlertsSettings, allowed: AllowedAddresses) -> Callable[[TargetRecord], Sender]:
    """Return what makes the way to a target."""

    def webhook(target: TargetRecord) -> Sender:
        secret = None
        if target.secret is not None:
            if settings.secrets is None:
                return Misconfigured("the target names a secret, and the service has no folder of secrets")
            secret = _reader(settings.secrets / target.secret)
        return Webhook(target.address, allowed, SystemClock(), secret, seconds=settings.request_seconds)

    def file(target: TargetRecord) -> Sender:
        if settings.files is None:
            return Misconfigured("the target is a file, and the service has no folder of files")
        return AlertFile(settings.files / target.address)

    kinds = {"webhook": webhook, "file": file}
    return lambda target: kinds[target.kind](target)


def _reader(path: Path) -> Callable[[], bytes]:
    return lambda: path.read_bytes().strip()
