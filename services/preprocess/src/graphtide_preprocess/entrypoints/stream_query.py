"""One stream's query as a `Worker`: started again after what may pass, ended between two batches."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError, TransientError
from graphtide_serving.opened import open_worker
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_LOOK_SECONDS: Final = 1
_BETWEEN_LOOKS: Final = 0.1
_STARTING: Final = Lock()
_RAISED: Final = re.compile(r"graphtide_core\.errors\.(\w+): ([^\n]*)")


@dataclass(slots=True)
class StreamQuery:
    """Runs a query.

    Attributes:
        name: what logs call it.
        prepare: makes the query, not yet started.
        stop_file: once there is such a file, the source has nothing more to read.
        end_seconds: how long the batch that runs may take at the end.
    """

    name: str
    prepare: Callable[[], DataStreamWriter]
    stop_file: Path
    end_seconds: float = 60.0
    _query: StreamingQuery | None = None

    def open(self) -> None:
        """Start the query where its checkpoint ends.

        Raises:
            FatalError: it cannot be started: the message says why.
        """
        self.stop_file.unlink(missing_ok=True)
        try:
            # The session has settings of the query that starts.
            with _STARTING:
                self._query = self.prepare().start()
        except (PySparkException, Py4JJavaError) as error:
            raise _meaning(str(error)) from error

    def step(self) -> None:
        """Wait a moment for the query to fail.

        Raises:
            TransientError: it failed by what may pass.
            FatalError: it failed by something else, or ended.
        """
        query = open_worker(self._query, self.name)
        try:
            if not query.awaitTermination(_LOOK_SECONDS):
                return
        except (PySparkException, Py4JJavaError) as error:
            raise _meaning(str(error)) from error
        message = f"{self.name} ended"
        raise FatalError(message)

    def close(self) -> None:
        """Let the running batch finish, and end the query."""
        query = self._query
        if query is None:
            return
        self.stop_file.touch()
        deadline = time.monotonic() + self.end_seconds
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(_BETWEEN_LOOKS)
        query.stop()
        self._query = None


def _meaning(text: str) -> TransientError | FatalError:
    """Return what a failure of Spark means: what our own code raised in a task, or else that the query cannot continue."""
    raised = _RAISED.findall(text)
    if not raised:
        return FatalError(text.partition("\n\n")[0][:2000])
    kind, reason = raised[-1]
    return TransientError(reason) if kind == TransientError.__name__ else FatalError(reason)
