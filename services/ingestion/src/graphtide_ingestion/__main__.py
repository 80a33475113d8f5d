"""`graphtide-ingestion`: the service over Kafka, until it is told to end."""

from __future__ import annotations

import uvicorn
from graphtide_runtime.kafka import KafkaConnection, KafkaLog

from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings


def main() -> None:
    """Serve."""
    settings = Settings()
    log = KafkaLog(KafkaConnection(settings.bootstrap, client_id="graphtide-ingestion"))
    service = bootstrap(log, settings)
    uvicorn.run(service.app, host=settings.host, port=settings.port, log_config=None, access_log=False)


if __name__ == "__main__":
    main()
