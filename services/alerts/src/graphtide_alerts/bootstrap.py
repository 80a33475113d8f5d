"""The one place where alerts are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.outbound_addresses import AllowedAddresses
from graphtide_log.deployment_topics import topics_on
from graphtide_serving.clock import SystemClock
from graphtide_serving.supervisor import Supervisor

from graphtide_alerts.adapters.alert_file import AlertFile
from graphtide_alerts.adapters.chat import Chat, to_slack, to_teams
from graphtide_alerts.adapters.elasticsearch import SearchIndex
from graphtide_alerts.adapters.mail import Mail
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

    from graphtide_alerts.adapters.chat import Shape
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

    def secret_of(target: TargetRecord) -> Callable[[], bytes] | None:
        if target.secret is None or settings.secrets is None:
            return None
        return _reader(settings.secrets / target.secret)

    def webhook(target: TargetRecord) -> Sender:
        return Webhook(target.address, allowed, SystemClock(), secret_of(target), seconds=settings.request_seconds)

    def chat(shape: Shape) -> Callable[[TargetRecord], Sender]:
        return lambda target: Chat(target.address, shape, allowed, secret_of(target), seconds=settings.request_seconds)

    def mail(target: TargetRecord) -> Sender:
        return Mail(target.address, allowed, SystemClock(), secret_of(target), seconds=settings.request_seconds)

    def index(target: TargetRecord) -> Sender:
        return SearchIndex(target.address, allowed, secret_of(target), seconds=settings.request_seconds)

    def file(target: TargetRecord) -> Sender:
        if settings.files is None:
            return Misconfigured("the target is a file, and the service has no folder of files")
        return AlertFile(settings.files / target.address)

    kinds = {
        "webhook": webhook,
        "slack": chat(to_slack),
        "teams": chat(to_teams),
        "email": mail,
        "elasticsearch": index,
        "file": file,
    }

    def make(target: TargetRecord) -> Sender:
        if target.secret is not None and settings.secrets is None:
            return Misconfigured("the target names a secret, and the service has no folder of secrets")
        return kinds[target.kind](target)

    return make


def _reader(path: Path) -> Callable[[], bytes]:
    return lambda: path.read_bytes().strip()
