"""Random streams as producers send them: out of order, with duplicates, deletions, bad parts and all forms of raw records."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.formats import CSV
from graphtide_core.ports.log import Message
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_wire.topics import Topics

_LABELS = ("http", "tcp", "dns")
_BROKEN = (b"{", b"[]", b'{"ts": "x", "src": "a", "dst": "b", "label": "x"}', b'{"op": "melt", "ts": 1}', b"\xff\xfe", b"")


@dataclass(slots=True)
class RawStream:
    """Makes the messages of one stream.

    Attributes:
        seed: the same seed gives the same messages.
        producers: names that senders give themselves; one sender without a name if there are none.
        partitions: of the raw topic.
        disorder: most ticks that an edge may be before its neighbours.
        bad: share of records with a part that cannot be used.
        with_ids: share of edges with an id of their own.
        events: share of edges that are events of a type, without ends.
    """

    seed: int
    producers: tuple[str, ...] = ()
    partitions: int = 1
    disorder: int = 0
    bad: float = 0.1
    with_ids: float = 0.8
    events: float = 0.0
    _random: random.Random = field(init=False)
    _edges: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Start."""
        self._random = random.Random(self.seed)  # noqa: S311 - a test's stream keeps no secret

    def messages(self, topics: Topics, stream: StreamName, count: int) -> list[Message]:
        """Return so many messages for the stream's raw topic."""
        return [self._message(topics.raw(stream)) for _ in range(count)]

    def _message(self, topic: str) -> Message:
        chance = self._random
        producer = chance.choice(self.producers) if self.producers else None
        partition = hash_of(producer) % self.partitions if producer else chance.randrange(self.partitions)
        form = chance.random()
        if chance.random() < self.bad / 2:
            body = RawEdges(chance.choice(_BROKEN), producer=producer)
        elif form < 0.6:
            line = chance.choice((None, 1, 1, 7)) if form < 0.1 else None
            body = RawEdges(self._line(), producer=producer, line=line)
        elif form < 0.9:
            text = b"\n".join(self._line() for _ in range(chance.randrange(1, 8))) + b"\n"
            line = chance.choice((None, 5))
            if form < 0.75:
                body = RawEdges(text, producer=producer, line=line)
            else:
                body = RawEdges(as_batch(text), producer=producer, line=line, is_batch=True)
        elif form < 0.96:
            body = RawEdges(self._rows(), CSV, "ts,src,dst,label,id,port", producer=producer)
        else:
            event = {"specversion": "1.0", "data": [json.loads(self._edge()) for _ in range(2)]}
            headers = (("content-type", b"application/cloudevents+json"),)
            return Message(topic, None, json.dumps(event).encode(), headers, partition)
        return raw.encode(topic, body)._replace(partition=partition)

    def _line(self) -> bytes:
        return self._random.choice(_BROKEN) if self._random.random() < self.bad / 4 else self._edge()

    def _edge(self) -> bytes:
        chance = self._random
        self._edges += 1
        edge: dict[str, object] = {"ts": self._edges // 2 - chance.randrange(self.disorder + 1)}
        if chance.random() < self.with_ids:
            edge["id"] = f"e{self._edges - (chance.randrange(9) if chance.random() < 0.1 else 0)}"
            if chance.random() < 0.05:
                return json.dumps(edge | {"op": "delete"}).encode()
        if self.events and chance.random() < self.events:
            edge |= {"type": chance.choice(_LABELS)}
        else:
            edge |= {"src": f"v{chance.randrange(9)}", "dst": f"v{chance.randrange(9)}", "label": chance.choice(_LABELS)}
        if chance.random() < 0.5:
            edge["bytes"] = chance.choice((chance.randrange(1000), "many", 0.5, True))
        if self._edges > 40:
            edge["later"] = self._edges
        return json.dumps(edge).encode()

    def _rows(self) -> bytes:
        rows = []
        for _ in range(self._random.randrange(1, 4)):
            self._edges += 1
            rows.append(f"{self._edges // 2},a{self._edges % 3},b,tcp,c{self._edges},{self._edges}")
        return "\n".join(rows).encode()


def as_batch(text: bytes) -> bytes:
    """Return the good ones of lines of JSON as a batch; bad ones have an ordinal in it."""
    decoder = JsonLinesDecoder(Symbols(), ["bytes", "later"], {}, keep_raw=True)
    batch, _ = decoder.decode_pieces([text], 1)
    return batch.to_raw_batch(1, 0, decoder.ordinal())


def hash_of(name: str) -> int:
    """Return a number for a name that is the same in every process."""
    return sum(name.encode())
