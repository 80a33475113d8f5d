"""A server's process: started on its own, waited for, ended by its id.

A process id can be given to another process once ours has ended. So before a process is ended it is looked at: its command must
name the server's folder.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

START_SECONDS = 180.0
"""How long a server may take until it answers."""

STOP_SECONDS = 20.0
"""How long a server may take to end by itself."""

_BETWEEN_LOOKS = 0.05


class ServerError(Exception):
    """A server cannot be started, or what it needs is missing."""


_GIVEN: Final[set[int]] = set()
"""Ports that this process was given: who asked may not use them yet."""

_PORTS: Final = range(15_000, 30_000)


def free_ports(count: int) -> list[int]:
    """Return different ports of the loopback interface that no process uses now, and that were not returned before.

    They are below those that systems give to outgoing connections. A client that tries to reach a crashed server must not be
    given the server's port, which would keep the server from coming back.
    """
    found: list[int] = []
    if len(_GIVEN) > len(_PORTS) // 2:
        _GIVEN.clear()
    with contextlib.ExitStack() as held:
        while len(found) < count:
            port = secrets.choice(_PORTS)
            listener = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                if port not in _GIVEN:
                    listener.bind(("127.0.0.1", port))
                    found.append(port)
                    _GIVEN.add(port)
    return found


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has taken: seconds of processor time since its start, bytes of memory now."""

    cpu_seconds: float
    resident_bytes: int


class Process:
    """One server's process. Its id is kept in the folder, so that another Python process can end it, too."""

    def __init__(self, name: str, folder: Path) -> None:
        """Look after the process `name` of the folder."""
        self._name = name
        self._folder = folder
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def output(self) -> Path:
        """Where what it prints goes."""
        return self._folder / f"{self._name}.log"

    def start(self, command: Sequence[str], is_ready: Callable[[], bool], environment: Mapping[str, str] | None = None) -> None:
        """Start it, with `environment` beside this process's own, and return when `is_ready` says so.

        Raises:
            ServerError: it ended, or is not ready in time; the message holds the end of its output.
        """
        if self.is_running():
            message = f"{self._name} runs already in {self._folder}"
            raise ServerError(message)
        with self.output.open("ab") as output:
            self._child = subprocess.Popen(  # noqa: S603 - the command is made here, of our own parts
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._folder,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )
        self._pid_file.write_text(str(self._child.pid))
        deadline = time.monotonic() + START_SECONDS
        while not is_ready():
            if self._child.poll() is not None or time.monotonic() > deadline:
                self.kill()
                message = f"{self._name} did not start; the end of {self.output}:\n{self._last_output()}"
                raise ServerError(message)
            time.sleep(_BETWEEN_LOOKS)

    def is_running(self) -> bool:
        """Return whether the process is there, and is ours."""
        if self._child is not None:
            return self._child.poll() is None
        pid = self._pid()
        if pid is None:
            return False
        shown = subprocess.run(  # noqa: S603 - a fixed command with a number
            ["ps", "-ww", "-o", "stat=,args=", "-p", str(pid)],  # noqa: S607 - every system has its own place for it
            capture_output=True,
            text=True,
            check=False,
        )
        return str(self._folder) in shown.stdout and not shown.stdout.startswith("Z")

    def usage(self) -> Usage:
        """Return what it takes; on Linux only.

        Raises:
            ServerError: it does not run.
        """
        pid = self._pid() if self.is_running() else None
        if pid is None:
            message = f"{self._name} does not run"
            raise ServerError(message)
        # The name, in brackets, may hold spaces; what counts follows it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return Usage(ticks / os.sysconf("SC_CLK_TCK"), int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))

    def kill(self) -> None:
        """End it at once, as a crash does; do nothing if it does not run."""
        self._signal(signal.SIGKILL)
        self._wait(STOP_SECONDS)

    def stop(self) -> None:
        """Ask it to end, and wait; end it at once if it takes too long."""
        self._signal(signal.SIGTERM)
        if not self._wait(STOP_SECONDS):
            self.kill()

    @property
    def _pid_file(self) -> Path:
        return self._folder / f"{self._name}.pid"

    def _pid(self) -> int | None:
        try:
            return int(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return None

    def _signal(self, number: signal.Signals) -> None:
        pid = self._pid()
        if pid is not None and self.is_running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _wait(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.is_running():
            if time.monotonic() > deadline:
                return False
            time.sleep(_BETWEEN_LOOKS)
        return True

    def _last_output(self) -> str:
        return "\n".join(self.output.read_text("utf-8", "replace").splitlines()[-20:])
