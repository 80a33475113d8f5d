"""A stream that came over HTTP goes out alike whether its edges came to the sequencer in batches or as text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest
from fastapi.testclient import TestClient
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_core.time import TimeUnit
from graphtide_ingestion.application.sequencing_worker import Sequencing, SequencingWorker
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.raw_decoding import Ahead
from graphtide_testing.clock import ManualClock
from graphtide_testing.raw_streams import as_batch
from graphtide_testing.registrations import registering, registration
from graphtide_testing.sequenced import letters, ordered_edges, records_of
from graphtide_wire import raw
from graphtide_wire.raw import RawEdges
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log

TOPICS, FLOWS = Topics("test"), StreamName("flows")
FORMS: Final = ("batches", "text")
FAR = 10**15
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HEADERS = {"content-type": "application/x-ndjson", "graphtide-producer": "probe", "traceparent": TRACE}


def edge(number: int) -> str:
    """An edge: each seventh late, each eleventh of the future, each fifth twice, each thirteenth bad; ties are many."""
    ts = number // 8 + (-9 if number % 7 == 0 else FAR if number % 11 == 0 else 100)
    if number % 13 == 0:
        return '{"ts": "x"}'
    given: dict[str, Any] = {"id": f"e{number // 5}"} if number % 5 < 2 else {}
    return json.dumps({"src": f"v{number % 9}", "label": "x", "ts": ts, "dst": "b", "n": number / 4, **given})


def send(raw_form: Literal["batches", "text"], body: str, content_type: str = "application/x-ndjson") -> MemoryLog:
    """A log that has what the service makes of three requests."""
    log, clock = MemoryLog(), ManualClock()
    service = bootstrap(
        log,
        Settings(prefix="test", streams=("flows",), roles=frozenset({"http"}), insecure=True, raw_form=raw_form),
        clock=clock,
    )
    writer = log.writer()
    text = "PATTERN p MATCH (v)-[e:x]->(w) ON flows WINDOW 1h"
    writer.write([registering(TOPICS, registration(text, clock.now()))])
    with TestClient(service.app, base_url="http://localhost") as client:
        for _ in range(3):
            answer = client.post("/api/v1/streams/flows/edges", content=body, headers=HEADERS | {"content-type": content_type})
            assert answer.status_code == 202, answer.text
    return log


def in_order(log: Log, most_records: int, steps: int = 3) -> None:
    """Sequence all there is by workers that each take so many steps, and then are gone without a word."""
    clock = ManualClock()
    ordering = Ordering(lateness=2, idle_seconds=1.0, ahead=Ahead(TimeUnit.MILLISECOND, 3600.0))
    options = Sequencing(ordering=ordering, linger_seconds=0.0, most_records=most_records, poll_seconds=0.0)
    for _ in range(8):
        worker = SequencingWorker(log, TOPICS, FLOWS, clock, options)
        worker.open()
        for _ in range(steps):
            worker.step()
        clock.sleep(2)
        worker.step()


def timeless(letter: tuple[object, ...]) -> tuple[object, ...]:
    """A dead letter without the time of the log, the bound of edges' times."""
    own, code, reason, *others = letter
    return (own, code, re.sub("up to [0-9]+", "up to now", str(reason)), *others)


BODIES = {
    "json": ("".join(edge(number) + "\n" for number in range(1, 400)), "application/x-ndjson"),
    "csv": (
        "ts,src,dst,label,id,n\n"
        + "".join(f'{n // 8 - 50 * (n % 7 == 0)},v{n % 9},"b\nc",x,e{n // 3},0{n}\n' for n in range(400)),
        "text/csv",
    ),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("most_records", [1, 100])
def test_order_ids_and_dead_letters_do_not_depend_on_the_form(
    name: str, most_records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphtide_ingestion.bootstrap.LEAST_BATCH", 64)
    found = {}
    for raw_form in FORMS:
        log = send(raw_form, *BODIES[name])
        assert {raw.decode(each).is_batch for each in records_of(log, TOPICS.raw(FLOWS))} == {raw_form == "batches"}
        in_order(log, most_records)
        edges = ordered_edges(log, TOPICS, FLOWS)
        found[raw_form] = edges, [timeless(letter) for letter in letters(log, TOPICS, FLOWS)]
        assert len(edges) > 100
        assert "late" in {code for _, code, *_ in found[raw_form][1]}
    assert found["batches"] == found["text"]


def test_a_batch_that_cannot_be_read_costs_no_neighbour() -> None:
    log = MemoryLog()
    log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(FLOWS, partitions=1)])
    good = as_batch("".join(edge(number) + "\n" for number in (1, 2)).encode())
    bodies = [good, good[:-200], b"", b"{}", good]
    writer = log.writer()
    writer.write(raw.encode(TOPICS.raw(FLOWS), RawEdges(body, is_batch=True))._replace(partition=0) for body in bodies)
    writer.flush(5)
    in_order(log, 100)
    assert len(ordered_edges(log, TOPICS, FLOWS)) == 4
    assert [own for own, *_ in letters(log, TOPICS, FLOWS)] == bodies[1:4]


def test_a_batch_of_an_unknown_format_is_a_dead_letter() -> None:
    log = MemoryLog()
    log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(FLOWS, partitions=1)])
    headers = (("content-type", b"application/vnd.apache.arrow.stream"), ("graphtide-format", b"text/plain"))
    writer = log.writer()
    writer.write([Message(TOPICS.raw(FLOWS), None, as_batch(edge(1).encode()), headers, 0)])
    writer.flush(5)
    in_order(log, 100)
    (letter,) = letters(log, TOPICS, FLOWS)
    assert letter[2] == "the header graphtide-format names no format of edges: 'text/plain'"
