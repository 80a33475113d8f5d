"""`graphtide-ingestion`: the service over Kafka, until it is told to end."""

# ruff: noqa: E402 - what is imported may start threads, which are to have no arenas of their own, and takes its time
from __future__ import annotations

from graphtide_native.allocator import stay_small
from graphtide_runtime.starting import end_at_once

stay_small()
end_at_once()

from graphtide_core.errors import FatalError
from graphtide_runtime.kafka import KafkaLog
from graphtide_runtime.serving.running import run
from graphtide_runtime.telemetry.logs import to_standard_error
from graphtide_runtime.telemetry.setup import set_up

from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings


def main() -> None:
    """Serve; callers need the scope `edges:write`.

    Raises:
        SystemExit: nobody could call.
    """
    to_standard_error()
    settings = Settings()
    set_up("graphtide-ingestion", settings.telemetry)
    log = KafkaLog(settings.kafka.connection("graphtide-ingestion", settings.profile))
    try:
        service = bootstrap(log, settings)
    except FatalError as error:
        message = f"graphtide-ingestion: {error}"
        raise SystemExit(message) from error
    run(service.app, settings.host, settings.port)


if __name__ == "__main__":
    main()
