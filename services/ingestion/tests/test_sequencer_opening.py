"""A sequencer that opens reads side by side, and knows all that its predecessor may have used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.errors import TransientError
from graphtide_core.ids import StreamName
from graphtide_core.time import TimeUnit
from graphtide_ingestion.application.sequencer_opening import open_sequencer
from graphtide_log.memory import MemoryLog
from graphtide_ordering.statements import StatementSurroundings
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage

if TYPE_CHECKING:
    from collections.abc import Callable

STATED = "STREAM flows EDGE (src)-[label]->(dst) AT ts"


class Between:
    """A log whose transactors do something before they have shut out the last owner."""

    def __init__(self, log: Any, act: Callable[[], None]) -> None:
        self._log = log
        self._act = act
        self.open_readers = 0

    def transactor(self, id: str) -> Any:
        transactor = self._log.transactor(id)
        shut_out = transactor.open

        def act_and_open() -> None:
            self._act()
            shut_out()

        transactor.open = act_and_open
        return transactor

    def reader(self, group: str | None) -> Any:
        reader = self._log.reader(group)
        close, self.open_readers = reader.close, self.open_readers + 1

        def closed() -> None:
            self.open_readers -= 1
            close()

        reader.close = closed
        return reader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def test_what_was_registered_until_the_last_owner_was_shut_out_is_known() -> None:
    stage = SequencingStage()

    def register() -> None:
        stage.state(STATED, 1)
        stage.register("late", "7s")

    opening = open_sequencer(Between(stage.log, register), TOPICS, FLOWS, "id", StatementSurroundings())
    assert set(opening.statements.versions) == {1}
    assert opening.registered.longest(FLOWS, TimeUnit.MILLISECOND) == (7_000, 0)
    assert opening.places == {0: (TOPICS.raw(FLOWS), 0)}


def test_what_was_opened_is_closed_if_something_is_missing() -> None:
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_deployment())
    watched = Between(log, lambda: None)
    with pytest.raises(TransientError, match="there is no topic"):
        open_sequencer(watched, TOPICS, StreamName("nowhere"), "id", StatementSurroundings())
    assert watched.open_readers == 0


def test_what_was_opened_is_closed_if_the_log_does_not_answer() -> None:
    stage = SequencingStage()

    def fail() -> None:
        message = "the log does not answer"
        raise TransientError(message)

    watched = Between(stage.log, fail)
    with pytest.raises(TransientError, match="does not answer"):
        open_sequencer(watched, TOPICS, FLOWS, "id", StatementSurroundings())
    assert watched.open_readers == 0
