"""The program `graphtide-matcher-timing`."""

# ruff: noqa: E402 - what is imported may start threads, which are to have no arenas of their own, and takes its time
from __future__ import annotations

from graphtide_native.allocator import stay_small
from graphtide_serving.starting import end_at_once

stay_small()
end_at_once()

from graphtide_serving.service import run_service

from graphtide_matcher_timing.bootstrap import SERVICE, matcher
from graphtide_matcher_timing.settings import Settings


def main() -> None:
    """Match until a signal ends it."""
    settings = Settings()
    run_service(f"graphtide-{SERVICE}-{settings.shard}", settings, lambda log: [matcher(settings, log)], settings.profile)


if __name__ == "__main__":
    main()
