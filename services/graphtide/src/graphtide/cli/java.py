"""What Java writes while Spark works: it goes to a log, as it is not a message of graphtide."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError

from graphtide.cli.status import say

if TYPE_CHECKING:
    from collections.abc import Iterator

_OUTPUTS: Final = (1, 2)


class JavaLog:
    """A file without a name that has what Java says: however this process ends, nothing of it is left."""

    def __init__(self) -> None:
        """Make it."""
        self._file = tempfile.TemporaryFile(prefix="graphtide-spark-")  # noqa: SIM115 - `close` is below

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Let processes that are started meanwhile write here in place of this process's outputs, as long as they live."""
        _flush()
        saved = [os.dup(output) for output in _OUTPUTS]
        for output in _OUTPUTS:
            os.dup2(self._file.fileno(), output)
        try:
            yield
        finally:
            _flush()
            for output, before in zip(_OUTPUTS, saved, strict=True):
                os.dup2(before, output)
                os.close(before)

    def kept(self) -> Path | None:
        """Return a copy that stays; None if Java said nothing."""
        self._file.seek(0)
        said = self._file.read()
        if not said:
            return None
        handle, name = tempfile.mkstemp(prefix="graphtide-spark-", suffix=".log")
        with os.fdopen(handle, "wb") as file:
            file.write(said)
        return Path(name)

    def close(self) -> None:
        """Forget it."""
        self._file.close()


@contextmanager
def java_log() -> Iterator[JavaLog]:
    """Give a log that is gone at the end, unless Spark's failure was the end: then it is kept, and a message says where."""
    log = JavaLog()
    try:
        yield log
    except FatalError as error:
        # Errors of other types are not Spark's.
        if type(error) is FatalError and (kept := log.kept()) is not None:
            say(f"what Java said is in {kept}")
        raise
    finally:
        log.close()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
