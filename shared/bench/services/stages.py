"""Where an edge is at what time on its way: plain consumers beside the services note when they see it.

A consumer that reads what is not committed yet shows when a transaction's records were written, one that does not when they
counted. Each costs a little of the machine that is measured.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING

import pyarrow as pa
from confluent_kafka import Consumer
from graphtide_wire import ordered_body

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from graphtide_core.ids import StreamName
    from graphtide_wire.topics import Topics

Seen = dict[str, float]
"""Seconds of the wall clock by ids of edges."""


@dataclass(frozen=True)
class Stage:
    """A place on the way, and how ids are read there."""

    name: str
    topic: str
    committed: bool
    ids: Callable[[bytes], Iterable[str]]


def stages_of(topics: Topics, stream: StreamName) -> list[Stage]:
    """Return the places between the sender and the last, which is always watched."""
    return [
        Stage("raw", topics.raw(stream), True, in_raw),
        Stage("ordered, written", topics.ordered(stream), False, in_arrow),
        Stage("ordered, committed", topics.ordered(stream), True, in_arrow),
        Stage("match, written", topics.matches, False, in_match),
    ]


_OF_ARROW = b"\xff\xff\xff\xff"
"""Begins an Arrow IPC stream, and no JSON."""


def in_match(value: bytes) -> Iterable[str]:
    """Return the id of a match's edge."""
    return [json.loads(value)["edges"]["x"]]


def in_raw(value: bytes) -> Iterable[str]:
    """Return the ids of edges that match, of a batch or of lines."""
    if value.startswith(_OF_ARROW):
        return _hits(pa.ipc.open_stream(value).read_all())
    return [edge["id"] for edge in map(json.loads, value.splitlines()) if edge["label"] == "hit"]


def in_arrow(value: bytes) -> Iterable[str]:
    """Return the ids of edges that match."""
    return _hits(ordered_body.decode(value))


def _hits(table: pa.Table) -> Iterable[str]:
    labels, ids = table.column("label").to_pylist(), table.column("id").to_pylist()
    return [id for id, label in zip(ids, labels, strict=True) if label == "hit"]


class Watch:
    """One consumer in a thread."""

    def __init__(self, bootstrap: str, stage: Stage) -> None:
        """Watch a place from now on."""
        self.stage = stage
        self.seen: Seen = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"watch {stage.name}",
                "isolation.level": "read_committed" if stage.committed else "read_uncommitted",
                "auto.offset.reset": "earliest",
                "fetch.queue.backoff.ms": 1,
            }
        )
        self._consumer.subscribe([stage.topic])
        self._over = Event()
        self._thread = Thread(target=self._run)
        self._thread.start()

    def end(self) -> Seen:
        """Return what was seen."""
        self._over.set()
        self._thread.join()
        self._consumer.close()
        return self.seen

    def _run(self) -> None:
        while not self._over.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                now = time.time()
                self.seen.update((id, now) for id in self.stage.ids(message.value() or b""))
