"""`graphtide-preprocess`: the job over Kafka, until a signal ends it after the batch that runs."""

# ruff: noqa: E402 - imports take their time, and a signal may come meanwhile
from __future__ import annotations

from graphtide_serving.starting import end_at_once

end_at_once()

from graphtide_core.errors import GraphtideError
from graphtide_log.kafka import KafkaLog
from graphtide_serving.process import serve
from graphtide_telemetry.logs import to_standard_error
from graphtide_telemetry.setup import set_up

from graphtide_preprocess.bootstrap import NAME, bootstrap
from graphtide_preprocess.settings import Settings


def main() -> None:
    """Put streams in order.

    Raises:
        SystemExit: the settings are not those of a job.
    """
    to_standard_error()
    settings = Settings()
    set_up(NAME, settings.telemetry)
    try:
        spark, queries = bootstrap(settings)
    except GraphtideError as error:
        message = f"{NAME}: {error}"
        raise SystemExit(message) from error
    log = KafkaLog(settings.kafka.connection(NAME))
    try:
        serve(queries, settings.health, log.ping)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
