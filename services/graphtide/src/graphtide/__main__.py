"""The program `graphtide`."""

# ruff: noqa: E402 - a signal that comes during imports is to end the program, and to show nothing of them
from __future__ import annotations

from graphtide.cli import signals

signals.end_at_once()

import gc
import os
import sys

_OBJECTS_BETWEEN_COLLECTIONS = (100_000, 50, 100)
"""New objects before the garbage collector looks for circles: a tenth of loading was looking at modules again and again."""


_WITHOUT_NUMPY = frozenset({"match"})
"""Verbs that use nothing of numpy, which pyarrow loads where it is installed: half of the time that loading pyarrow takes."""


def main() -> None:
    """Run the command line; every foreseen error ends in words and a status, never in a traceback."""
    if sys.argv[1:] == ["--version"]:
        # Without the commands, whose library takes longer to load than all else here.
        from graphtide import __version__  # noqa: PLC0415 - it looks for the package's metadata

        sys.stdout.write(f"graphtide {__version__}\n")
        sys.exit()
    if next((each for each in sys.argv[1:] if not each.startswith("-")), None) in _WITHOUT_NUMPY:
        # As if it were not installed, which pyarrow allows.
        sys.modules["numpy"] = None  # type: ignore[assignment]  # what the import system takes for that
    # pyarrow takes memory as the engines do, which keep their pages: its own allocator gives pages back between batches.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    gc.set_threshold(*_OBJECTS_BETWEEN_COLLECTIONS)
    # A signal that comes during imports ends the program, and shows nothing of them.
    from graphtide_core.errors import GraphtideError  # noqa: PLC0415 - as above

    from graphtide.cli.app import app  # noqa: PLC0415
    from graphtide.cli.status import say, status_of  # noqa: PLC0415

    try:
        app()
    except GraphtideError as error:
        say(str(error))
        sys.exit(status_of(error))
    except KeyboardInterrupt as error:
        sys.exit(signals.status_of_interrupt(error))
    finally:
        if sys.modules.get("numpy", ...) is None:
            del sys.modules["numpy"]
        # The interpreter, which ends now, would look through all modules for circles: a quarter of what a short command takes.
        gc.freeze()


if __name__ == "__main__":
    main()
