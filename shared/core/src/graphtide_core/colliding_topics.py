"""Names of topics that collide in Kafka: they differ only by dots and underscores, and its metrics write both alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import CollidingTopicError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def refuse_colliding(wanted: Iterable[str], there: Collection[str]) -> None:
    """Do nothing if a log can make these topics beside those that are there, and beside each other; cost: O(both).

    Raises:
        CollidingTopicError: one that is not there yet is another's name but for dots and underscores.
    """
    known = {_in_metrics(topic): topic for topic in there}
    for topic in wanted:
        other = known.setdefault(_in_metrics(topic), topic)
        if other != topic and topic not in there:
            raise CollidingTopicError(topic, other)


def _in_metrics(topic: str) -> str:
    return topic.replace(".", "_")
