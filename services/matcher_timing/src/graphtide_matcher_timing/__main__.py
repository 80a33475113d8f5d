"""The program `graphtide-matcher-timing`."""

from __future__ import annotations

from graphtide_runtime.service import run_service

from graphtide_matcher_timing.bootstrap import SERVICE, matcher
from graphtide_matcher_timing.settings import Settings


def main() -> None:
    """Match until a signal ends it."""
    settings = Settings()
    run_service(f"graphtide-{SERVICE}-{settings.shard}", settings, lambda log: matcher(settings, log), settings.profile)


if __name__ == "__main__":
    main()
