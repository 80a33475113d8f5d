"""The program `graphtide-ingestion`: serves over Kafka until it is asked to end, or makes topics."""

# ruff: noqa: E402 - what is imported may start threads, which are to have no arenas of their own, and takes its time
from __future__ import annotations

from graphtide_native.allocator import stay_small
from graphtide_serving.starting import end_at_once

stay_small()
end_at_once()

import sys

from graphtide_core.errors import GraphtideError, InvalidQueryError
from graphtide_log.kafka import KafkaLog
from graphtide_serving.running import run
from graphtide_telemetry.logs import to_standard_error
from graphtide_telemetry.setup import set_up

from graphtide_ingestion.bootstrap import bootstrap, make_topics
from graphtide_ingestion.settings import Settings


def main() -> None:
    """Serve; callers need the scope `edges:write`.

    As `make-topics`, make the topics of the deployment and of the streams that are set, and end.
    """
    match sys.argv[1:]:
        case ["make-topics"]:
            _make_topics()
        case []:
            _serve()
        case _:
            sys.stderr.write("graphtide-ingestion: without arguments it serves; make-topics makes topics\n")
            sys.exit(2)


def _make_topics() -> None:
    """Make them; status 1 if the log does not answer: the caller tries again."""
    settings = Settings()
    log = KafkaLog(settings.kafka.connection("graphtide-make-topics"))
    try:
        streams = make_topics(log, settings)
    except GraphtideError as error:
        sys.stderr.write(f"graphtide-ingestion: {error}\n")
        sys.exit(2 if isinstance(error, InvalidQueryError) else 1)
    sys.stdout.write(f"topics of {settings.prefix} are there, and those of {len(streams)} streams\n")


def _serve() -> None:
    to_standard_error()
    settings = Settings()
    set_up("graphtide-ingestion", settings.telemetry)
    log = KafkaLog(settings.kafka.connection("graphtide-ingestion", settings.profile))
    try:
        service = bootstrap(log, settings)
    except GraphtideError as error:
        message = f"graphtide-ingestion: {error}"
        raise SystemExit(message) from error
    run(service.app, settings.host, settings.port)


if __name__ == "__main__":
    main()
