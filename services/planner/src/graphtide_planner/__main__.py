"""The program `graphtide-planner`."""

# ruff: noqa: E402 - what is imported may start threads, which are to have no arenas of their own
from __future__ import annotations

from graphtide_runtime.allocator import stay_small

stay_small()

from graphtide_runtime.service import run_service

from graphtide_planner.bootstrap import planner
from graphtide_planner.settings import PlannerSettings


def main() -> None:
    """Plan until a signal ends it."""
    settings = PlannerSettings()
    run_service("graphtide-planner", settings, lambda log: planner(settings, log))


if __name__ == "__main__":
    main()
