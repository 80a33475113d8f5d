"""Dead alerts, and alerts that users ask to be sent now: asked of the service that delivers through the log.

That service has the secrets and the sender of a target, so no other process sends. It answers through the log, too.
"""

from __future__ import annotations

import uuid
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import PoisonRecordError
from graphtide_wire.targets import (
    REQUEST_SECONDS,
    AlertAnswer,
    AlertRequest,
    DeadAlert,
    decode_answer,
    decode_dead_alert,
    encode_request,
)

from graphtide_admin_api.application.pages import Extent, Page, page_of
from graphtide_admin_api.domain.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Collection

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, Record
    from graphtide_wire.place import Places
    from graphtide_wire.topics import Topics

MOST_REPLAYED: Final = 100

_FLUSH_SECONDS: Final = 10.0
_LINGER_SECONDS: Final = 0.2
_SEARCHED: Final = Extent(most=MOST_REPLAYED, most_looked_at=100_000)


class AlertRequests:
    """Asks for alerts, and looks at the dead ones; safe for threads. All may raise `TransientError`."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, seconds: float = REQUEST_SECONDS) -> None:
        """Work on a log, and wait so many seconds for answers."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._seconds = seconds

    def dead(self, target: str, most: int, cursor: Places | None = None) -> Page[DeadAlert]:
        """Return up to `most` dead alerts of a target, the newest first."""
        return self._find(target, Extent(most), cursor)

    def test(self, target: str) -> AlertAnswer:
        """Let a sample be sent to a target, and return what became of it.

        Raises:
            ProblemError: the service that delivers did not answer.
        """
        (answer,) = self._ask([self._request(target)])
        if answer is None:
            detail = f"graphtide-alerts did not answer within {self._seconds:.0f} s: does it run, and has it read the target?"
            raise ProblemError(504, "no-answer", detail)
        return answer

    def replay(self, target: str, ids: Collection[str]) -> list[tuple[str, AlertAnswer | None]]:
        """Let dead alerts be sent again, by one attempt each; return what became of each, None of one without an answer.

        Raises:
            ProblemError: the newest 100,000 dead alerts that are kept do not have one of them.
        """
        found: dict[str, DeadAlert] = {}
        for each in self._find(target, _SEARCHED, None, frozenset(ids)).found:
            found.setdefault(each.id, each)
        if missing := [id for id in ids if id not in found]:
            raise ProblemError(404, "not-found", f"there is no dead alert {missing[0]!r} of target {target!r}")
        letters = [found[id] for id in dict.fromkeys(ids)]
        answers = self._ask([self._request(target, each) for each in letters])
        return [(letter.id, answer) for letter, answer in zip(letters, answers, strict=True)]

    def _find(self, target: str, extent: Extent, cursor: Places | None, ids: frozenset[str] | None = None) -> Page[DeadAlert]:
        def wanted(record: Record) -> DeadAlert | None:
            if record.key != target.encode():
                return None
            try:
                found = decode_dead_alert(record)
            except PoisonRecordError:
                return None
            return found if ids is None or found.id in ids else None

        self._log.admin().ensure(self._topics.of_deployment())
        with closing(self._log.reader(None)) as reader:
            return page_of(reader, self._topics.dead_alerts, cursor, extent, wanted)

    def _request(self, target: str, dead: DeadAlert | None = None) -> AlertRequest:
        return AlertRequest(id=uuid.uuid4().hex, target=target, at=self._clock.now(), dead=dead)

    def _ask(self, requests: list[AlertRequest]) -> list[AlertAnswer | None]:
        """Return the answer to each request; None where none came in time."""
        self._log.admin().ensure(self._topics.of_deployment())
        wanted, answers = {each.id for each in requests}, dict[str, AlertAnswer]()
        with closing(self._log.reader(None)) as reader:
            ends = reader.ends(reader.partitions(self._topics.alert_answers))
            reader.assign({place: end for place, (_, end) in ends.items()})
            with closing(self._log.writer()) as writer:
                writer.write([encode_request(self._topics.alert_requests, each) for each in requests])
                writer.flush(_FLUSH_SECONDS)
            until = self._clock.monotonic() + self._seconds
            while len(answers) < len(wanted) and self._clock.monotonic() < until:
                for record in reader.poll(_LINGER_SECONDS, 1_000):
                    with suppress(PoisonRecordError):
                        answer = decode_answer(record)
                        if answer.id in wanted:
                            answers[answer.id] = answer
        return [answers.get(each.id) for each in requests]
