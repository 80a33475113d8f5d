"""The texts that a pattern had; read from the topic anew, as it is small and seldom asked for."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

from graphtide_core.errors import PoisonRecordError
from graphtide_log.follower import Follower
from graphtide_wire.pattern_versions import VersionRecord, decode_version

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log
    from graphtide_wire.topics import Topics


def versions_of(log: Log, topics: Topics, name: str) -> list[VersionRecord]:
    """Return the texts of a pattern that are kept, the newest first.

    Complexity: O(versions of all patterns).

    Raises:
        TransientError: the log does not answer.
    """
    log.admin().ensure(topics.of_deployment())
    found: dict[int, VersionRecord] = {}
    begin = f"{name}@".encode()
    with closing(Follower(log, topics.versions)) as follower:
        for record in follower.to_the_end():
            key = record.key or b""
            if not key.startswith(begin) or not key[len(begin) :].isdigit():
                continue
            version = int(key[len(begin) :])
            found.pop(version, None)
            if record.value is not None:
                with suppress(PoisonRecordError):
                    found[version] = decode_version(key, record.value)
    return [found[version] for version in sorted(found, reverse=True)]
