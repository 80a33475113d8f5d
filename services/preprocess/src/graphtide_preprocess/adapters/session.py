"""The Spark session of the job, with what the job relies on set."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Mapping

_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

RELIED_ON: Final = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # Processes keep copies of the state, readers and writers.
    "spark.python.worker.reuse": "true",
    # A task that runs again gives the same rows; hashing them all to see that costs as much as copying them.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    # Rows are large.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.sql.adaptive.enabled": "false",
    # Edges do not pass through Java unless tasks read apart: compiling its code well and collecting garbage in the background
    # cost more processor time than all it does.
    "spark.driver.extraJavaOptions": _JAVA,
    "spark.executor.extraJavaOptions": _JAVA,
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
