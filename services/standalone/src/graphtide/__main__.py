"""The program `graphtide`."""

# ruff: noqa: E402 - a signal that comes during imports is to end the program, and to show nothing of them
from __future__ import annotations

from graphtide.cli import signals

signals.end_at_once()

import sys

from graphtide_core.errors import GraphtideError

from graphtide.cli.app import app
from graphtide.cli.status import say, status_of


def main() -> None:
    """Run the command line; every foreseen error ends in words and a status, never in a traceback."""
    try:
        app()
    except GraphtideError as error:
        say(str(error))
        sys.exit(status_of(error))
    except KeyboardInterrupt as error:
        sys.exit(signals.status_of_interrupt(error))


if __name__ == "__main__":
    main()
