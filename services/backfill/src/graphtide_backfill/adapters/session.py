"""The Spark session of a backfill, with what the job relies on set."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Mapping

RELIED_ON: Final = {
    # Rows are blocks of up to some megabytes.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8",
    # A partition is a slice: it must not be joined with others.
    "spark.sql.adaptive.enabled": "false",
    "spark.python.worker.reuse": "true",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings without which the job is wrong or slow."""


def session(master: str, executor_bytes: int, more: Mapping[str, str]) -> SparkSession:
    """Return a session on a cluster; half of an executor's memory is the JVM's, the other half is for matching."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    heap = f"{max(512, executor_bytes // 2 // (1024 * 1024))}m"
    settings = {
        **RELIED_ON,
        "spark.executor.memory": heap,
        "spark.executor.memoryOverhead": heap,
        # On `local` masters the driver is the executor.
        "spark.driver.memory": heap,
        **more,
    }
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings.setdefault("spark.ui.enabled", "false")
    builder = SparkSession.builder.appName("graphtide-backfill").master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
