"""`graphtide-ingestion`: the service over Kafka, until it is told to end."""

from __future__ import annotations

import uvicorn
from graphtide_core.errors import FatalError
from graphtide_runtime.access.guard import Guard
from graphtide_runtime.kafka import KafkaLog
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
    try:
        guard = Guard(settings.authentication())
    except FatalError as error:
        message = f"graphtide-ingestion: {error}"
        raise SystemExit(message) from error
    log = KafkaLog(settings.kafka.connection("graphtide-ingestion", settings.profile))
    service = bootstrap(log, settings, authorize=guard.requires)
    uvicorn.run(service.app, host=settings.host, port=settings.port, log_config=None, access_log=False)


if __name__ == "__main__":
    main()
