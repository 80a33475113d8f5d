"""The changes of a pattern's plans; read from the topic anew, as it is seldom asked for."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

from graphtide_core.errors import PoisonRecordError
from graphtide_core.merged_streams import whole_of
from graphtide_log.follower import Follower
from graphtide_wire.plan_changes import MOST_CHANGES, PlanChangeRecord, decode_change

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ports.log import Log
    from graphtide_wire.topics import Topics


def changes_of(log: Log, topics: Topics, name: str, may_read: Callable[[PlanChangeRecord], bool]) -> list[PlanChangeRecord]:
    """Return the newest changes of the plans of a pattern, of all its parts together, that may be read; the newest first.

    Complexity: O(changes of all plans that are kept).

    Raises:
        TransientError: the log does not answer.
    """
    log.admin().ensure(topics.of_deployment())
    found: dict[bytes, PlanChangeRecord] = {}
    with closing(Follower(log, topics.plan_changes)) as follower:
        for record in follower.to_the_end():
            key = record.key or b""
            if whole_of(key.decode(errors="replace").rpartition("@")[0]) != name:
                continue
            found.pop(key, None)
            if record.value is not None:
                with suppress(PoisonRecordError):
                    found[key] = decode_change(key, record.value)
    shown = [each for each in found.values() if may_read(each)]
    return sorted(shown, key=lambda each: (each.at, each.epoch, each.name), reverse=True)[:MOST_CHANGES]
