"""`graphtide-ingestion`: the service over Kafka, until it is told to end."""

from __future__ import annotations

import uvicorn
from graphtide_runtime.kafka import KafkaLog

from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings


def main() -> None:
    """Serve."""
    settings = Settings()
    service = bootstrap(KafkaLog(settings.kafka.connection("graphtide-ingestion")), settings)
    uvicorn.run(service.app, host=settings.host, port=settings.port, log_config=None, access_log=False)


if __name__ == "__main__":
    main()
