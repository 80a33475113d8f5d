"""The program `graphtide-planner`."""

from __future__ import annotations

from graphtide_runtime.process import serve

from graphtide_planner.bootstrap import planner
from graphtide_planner.settings import PlannerSettings


def main() -> None:
    """Plan until a signal ends it."""
    serve([planner(PlannerSettings())])


if __name__ == "__main__":
    main()
