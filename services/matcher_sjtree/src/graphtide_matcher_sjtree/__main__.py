"""The program `graphtide-matcher-sjtree`."""

from __future__ import annotations

from graphtide_runtime.process import serve

from graphtide_matcher_sjtree.bootstrap import matcher
from graphtide_matcher_sjtree.settings import Settings


def main() -> None:
    """Match until a signal ends it."""
    serve([matcher(Settings())])


if __name__ == "__main__":
    main()
