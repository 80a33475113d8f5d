"""The program `graphtide`."""

from __future__ import annotations

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


if __name__ == "__main__":
    main()
