"""What is wrong is refused with a clear word, and everything else continues: real services, and matches that stay exact.

All tests share one deployment, each with a stream of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import graphtide
import pytest
from confluent_kafka import Producer
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_serving.access.keys import hash_key
from graphtide_testing.whole import QUICK, Whole
from graphtide_wire import control, dead_letters
from redis import Redis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import Record

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

KEYS = {"all": ["admin"], "reader": ["patterns:read"]}
MOST_BODY = 100_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    keys = json.dumps([{"name": name, "hash": hash_key(name), "scopes": scopes} for name, scopes in KEYS.items()])
    guarded = {"INSECURE": "false", "API_KEYS": keys}
    settings = {"ingestion": {**guarded, "MOST_BODY_BYTES": str(MOST_BODY)}, "admin_api": guarded, **QUICK}
    made = Whole(tmp_path_factory.mktemp("whole"), settings)
    made.start()
    made.edges.headers["X-API-Key"] = made.control.headers["X-API-Key"] = "all"
    yield made
    made.end()


class Feed:
    """A stream with one pattern of its name, and what was sent to it."""

    def __init__(self, whole: Whole, name: str) -> None:
        self.whole, self.name = whole, name
        self.text = f"PATTERN {name} MATCH (a)-[x:x]->(b)-[y:x]->(c) ON {name} WINDOW 20"
        self.sent: list[dict[str, object]] = []
        self.raw = whole.deployment.topics.raw(StreamName(name))
        whole.register(self.text)

    def lines(self, count: int) -> bytes:
        """Return the next edges, which count as sent."""
        first = len(self.sent)
        new: list[dict[str, object]] = [
            {"id": f"{self.name}{number}", "ts": number, "src": f"v{number % 5}", "dst": f"v{number * 3 % 5}", "label": "x"}
            for number in range(first, first + count)
        ]
        self.sent += new
        return "".join(json.dumps(edge) + "\n" for edge in new).encode()

    def send(self, count: int) -> None:
        assert self.whole.send(self.name, self.lines(count))["rejected"] == 0

    def is_exact(self) -> bool:
        """Whether every match of what was sent came once, and no other."""
        self.whole.settle(self.name)
        expected = Counter(match.match_id for match in graphtide.match(graphtide.parse(self.text), self.sent))
        records = [json.loads(record) for record in self.whole.matches()]
        found = Counter(record["match_id"] for record in records if record["query"] == self.name)
        assert sum(expected.values()) > 20
        return found == expected

    def letters(self) -> list[dead_letters.DeadLetterRecord]:
        topic = self.whole.deployment.topics.dead_letters(StreamName(self.name))
        return [dead_letters.decode(record) for record in everything(self.whole, topic)]


def everything(whole: Whole, topic: str) -> list[Record]:
    reader = KafkaLog(KafkaConnection(whole.deployment.kafka.bootstrap)).reader(None)
    reader.assign(dict.fromkeys(reader.partitions(topic), 0))
    found: list[Record] = []
    while not reader.at_end():
        found += reader.poll(5, 1000)
    reader.close()
    return found


def test_poison_in_the_raw_topic_is_rejected_and_its_neighbours_match(whole: Whole) -> None:
    feed = Feed(whole, "poison")
    feed.send(20)
    whole.settle("poison")
    producer = Producer({"bootstrap.servers": whole.deployment.kafka.bootstrap})
    producer.produce(feed.raw, feed.lines(10), partition=0)
    producer.produce(feed.raw, b"\xff\x00", partition=0)
    producer.produce(feed.raw, b"<edge/>", partition=0, headers=[("content-type", b"application/xml")])
    producer.produce(feed.raw, feed.lines(10).replace(b"\n", b'\n{"ts":\n', 1), partition=0)
    producer.produce(feed.raw, None, key=b"k", partition=0)
    producer.produce(feed.raw, feed.lines(10), partition=0)
    assert producer.flush(30) == 0
    assert feed.is_exact()
    emitted = [(letter.code, letter.source.offset, letter.source.line, letter.raw) for letter in feed.letters()]
    first = emitted[0][1]
    assert first is not None
    assert emitted == [
        ("malformed", first, 1, b"\xff\x00"),
        ("malformed", first + 1, None, b"<edge/>"),
        ("malformed", first + 2, 2, b'{"ts":'),
        ("malformed", first + 3, None, b""),
    ]


def test_edges_that_come_twice_or_too_late_change_nothing(whole: Whole) -> None:
    feed = Feed(whole, "again")
    lines = feed.lines(40)
    whole.send("again", lines)
    whole.settle("again")
    late = b'{"id":"late","ts":3,"src":"v0","dst":"v1","label":"x"}'
    newest = b"".join(lines.splitlines(keepends=True)[-1:])
    assert whole.send("again", newest * 3 + late + b"\n" + newest)["accepted"] == 5
    feed.send(20)
    assert feed.is_exact()
    assert [(letter.code, letter.source.line, letter.raw) for letter in feed.letters()] == [("late", 4, late)]


def test_a_pattern_that_does_not_parse_is_refused_with_its_place(whole: Whole) -> None:
    feed = Feed(whole, "parsing")
    feed.send(20)
    text = "PATTERN bad\nMATCH (a)-[x:x]->(b) ON parsing\nWINDOW soon"
    answer = whole.control.post("/api/v1/patterns", json={"text": text})
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["line"], problem["column"]) == (422, "invalid-pattern", 3, 8)
    assert problem["source_line"] == "WINDOW soon"
    assert whole.control.get("/api/v1/patterns/bad").status_code == 404
    feed.send(20)
    assert feed.is_exact()


def test_a_plan_of_a_format_to_come_fails_alone(whole: Whole) -> None:
    feed = Feed(whole, "future")
    feed.send(20)
    topics = whole.deployment.topics
    plans = [control.decode_plan(record.value) for record in everything(whole, topics.plans) if record.key == b"future"]
    of_ours = plans[-1]
    head = {
        "name": "later",
        "version": 1,
        "epoch": 1,
        "service": of_ours.service,
        "shard": 0,
        "format": control.PLAN_FORMAT + 1,
        "shape": "unknown",
    }
    writer = KafkaLog(KafkaConnection(whole.deployment.kafka.bootstrap)).writer()
    writer.write([Message(topics.plans, b"later", json.dumps(head).encode())])
    writer.flush(10)
    writer.close()

    # The planner withdraws it, since no user registered such a pattern: its status may go as soon as it came.
    host = whole.services[of_ours.service]
    whole.wait_until(lambda: "bring the host up to date" in host.output.read_text(), "the host says something of the plan")
    assert whole.pattern("future")["state"] == "running"
    feed.send(20)
    assert feed.is_exact()


def test_a_full_redis_keeps_no_match_from_coming(whole: Whole) -> None:
    feed = Feed(whole, "full")
    feed.send(20)
    whole.settle("full")
    name = whole.pattern("full")["placement"]["service"]
    matcher = whole.services[name]
    redis = Redis.from_url(whole.deployment.redis.url)

    def manifest() -> object:
        (key,) = redis.keys(f"*{name}.0.full*manifest")
        return redis.get(key)

    whole.wait_until(lambda: bool(redis.keys(f"*{name}.0.full*manifest")), "a checkpoint is kept")
    redis.config_set("maxmemory-policy", "noeviction")
    redis.config_set("maxmemory", "1")
    try:
        feed.send(20)
        whole.wait_until(lambda: "checkpoint.not_saved" in matcher.output.read_text(), "the matcher says that it cannot save")
        whole.wait_until(lambda: "memory" in (whole.pattern("full")["reason"] or ""), "the pattern says so")
        old = manifest()
        # Its checkpoint is of before; what it lacks is read back from the log.
        matcher.kill()
        matcher.start()
        feed.send(20)
        assert feed.is_exact()
        assert manifest() == old
    finally:
        redis.config_set("maxmemory", "0")
    feed.send(20)
    whole.wait_until(lambda: manifest() != old, "checkpoints are kept again")
    whole.wait_until(lambda: whole.pattern("full")["reason"] is None, "nothing is wrong with the pattern")
    assert feed.is_exact()
    redis.close()


def test_a_body_that_is_too_large_is_refused_before_it_is_read(whole: Whole) -> None:
    feed = Feed(whole, "large")
    feed.send(20)
    headers = {"content-type": "application/x-ndjson"}
    answer = whole.edges.post("/api/v1/streams/large/edges", content=b" " * (MOST_BODY + 1), headers=headers)
    assert (answer.status_code, answer.json()["code"], answer.json()["accepted"]) == (413, "body-too-large", 0)
    feed.send(20)
    assert feed.is_exact()


def test_callers_need_a_key_and_its_scope(whole: Whole) -> None:
    feed = Feed(whole, "keys")
    feed.send(20)
    line = b'{"ts":99,"src":"a","dst":"b","label":"x"}'
    emitted = {"content-type": "application/x-ndjson"}
    for key, status, code in (("unknown", 401, "unauthenticated"), ("reader", 403, "forbidden")):
        edges = whole.edges.post("/api/v1/streams/keys/edges", content=line, headers={**emitted, "X-API-Key": key})
        pattern = whole.control.post("/api/v1/patterns", json={"text": feed.text}, headers={"X-API-Key": key})
        assert [(each.status_code, each.json()["code"]) for each in (edges, pattern)] == [(status, code)] * 2
    bearer = {**emitted, "X-API-Key": "", "Authorization": "Bearer x"}
    answer = whole.edges.post("/api/v1/streams/keys/edges", content=line, headers=bearer)
    assert answer.status_code == 401
    feed.send(20)
    assert feed.is_exact()
