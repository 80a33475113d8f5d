"""An ordered topic as history is that of the stream's newest epoch."""

from __future__ import annotations

import pytest
from graphtide_backfill.adapters.ordered_topic import OrderedTopic
from graphtide_backfill.application.pieces import Reading
from graphtide_core.ids import StreamName
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.memory import MemoryLog
from graphtide_native.records import Symbols
from graphtide_wire import ordered, ordered_body
from graphtide_wire.topics import Topics

TOPICS = Topics("test")
TOPIC = TOPICS.ordered(StreamName("s"))


def log_of(*epochs: list[int]) -> MemoryLog:
    """Return a log with an ordered topic: the times of the edges of each epoch, an edge a record."""
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_stream(StreamName("s")))
    writer, ordinal = log.writer(), 0
    for epoch, times in enumerate(epochs):
        if epoch:
            writer.write([ordered.encode_beginning(TOPIC, epoch, ordinal, TimeUnit.MILLISECOND, ordered_body.encode_none())])
        for ts in times:
            at = EventTime(ts)
            header = ordered.OrderedHeader(at, at, 1, ordinal, at, TimeUnit.MILLISECOND, epoch=epoch)
            texts = {name: ["x"] for name in ("src", "dst", "label", "src_label", "dst_label")}
            writer.write([ordered.encode(TOPIC, header, ordered_body.encode({"ts": [ts], "id": [str(ordinal)], **texts}))])
            ordinal += 1
    return log


def ids_of(history: OrderedTopic) -> list[str]:
    reading = Reading(Symbols(), (), TimeUnit.MILLISECOND)
    batches = (batch for piece in history.pieces() for batch in piece.batches(reading))
    return [record["id"] for batch in batches for record in batch.to_records()]


@pytest.mark.parametrize(
    ("epochs", "ids"),
    [
        ([[1, 2, 3]], ["0", "1", "2"]),
        ([[1, 2**62], [3, 4], [2, 9]], ["4", "5"]),
        ([[1, 2], []], []),
    ],
)
def test_history_begins_with_the_newest_epoch(epochs: list[list[int]], ids: list[str]) -> None:
    log = log_of(*epochs)
    assert ids_of(OrderedTopic(lambda: log, TOPIC)) == ids


def test_history_is_another_once_an_epoch_has_begun() -> None:
    before, after = log_of([1, 2]), log_of([1, 2], [3])
    assert OrderedTopic(lambda: before, TOPIC).fingerprint() != OrderedTopic(lambda: after, TOPIC).fingerprint()
