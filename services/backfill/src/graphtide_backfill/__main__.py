"""The program `graphtide-backfill`: does the backfills that users ask for over HTTP."""

# ruff: noqa: E402 - what is imported may start threads, which are to have no arenas of their own, and takes its time
from __future__ import annotations

from graphtide_native.allocator import stay_small
from graphtide_serving.starting import end_at_once

stay_small()
end_at_once()

import sys

from graphtide_serving.service import run_service

from graphtide_backfill.bootstrap import operations
from graphtide_backfill.settings import BackfillSettings


def main() -> None:
    """Serve until a signal ends it; a backfill that runs then continues at the next start."""
    if sys.argv[1:] not in ([], ["serve"]):
        sys.stderr.write("graphtide-backfill: it serves; for one backfill see graphtide backfill --help\n")
        sys.exit(2)
    settings = BackfillSettings()
    run_service("graphtide-backfill", settings, lambda log: [operations(settings, log)])


if __name__ == "__main__":
    main()
