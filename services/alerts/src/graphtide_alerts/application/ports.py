"""A way to a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from graphtide_core.errors import GraphtideError

if TYPE_CHECKING:
    from graphtide_alerts.domain.alert import Alert


class UndeliveredError(GraphtideError):
    """An attempt failed, and another may succeed; the text has no secret."""


class UndeliverableError(GraphtideError):
    """No attempt will succeed; the text has no secret."""


class Sender(Protocol):
    """Delivers alerts to one target. An alert may come again: it has the same id then."""

    def send(self, alert: Alert) -> None:
        """Deliver an alert; it is kept by the target on return.

        Raises:
            UndeliveredError: this attempt failed.
            UndeliverableError: it will never succeed.
        """
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...
