"""A pytest plugin that leaves no process behind: every process that a test run starts dies with it, however the run ends.

Every process of a run, in any session and under any parent, has a variable in its environment that names the run. A guardian
outside the run waits until the run is over, and kills every process that still has it. The end of a pipe shows the end of the
run, also when the run was killed or timed out. Without a `/proc` to read environments from, nothing is done.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from subprocess import Popen

    import pytest

VARIABLE: Final = "GRAPHTIDE_TEST_RUN"

_PROCESSES: Final = Path("/proc")
_MOST_SECONDS: Final = 20.0
_BETWEEN_LOOKS: Final = 0.1
_GUARDIANS: Final[list[Popen[bytes]]] = []
"""Held, so that the pipe to each stays open until this process ends."""


def pytest_configure(config: pytest.Config) -> None:
    """Name the run, and have it guarded; workers of a run are of it by their environment."""
    if hasattr(config, "workerinput") or not (_PROCESSES / "self" / "environ").exists():
        return
    run = uuid.uuid4().hex
    unnamed = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "-m", "graphtide_testing.orphans", run]
    # Its end of the pipe is closed by nothing but the end of this process: no child inherits it.
    _GUARDIANS.append(
        subprocess.Popen(  # noqa: S603 - made here, of our own parts
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=unnamed, start_new_session=True
        )
    )
    os.environ[VARIABLE] = run


def pytest_unconfigure() -> None:
    """Let the guardian do its work, where the run ends in good order."""
    while _GUARDIANS:
        guardian = _GUARDIANS.pop()
        with suppress(subprocess.TimeoutExpired):
            guardian.communicate(timeout=2 * _MOST_SECONDS)


def of_run(run: str) -> list[int]:
    """Return the ids of the processes of a run that can be seen."""
    named = f"{VARIABLE}={run}".encode()
    found = []
    for folder in _PROCESSES.iterdir():
        if folder.name.isdigit():
            # It may end right now, or belong to another user.
            with suppress(OSError):
                if named in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def kill_all(run: str) -> None:
    """Kill the processes of a run until there is none; those that a dying one has just started, too."""
    end = time.monotonic() + _MOST_SECONDS
    while (left := of_run(run)) and time.monotonic() < end:
        for process in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_BETWEEN_LOOKS)


def main() -> None:
    """Guard the run that the command line names until standard input ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    kill_all(sys.argv[1])


if __name__ == "__main__":
    main()
