"""`graphtide-preprocess`: the job over Kafka, until a signal ends it after the batch that runs."""

from __future__ import annotations

from graphtide_runtime.process import serve

from graphtide_preprocess.bootstrap import bootstrap
from graphtide_preprocess.settings import Settings


def main() -> None:
    """Put streams in order."""
    spark, queries = bootstrap(Settings())
    try:
        serve(queries)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
