"""What Java says while Spark works, which is no message of ours: it goes to a log."""

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
    """A file that has what Java says."""

    def __init__(self) -> None:
        """Make it."""
        handle, name = tempfile.mkstemp(prefix="graphtide-spark-", suffix=".log")
        self.path = Path(name)
        self._handle = handle

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Let processes that are started meanwhile write here in place of this process's outputs, as long as they live."""
        _flush()
        saved = [os.dup(output) for output in _OUTPUTS]
        for output in _OUTPUTS:
            os.dup2(self._handle, output)
        try:
            yield
        finally:
            _flush()
            for output, before in zip(_OUTPUTS, saved, strict=True):
                os.dup2(before, output)
                os.close(before)

    def close(self) -> None:
        """Write no more."""
        os.close(self._handle)

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


@contextmanager
def java_log() -> Iterator[JavaLog]:
    """Give a log that is removed at the end, unless Spark's failure was the end; then a message names it."""
    log = JavaLog()
    is_wanted = False
    try:
        yield log
    except FatalError as error:
        # Errors of a kind of their own are none of Spark's.
        is_wanted = type(error) is FatalError and log.path.stat().st_size > 0
        if is_wanted:
            say(f"what Java said is in {log.path}")
        raise
    finally:
        log.close()
        if not is_wanted:
            log.remove()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
