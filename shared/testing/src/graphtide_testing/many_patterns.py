"""Many patterns for one matcher, and the ordered stream that it reads: benches of the services put both into Kafka first.

Pattern n follows label n to label n + 1, past the labels from a vertex of its own. Edges have a label and two vertices by
chance. Every label is wanted as soon as there are as many patterns as labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_query import parse_subgraphs, print_pattern
from graphtide_query.estimates.colocation import ColocatedLoad
from graphtide_query.planner import plan
from graphtide_wire import control, ordered
from graphtide_wire.plans import form_of

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log
    from graphtide_wire.topics import Topics

STREAM: Final = StreamName("s")
SERVICE: Final = "matcher_timing"
"""The service whose shard 0 is given all of the patterns."""

LABELS: Final = 100
VERTICES: Final = 20_000


class Written(NamedTuple):
    """Bytes of a stream that was written.

    Attributes:
        raw: of its edges as JSON Lines.
        ordered: of its ordered records.
    """

    raw: int
    ordered: int


def register(log: Log, topics: Topics, count: int, window: int) -> None:
    """Give the matcher the plans of so many patterns over a window of so many milliseconds."""
    writer = log.writer()
    for number in range(count):
        first, second = number % LABELS, (number + 1) % LABELS
        where = "" if number < LABELS else f' WHERE a.id = "{number}"'
        path = f"MATCH (a)-[x:l{first}]->(b)-[y:l{second}]->(c){where} ORDER x < y"
        text = f"PATTERN p{number} {path} ON {STREAM} WINDOW {window}"
        (pattern,) = parse_subgraphs(text)
        made = plan(pattern, "auto", colocated=ColocatedLoad.of(count))
        record = control.PlanRecord(
            name=pattern.name,
            version=1,
            epoch=1,
            engine=made.engine,
            service=SERVICE,
            shard=0,
            plan=form_of(made.physical),
            pattern=control.PatternText(print_pattern(pattern)),
            desired="running",
            start=0,
        )
        writer.write([Message(topics.plans, pattern.name.encode(), control.encode_plan(record))])
    writer.flush(60)
    writer.close()


def fill(log: Log, topics: Topics, edges: int, together: int) -> Written:
    """Write the ordered stream, an edge a millisecond, so many of them in a record; the same edges each time."""
    writer, decoder, state, raw, disk = log.writer(), JsonLinesDecoder(Symbols(), [], {}), 1, 0, 0
    for start in range(0, edges, together):
        lines = []
        for number in range(start, min(start + together, edges)):
            state = state * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
            source, target, label = (state >> 33) % VERTICES, (state >> 17) % VERTICES, (state >> 45) % LABELS
            lines.append(f'{{"ts":{number},"src":"{source}","dst":"{target}","label":"l{label}","id":"{number}"}}\n')
        text = "".join(lines).encode()
        first, last = EventTime(start), EventTime(start + len(lines) - 1)
        header = ordered.OrderedHeader(first, last, len(lines), start, last, TimeUnit.MILLISECOND)
        message = ordered.encode(topics.ordered(STREAM), header, decoder.decode(text).to_arrow())
        raw, disk = raw + len(text), disk + len(message.value or b"")
        writer.write([message])
    writer.flush(60)
    writer.close()
    return Written(raw, disk)
