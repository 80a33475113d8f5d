"""Long work that users ask for: written down here, done by another service, which says in the same topic how far it is.

Every answer is read from the topic anew: it is small, asked for seldom, and so what was written is seen at once.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Message
from graphtide_log.follower import Follower
from graphtide_wire import operations
from graphtide_wire.operations import OperationRecord, OperationStatus
from msgspec.structs import replace

from graphtide_admin_api.domain.problems import ProblemError

if TYPE_CHECKING:
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log
    from graphtide_wire.control import PatternRecord
    from graphtide_wire.topics import Topics

_FLUSH_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Operation:
    """A requested operation, and its status; None until a service begins it."""

    asked: OperationRecord
    status: OperationStatus | None

    @property
    def state(self) -> str:
        """`queued`, `running`, `cancelling`, `done`, `failed` or `cancelled`."""
        said = self.status.state if self.status is not None else "queued"
        return "cancelling" if self.asked.desired == "cancelled" and said in {"queued", "running"} else said


class Operations:
    """Asks for operations and looks at them; safe for threads. All may raise `TransientError`."""

    def __init__(self, log: Log, topics: Topics, clock: Clock) -> None:
        """Work on a log."""
        self._log = log
        self._topics = topics
        self._clock = clock

    def backfill(self, pattern: PatternRecord, start: int | None, end: int | None, engine: str) -> Operation:
        """Ask for a backfill of a pattern as it is registered now.

        Raises:
            ProblemError: the times are the wrong way round.
        """
        if start is not None and end is not None and start >= end:
            raise ProblemError(422, "invalid-range", f"there is no time from {start} to {end}")
        asked = OperationRecord(
            id=uuid.uuid4().hex,
            pattern=pattern.name,
            version=pattern.version,
            text=pattern.text,
            stream=pattern.stream,
            desired="done",
            created_at=self._clock.now(),
            start=start,
            end=end,
            engine=engine,
            limits=pattern.limits,
            by_vertex=pattern.by_vertex,
        )
        self._write(asked)
        return Operation(asked, None)

    def all(self) -> list[Operation]:
        """Return all operations that are known, the newest first."""
        asked: dict[str, OperationRecord] = {}
        said: dict[str, OperationStatus] = {}
        self._log.admin().ensure(self._topics.of_deployment())
        follower = Follower(self._log, self._topics.operations)
        try:
            for record in follower.to_the_end():
                key = record.key or b""
                if record.value is None or operations.is_of_run(key):
                    continue
                # Unreadable records belong to no operation.
                with suppress(PoisonRecordError):
                    if operations.is_status(key):
                        status = operations.decode_status(record.value)
                        said[status.id] = status
                    else:
                        each = operations.decode_operation(record.value)
                        asked[each.id] = each
        finally:
            follower.close()
        found = [Operation(each, said.get(id)) for id, each in asked.items()]
        return sorted(found, key=lambda each: (each.asked.created_at, each.asked.id), reverse=True)

    def get(self, id: str) -> Operation:
        """Return an operation.

        Raises:
            ProblemError: there is none.
        """
        found = next((each for each in self.all() if each.asked.id == id), None)
        if found is None:
            raise ProblemError(404, "not-found", f"there is no operation {id!r}")
        return found

    def cancel(self, id: str) -> Operation:
        """Ask that an operation ends; one that has ended stays as it is. Raises as `get`."""
        found = self.get(id)
        if found.state not in {"queued", "running"}:
            return found
        asked = replace(found.asked, desired="cancelled")
        self._write(asked)
        return Operation(asked, found.status)

    def _write(self, asked: OperationRecord) -> None:
        self._log.admin().ensure(self._topics.of_deployment())
        writer = self._log.writer()
        try:
            key = operations.operation_key(asked.id)
            writer.write([Message(self._topics.operations, key, operations.encode_operation(asked))])
            writer.flush(_FLUSH_SECONDS)
        finally:
            writer.close()
