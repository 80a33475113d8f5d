"""One server for all workers of a test run: the first that needs it starts it, the last that leaves ends it.

Workers are processes, so a lock and a count in the server's folder show the first and the last. A worker that is killed
never leaves; then the server ends with the run (`graphtide_testing.orphans`).
"""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Server(Protocol):
    """What can be started by one process and ended by another."""

    def start(self) -> None:
        """Start it; return when it answers."""

    def is_running(self) -> bool:
        """Return whether its process is there, started by any run."""

    def kill(self) -> None:
        """End it at once."""


_STARTED: Final[list[Server]] = []
"""Held, since Python warns of a process that still runs when its object goes."""


@contextmanager
def share(server: Server, folder: Path) -> Iterator[None]:
    """Have the server run during the block, and as long as the block of another process needs it.

    Args:
        server: whose state lies in the folder.
        folder: the same for all who share it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _lock(folder):
        if not server.is_running():
            server.start()
            _STARTED.append(server)
        _count(folder, 1)
    try:
        yield
    finally:
        with _lock(folder):
            if _count(folder, -1) == 0:
                server.kill()


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _count(folder: Path, change: int) -> int:
    """Change how many use the server, and return it."""
    file = folder / "users"
    users = int(file.read_text()) + change if file.exists() else change
    file.write_text(str(users))
    return users
