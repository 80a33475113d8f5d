"""A way to a target that the service has no means for: an operator can mend that, so attempts go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_alerts.application.ports import UndeliveredError

if TYPE_CHECKING:
    from graphtide_alerts.domain.alert import Alert


class Misconfigured:
    """A `Sender` that delivers nothing."""

    def __init__(self, reason: str) -> None:
        """Say why."""
        self._reason = reason

    def send(self, _alert: Alert) -> None:
        """See `Sender`.

        Raises:
            UndeliveredError: always.
        """
        raise UndeliveredError(self._reason)

    def close(self) -> None:
        """Do nothing."""
