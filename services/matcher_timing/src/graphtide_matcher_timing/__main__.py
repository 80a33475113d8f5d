"""The program `graphtide-matcher-timing`."""

from __future__ import annotations

from graphtide_runtime.process import serve

from graphtide_matcher_timing.bootstrap import matcher
from graphtide_matcher_timing.settings import Settings


def main() -> None:
    """Match until a signal ends it."""
    serve([matcher(Settings())])


if __name__ == "__main__":
    main()
