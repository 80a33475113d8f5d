"""Parts of graphtide that need libraries beyond those of every installation, and the line that installs them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from graphtide_core.errors import FatalError
from graphtide_core.installing import line_for

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Import what an extra brings.

    Args:
        extra: its name.
        what: what needs it, as the message begins.

    Raises:
        FatalError: a library is not installed, or too old; the message has the line that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{what} needs {error.name}, which is not installed: {line_for(extra)}"
        raise FatalError(message) from error
    except ImportError as error:
        message = f"{what} cannot be loaded ({error}): {line_for(extra, upgrade=True)}"
        raise FatalError(message) from error
