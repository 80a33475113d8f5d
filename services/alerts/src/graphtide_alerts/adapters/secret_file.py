"""Secrets of targets, each the content of a file that a target names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_alerts.application.ports import UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Callable


def read_secret(secret: Callable[[], bytes]) -> bytes:
    """Return a secret.

    Raises:
        UndeliveredError: its file cannot be read; an operator can mend that.
    """
    try:
        return secret()
    except OSError as error:
        message = f"the file of the secret cannot be read: {error.strerror}"
        raise UndeliveredError(message) from None
