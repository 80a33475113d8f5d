"""What a sequencer wrote, read back: edges in their order, with their places checked, and dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from graphtide_core.merged_streams import has_parts
from graphtide_core.ports.log import TopicPartition
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_wire import dead_letters, ordered, ordered_body, statistics

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, Record
    from graphtide_wire.dead_letters import DeadLetterRecord
    from graphtide_wire.statistics import StatisticsRecord
    from graphtide_wire.topics import Topics

_COLUMNS = {"ts", "src", "dst", "label", "src_label", "dst_label", "id", "op", ordered_body.MADE, ordered_body.EVENT}
_PATIENCE = 10.0


class Edge(NamedTuple):
    """Every field of an edge, or of an event without ends; attributes that are missing are left out."""

    ts: int
    op: str
    src: str
    dst: str
    label: str
    src_label: str
    dst_label: str
    id: str
    made: bool
    attributes: tuple[tuple[str, object], ...]
    epoch: int = 0
    is_event: bool = False


def records_of(log: Log, topic: str) -> list[Record]:
    """Return all records of a topic, partition by partition."""
    reader = log.reader(None)
    found: list[Record] = []
    for place in reader.partitions(topic):
        first, end = reader.ends([place])[place]
        if first < end:
            reader.assign({TopicPartition(*place): first})
            while not reader.at_end():
                found += reader.poll(_PATIENCE, 10_000)
    reader.close()
    return found


def ordered_edges(log: Log, topics: Topics, stream: StreamName) -> list[Edge]:
    """Return the edges of the ordered stream.

    Raises:
        AssertionError: places, epochs, times and watermarks do not continue from record to record.
    """
    edges: list[Edge] = []
    watermark, number = (0, -(2**63)), 0
    for record in records_of(log, topics.ordered(stream)):
        header = ordered.header(record.headers)
        table = ordered_body.decode(record.value or b"")
        decoder = ArrowDecoder(Symbols(), [name for name in table.column_names if name not in _COLUMNS], {})
        found = decoder.decode(record.value or b"").to_records()
        has_events = ordered_body.EVENT in table.column_names
        events = table.column(ordered_body.EVENT).to_pylist() if has_events else [False] * len(found)
        assert (header.ordinal, header.records) == (len(edges), len(found))
        reached = header.epoch, header.watermark
        if not found:
            newest = (edges[-1].epoch, edges[-1].ts) if edges else None
            # A part has heartbeats before the first edge of an epoch, too.
            is_first = has_parts(stream) and (newest is None or newest[0] < header.epoch)
            is_heartbeat = reached >= watermark and (is_first or (header.epoch, header.last_ts) == newest)
            assert is_heartbeat or reached[0] == watermark[0] + 1, "a record without edges is a heartbeat or begins an epoch"
        else:
            assert header.number is not None
            assert header.number >= number
            counted = (not is_event and each["op"] == "insert" for each, is_event in zip(found, events, strict=True))
            number = header.number + sum(counted)
            assert (header.first_ts, header.last_ts) == (found[0]["ts"], found[-1]["ts"])
            assert reached >= max(watermark, (watermark[0], header.last_ts))
        watermark = reached
        edges += [_edge(each, header.epoch, is_event) for each, is_event in zip(found, events, strict=True)]
    times = [(edge.epoch, edge.ts) for edge in edges]
    assert times == sorted(times)
    return edges


def letters(log: Log, topics: Topics, stream: StreamName) -> list[tuple[object, ...]]:
    """Return all of every dead letter but the time when it was rejected."""
    return [_letter(dead_letters.decode(record)) for record in records_of(log, topics.dead_letters(stream))]


def last_statistics(log: Log, topics: Topics, stream: StreamName) -> StatisticsRecord | None:
    """Return the snapshot that was published last."""
    found = [record for record in records_of(log, topics.statistics) if record.key == stream.encode()]
    return statistics.decode_statistics(found[-1].value) if found else None


def _edge(record: dict[str, Any], epoch: int, is_event: bool) -> Edge:
    attributes = tuple(sorted((name, value) for name, value in record["attributes"].items() if value is not None))
    fields = {name: record[name] for name in Edge._fields if name not in {"attributes", "epoch", "is_event"}}
    return Edge(**fields, attributes=attributes, epoch=epoch, is_event=is_event)


def _letter(found: DeadLetterRecord) -> tuple[object, ...]:
    return (found.raw, found.code, found.reason, found.source, found.content_type, found.producer, found.traceparent)
