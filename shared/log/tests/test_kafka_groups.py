"""Positions are asked for again while a coordinator is being made, and until then alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from graphtide_core.errors import FatalError, TransientError
from graphtide_log.kafka import groups

if TYPE_CHECKING:
    from collections.abc import Sequence

PLACES = [TopicPartition("t", 0, 5)]


class Coordinator:
    """A consumer whose group's coordinator answers so; the last answer again and again."""

    def __init__(self, *answers: int | None) -> None:
        self.answers = list(answers)
        self.asked = 0

    def committed(self, partitions: Sequence[TopicPartition], timeout: float) -> Sequence[TopicPartition]:
        assert timeout >= 0
        self.asked += 1
        code = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if code is not None:
            raise KafkaException(KafkaError(code))
        return partitions


def ask(coordinator: Any, seconds: float) -> list[TopicPartition]:
    return groups.positions(coordinator, "g", PLACES, seconds)


def test_a_coordinator_that_is_being_made_is_asked_again() -> None:
    coordinator = Coordinator(KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, None)
    assert ask(coordinator, 5.0) == PLACES
    assert coordinator.asked == 3


def test_one_that_does_not_come_is_given_up_with_what_to_look_for() -> None:
    coordinator = Coordinator(KafkaError.NOT_COORDINATOR)
    with pytest.raises(TransientError, match=r"positions of g: .*NOT_COORDINATOR.*find-hanging"):
        ask(coordinator, 0.3)
    assert coordinator.asked > 1


def test_what_does_not_mend_itself_is_raised_at_once() -> None:
    coordinator = Coordinator(KafkaError.GROUP_AUTHORIZATION_FAILED, None)
    with pytest.raises(FatalError, match="GROUP_AUTHORIZATION_FAILED"):
        ask(coordinator, 5.0)
    assert coordinator.asked == 1
