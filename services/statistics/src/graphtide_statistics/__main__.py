"""The program `graphtide-statistics`."""

from __future__ import annotations

from graphtide_runtime.process import serve

from graphtide_statistics.bootstrap import counter
from graphtide_statistics.settings import StatisticsSettings


def main() -> None:
    """Count until a signal ends it."""
    serve([counter(StatisticsSettings())])


if __name__ == "__main__":
    main()
