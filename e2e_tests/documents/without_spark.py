"""The program `graphtide` with one difference: what it would do on Spark it does in its own process."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from graphtide.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_backfill.application.ports import Cluster
    from graphtide_backfill.entrypoints.request import SparkRequest

if "backfill" in sys.argv[1:2]:
    from graphtide_backfill import bootstrap
    from graphtide_backfill.adapters.one_process import OneProcess
    from graphtide_backfill.domain.sizing import Machine

    @contextmanager
    def one_process(request: SparkRequest) -> Iterator[Cluster]:
        """Give a cluster of this process alone."""
        yield OneProcess(Machine(2, 2 << 30))

    bootstrap.spark_cluster = one_process

sys.argv[0] = "graphtide"
main()
