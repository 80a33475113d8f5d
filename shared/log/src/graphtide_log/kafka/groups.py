"""Asking a consumer group's coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import TransientError

from graphtide_log.kafka.errors import translate, translate_errors
from graphtide_log.kafka.patience import patiently

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import Consumer, TopicPartition

_HINT: Final = "should this last while the cluster answers, ask kafka-transactions.sh find-hanging for one that never ended"
"""The coordinator holds positions back until the transaction that set them has ended."""


def positions(consumer: Consumer, group: str, partitions: Sequence[TopicPartition], seconds: float) -> list[TopicPartition]:
    """Return the positions of the consumer's group, without those of open transactions.

    It asks again during passing troubles. A coordinator that is being made or loads answers errors at first, and librdkafka
    hands some of them on at once (`NOT_COORDINATOR`).

    Raises:
        TransientError: no answer within the seconds.
        GraphtideError: an error that does not pass by itself.
    """
    doing = f"asking for the positions of {group}"

    def ask(left: float) -> list[TopicPartition]:
        with translate_errors(doing):
            answers = consumer.committed(list(partitions), timeout=left)
        for answer in answers:
            if answer.error is not None:
                raise translate(answer.error, doing)
        return answers

    try:
        return patiently(ask, seconds)
    except TransientError as error:
        message = f"{error}; {_HINT}"
        raise TransientError(message) from error
