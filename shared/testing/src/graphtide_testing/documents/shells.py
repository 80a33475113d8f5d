"""Blocks of a shell, run as a reader would in a folder.

Each block is a shell of its own, which ends at the first command that fails. What it left running ends with it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_testing.orphans import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PREAMBLE: Final = "set -eo pipefail\ntrap 'left=$(jobs -p); test -z \"$left\" || kill $left; wait' EXIT\n"
_WIDTH: Final = "120"
"""Columns of the terminal that outputs in documents are of."""


class Ran(NamedTuple):
    """How a block ended.

    Attributes:
        status: its exit status.
        output: what it wrote on standard output.
        errors: what it wrote on standard error.
        environment: what it exported.
    """

    status: int
    output: str
    errors: str
    environment: Mapping[str, str]


class Shell:
    """A shell in a folder whose programs are those of some folders, in their order, and the system's."""

    def __init__(self, folder: Path, programs: list[Path], **environment: str) -> None:
        """Know where to run; nothing runs yet."""
        self._folder = folder
        self._scratch = folder.parent / f"{folder.name}.shell"
        self._scratch.mkdir()
        own = {name: os.environ[name] for name in (VARIABLE, "JAVA_HOME") if name in os.environ}
        path = ":".join([*map(str, programs), "/usr/local/bin:/usr/bin:/bin"])
        self._environment = {"PATH": path, "HOME": str(self._scratch), "COLUMNS": _WIDTH, **own, **environment}

    def run(self, text: str, *, seconds: float = 300.0) -> Ran:
        """Run a block.

        Raises:
            AssertionError: it does not end.
        """
        exported = self._scratch / "exported"
        exported.unlink(missing_ok=True)
        output, errors = self._scratch / "output", self._scratch / "errors"
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(  # noqa: S603 - the project's own text
                ["/bin/bash", "-c", f"{_PREAMBLE}{text}\nenv -0 >{exported}\n"],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired as error:
                message = f"this does not end:\n{text}\nIt said:\n{output.read_text()}{errors.read_text()}"
                raise AssertionError(message) from error
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        lines = exported.read_text().split("\0") if exported.exists() else []
        environment = dict(line.split("=", 1) for line in lines if line)
        return Ran(status, output.read_text("utf-8"), errors.read_text("utf-8"), environment)

    def transcript(self, text: str) -> str:
        """Return a `console` block with the output of its commands, at any exit status."""
        written = []
        for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
            ran = self.run(f"({command}) 2>&1 || true")
            written.append(f"$ {command}\n{ran.output}")
        return "".join(written)
