"""The program of *Consume matches from Kafka*, run as the page has it, over a broker with aborted and repeated matches."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from graphtide_core.time import TimeUnit
from graphtide_testing.documents.blocks import blocks_of
from graphtide_wire.matches import as_backfilled, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from graphtide_core.ports.log import Message

ROOT = Path(__file__).parents[2]
PATTERN = "PATTERN paid MATCH (a)-[x:pays]->(b) ON payments WINDOW 1h"
PAYMENTS = [(1, "p1", "insert"), (2, "p2", "insert"), (3, "p3", "insert"), (4, "p2", "delete"), (5, "p5", "insert")]
LINES = [
    "io.graphtide.match paid 1",
    "io.graphtide.match paid 2",
    "io.graphtide.match paid 3",
    "io.graphtide.retraction paid 4",
]


@pytest.fixture
def topic(kafka: str) -> str:
    name = f"matches-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(name, 1)])[name].result()
    return name


@pytest.fixture
def consume(kafka: str, topic: str, tmp_path: Path) -> Iterator[Callable[[int], list[str]]]:
    """Start the program, take so many lines of its output, and end it as Ctrl-C does."""
    (block,) = (block for block in blocks_of(ROOT / "docs/how-to/consume-matches.md") if block.language == "python")
    # Groups of tests that share a broker must differ; a reader has one.
    assert block.text.count('"group.id": "alerts"') == 1
    (tmp_path / "alerts.py").write_text(block.text.replace('"group.id": "alerts"', f'"group.id": "{topic}"'))
    started: list[subprocess.Popen[str]] = []

    def run(lines: int) -> list[str]:
        environment = {"KAFKA": kafka, "TOPIC": topic}
        program = subprocess.Popen(
            [sys.executable, "alerts.py"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(program)
        assert program.stdout is not None
        found = [program.stdout.readline().rstrip("\n") for _ in range(lines)]
        program.send_signal(signal.SIGINT)
        rest, errors = program.communicate(timeout=60)
        assert errors.endswith("KeyboardInterrupt\n"), errors
        return found + rest.splitlines()

    yield run
    for program in started:
        program.kill()
        program.communicate()


def test_it_stores_each_committed_match_once_and_goes_on_where_it_was(
    kafka: str, topic: str, consume: Callable[[int], list[str]], tmp_path: Path
) -> None:
    first, second, third, withdrawn, fifth = matches(topic, tmp_path)
    write(kafka, [first, second])
    write(kafka, [make(topic, "aborted", 99), third], commits=False)
    write(kafka, [third, withdrawn])

    assert consume(4) == LINES

    write(kafka, [as_backfilled(first), fifth])

    assert consume(1) == ["io.graphtide.match paid 5"]
    # As after a crash between storing and committing, for all that was stored.
    read_again(kafka, topic)
    write(
        kafka,
        [
            third,
            as_backfilled(fifth),
            encode(topic, b'{"match_id":"last","query":"paid","kind":"match","detected_at":6}', 1, None),
        ],
    )
    assert consume(1) == ["io.graphtide.match paid 6"]
    with sqlite3.connect(tmp_path / "alerts.sqlite") as store:
        stored = store.execute("SELECT type, pattern, record FROM alerts ORDER BY rowid").fetchall()
    assert [f"{type} {pattern} {json.loads(record)['detected_at']}" for type, pattern, record in stored] == [
        *LINES,
        "io.graphtide.match paid 5",
        "io.graphtide.match paid 6",
    ]


def matches(topic: str, folder: Path) -> list[Message]:
    """Return the messages of the payments' matches, as a host writes them."""
    (folder / "paid.gtp").write_text(PATTERN)
    records = ({"ts": ts, "src": "ann", "dst": "bob", "label": "pays", "id": id, "op": op} for ts, id, op in PAYMENTS)
    (folder / "payments.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    command = [str(Path(sys.executable).with_name("graphtide")), "match", "paid.gtp", "payments.jsonl"]
    output = subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
    return [encode(topic, line, 1, TimeUnit.MILLISECOND) for line in output.splitlines()]


def make(topic: str, match_id: str, detected_at: int) -> Message:
    """Return the message of a match that no stream has."""
    record = {"match_id": match_id, "query": "paid", "kind": "match", "detected_at": detected_at}
    return encode(topic, json.dumps(record).encode(), 1, None)


def write(kafka: str, messages: Sequence[Message], *, commits: bool = True) -> None:
    """Write messages in one transaction, as hosts do."""
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions()
    producer.begin_transaction()
    for message in messages:
        producer.produce(message.topic, message.value, message.key, headers=list(message.headers))
    producer.flush()
    if commits:
        producer.commit_transaction()
    else:
        producer.abort_transaction()


def read_again(kafka: str, topic: str) -> None:
    """Put the group of the program back to the beginning."""
    beginning = ConsumerGroupTopicPartitions(topic, [TopicPartition(topic, 0, 0)])
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.alter_consumer_group_offsets([beginning])[topic].result()
