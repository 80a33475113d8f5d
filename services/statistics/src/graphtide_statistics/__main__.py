"""The program `graphtide-statistics`."""

# ruff: noqa: E402 - what is imported may start threads, which are to have no arenas of their own, and takes its time
from __future__ import annotations

from graphtide_native.allocator import stay_small
from graphtide_serving.starting import end_at_once

stay_small()
end_at_once()

from graphtide_serving.service import run_service

from graphtide_statistics.bootstrap import counter, match_counter
from graphtide_statistics.settings import StatisticsSettings


def main() -> None:
    """Count until a signal ends it."""
    settings = StatisticsSettings()
    run_service("graphtide-statistics", settings, lambda log: [counter(settings, log), match_counter(settings, log)])


if __name__ == "__main__":
    main()
