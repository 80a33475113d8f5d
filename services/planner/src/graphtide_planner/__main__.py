"""The program `graphtide-planner`."""

# ruff: noqa: E402 - what is imported may start threads, which are to have no arenas of their own, and takes its time
from __future__ import annotations

from graphtide_native.allocator import stay_small
from graphtide_serving.starting import end_at_once

stay_small()
end_at_once()

from graphtide_serving.service import run_service

from graphtide_planner.bootstrap import workers
from graphtide_planner.settings import PlannerSettings


def main() -> None:
    """Plan until a signal ends it."""
    settings = PlannerSettings()
    run_service("graphtide-planner", settings, lambda log: workers(settings, log))


if __name__ == "__main__":
    main()
