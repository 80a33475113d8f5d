"""Writes alerts to a file that rotates, one JSON object a line, each on the disk before it counts as delivered.

A crash may leave half a line at the end, which is cut off. After a crash an alert may come again, and is left out. So the ids
of the newest lines are read when the file is opened.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import msgspec

from graphtide_alerts.application.ports import UndeliveredError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from graphtide_alerts.domain.alert import Alert

REMEMBERED: Final = 10_000
"""Ids of the newest lines: more than a delivery settles between two commits."""


class AlertFile:
    """A `Sender` to a file of a folder, which no other process writes to."""

    def __init__(self, path: Path, *, most_bytes: int = 64 * 1024 * 1024, files: int = 5) -> None:
        """Write to a file; one of `most_bytes` gets the name `{path}.1`, and so on; `files` old ones stay."""
        self._path = path
        self._most_bytes = most_bytes
        self._files = files
        self._file: BinaryIO | None = None
        self._order: deque[str] = deque()
        self._ids: set[str] = set()

    def send(self, alert: Alert) -> None:
        """See `Sender`."""
        try:
            file = self._open()
            if alert.id in self._ids:
                return
            line = msgspec.json.encode(alert.content) + b"\n"
            if file.tell() and file.tell() + len(line) > self._most_bytes:
                file = self._rotate()
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            # What was written of the line is cut off when the file is opened again.
            self.close()
            message = f"the file cannot be written: {error.strerror}"
            raise UndeliveredError(message) from None
        self._remember(alert.id)

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _open(self) -> BinaryIO:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            for path in (self._old(1), self._path):
                self._read(path)
            self._file = file = self._path.open("ab")
            file.truncate(_whole_lines(self._path))
            file.seek(0, os.SEEK_END)
            os.fsync(file.fileno())
        return self._file

    def _rotate(self) -> BinaryIO:
        self.close()
        for number in range(self._files - 1, 0, -1):
            if self._old(number).exists():
                self._old(number).replace(self._old(number + 1))
        self._path.replace(self._old(1))
        return self._open()

    def _old(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        with path.open("rb") as file:
            for line in deque(file, REMEMBERED):
                if not line.endswith(b"\n"):
                    continue
                try:
                    found: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
                except msgspec.DecodeError:
                    continue
                self._remember(str(found.get("id")))

    def _remember(self, id: str) -> None:
        if id not in self._ids:
            self._ids.add(id)
            self._order.append(id)
            if len(self._order) > REMEMBERED:
                self._ids.discard(self._order.popleft())


def _whole_lines(path: Path) -> int:
    """Return the length of a file up to its last line feed."""
    end = 0
    with path.open("rb") as file:
        for line in file:
            end += len(line) if line.endswith(b"\n") else 0
    return end
