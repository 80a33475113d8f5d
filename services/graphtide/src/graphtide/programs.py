"""The programs of the services as an installed wheel has them: each there, whether or not its libraries are."""

from __future__ import annotations

import sys
from importlib import import_module

from graphtide_core.errors import FatalError

from graphtide.extras import needing


def admin_api() -> None:
    """Run `graphtide-admin-api`."""
    _run("graphtide_admin_api", "server")


def backfill() -> None:
    """Run `graphtide-backfill`."""
    _run("graphtide_backfill", "spark")


def ingestion() -> None:
    """Run `graphtide-ingestion`."""
    _run("graphtide_ingestion", "server")


def matcher_algebra() -> None:
    """Run `graphtide-matcher-algebra`."""
    _run("graphtide_matcher_algebra", "server")


def matcher_event_pattern() -> None:
    """Run `graphtide-matcher-event-pattern`."""
    _run("graphtide_matcher_event_pattern", "server")


def matcher_simulation() -> None:
    """Run `graphtide-matcher-simulation`."""
    _run("graphtide_matcher_simulation", "server")


def matcher_sjtree() -> None:
    """Run `graphtide-matcher-sjtree`."""
    _run("graphtide_matcher_sjtree", "server")


def matcher_timing() -> None:
    """Run `graphtide-matcher-timing`."""
    _run("graphtide_matcher_timing", "server")


def planner() -> None:
    """Run `graphtide-planner`."""
    _run("graphtide_planner", "server")


def preprocess() -> None:
    """Run `graphtide-preprocess`."""
    _run("graphtide_preprocess", "spark")


def alerts() -> None:
    """Run `graphtide-alerts`."""
    _run("graphtide_alerts", "server")


def statistics() -> None:
    """Run `graphtide-statistics`."""
    _run("graphtide_statistics", "server")


def _run(package: str, extra: str) -> None:
    program = package.replace("_", "-")
    try:
        with needing(extra, program):
            main = import_module(f"{package}.__main__").main
    except FatalError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(1)
    main()
