"""`python -m graphtide_testing.servers up|down|status|prepare`: Kafka and Redis for development.

Their data is in a temporary folder that `down` deletes; the repository's cache has its path.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from graphtide_testing.servers import KafkaServer, RedisServer, ServerError
from graphtide_testing.servers.class_archive import kafka_classes
from graphtide_testing.servers.kafka import run_once
from graphtide_testing.servers.tools import CACHE, prepare

_WHERE = CACHE / "servers"


def main() -> int:
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m graphtide_testing.servers", description="Kafka and Redis for development.")
    parser.add_argument("verb", choices=sorted(_VERBS), help="up: start them; down: stop them and delete their data")
    try:
        _VERBS[parser.parse_args().verb]()
    except ServerError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def up() -> None:
    """Start what does not run, and say where it is."""
    CACHE.mkdir(exist_ok=True)
    folder = _folder()
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="graphtide-servers-"))
        _WHERE.write_text(str(folder))
    for server in (KafkaServer(folder), RedisServer(folder)):
        if not server.is_running():
            server.start()
    status()


def down() -> None:
    """Stop what runs, and delete the data."""
    folder = _folder()
    if folder is not None:
        KafkaServer(folder).stop()
        RedisServer(folder).stop()
        shutil.rmtree(folder)
    _WHERE.unlink(missing_ok=True)
    status()


def status() -> None:
    """Say what runs and where."""
    folder = _folder()
    kafka = redis = "down"
    if folder is not None and KafkaServer(folder).is_running():
        kafka = KafkaServer(folder).bootstrap
    if folder is not None and RedisServer(folder).is_running():
        redis = RedisServer(folder).url
    sys.stdout.write(f"kafka {kafka}\nredis {redis}\n")


def _folder() -> Path | None:
    """Return the folder of the servers; None if they have none."""
    if not _WHERE.exists():
        return None
    folder = Path(_WHERE.read_text())
    return folder if folder.is_dir() else None


def get_ready() -> None:
    """Find or make everything, so that servers start in seconds."""
    prepare()
    kafka_classes(run_once)


_VERBS = {"up": up, "down": down, "status": status, "prepare": get_ready}

if __name__ == "__main__":
    sys.exit(main())
