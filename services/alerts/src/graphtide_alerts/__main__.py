"""The program `graphtide-alerts`."""

# ruff: noqa: E402 - what is imported may start threads, which are to have no arenas of their own, and takes its time
from __future__ import annotations

from graphtide_native.allocator import stay_small
from graphtide_serving.starting import end_at_once

stay_small()
end_at_once()

from graphtide_serving.service import run_service

from graphtide_alerts.bootstrap import feed
from graphtide_alerts.settings import AlertsSettings


def main() -> None:
    """Deliver until a signal ends it."""
    settings = AlertsSettings()
    run_service("graphtide-alerts", settings, lambda log: [feed(settings, log)])


if __name__ == "__main__":
    main()
