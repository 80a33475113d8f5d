"""The Spark session of the job, with what the job relies on set."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Mapping

RELIED_ON: Final = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # One key a stream: more partitions would be empty, and their number stays in the checkpoint.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # Processes keep copies of the state, readers and writers.
    "spark.python.worker.reuse": "true",
    # Rows are large.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.sql.adaptive.enabled": "false",
}
"""Settings without which the job is wrong or slow."""


def session(master: str | None, more: Mapping[str, str]) -> SparkSession:
    """Return the session; `master` None takes that of `spark-submit`."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("graphtide-preprocess")
    if master is not None:
        builder = builder.master(master)
    for name, value in {**RELIED_ON, **more}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
