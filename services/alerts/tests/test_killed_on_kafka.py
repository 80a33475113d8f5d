"""On Kafka, with a receiver that fails at random and a service that is killed: no match is lost, and all are accounted for."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import uuid
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_testing.waiting import wait_until
from graphtide_testing.webhook_receiver import Received, Receiver, serve_receiver
from graphtide_wire import matches
from graphtide_wire.targets import AlertCounts, TargetRecord, decode_counts, decode_dead_alert, encode_target
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from pathlib import Path

MATCHES = 300
KILLS = 5
AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_every_match_arrives_through_kills_and_failures(kafka: str, tmp_path: Path) -> None:
    topics, log = Topics(f"test-{uuid.uuid4().hex[:12]}"), KafkaLog(KafkaConnection(kafka))
    log.admin().ensure(topics.of_deployment(partitions=2))
    chance = random.Random(7)
    never = {f"{number:032x}" for number in chance.sample(range(MATCHES), 20)}

    def answer(request: Received) -> int | None:
        if request.headers["idempotency-key"] in never:
            return 400
        kind = chance.random()
        if kind < 0.1:
            return 500
        # The request was taken, and nobody says so.
        return None if kind < 0.2 else 204

    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("a secret\n", "utf-8")
    with serve_receiver(Receiver(answer)) as receiver:
        writer = log.writer()
        targets = (
            TargetRecord(name="hook", kind="webhook", address=receiver.url, secret="key", created_at=AT),  # noqa: S106 - a file
            TargetRecord(name="file", kind="file", address="alerts.jsonl", created_at=AT),
        )
        writer.write([encode_target(topics.targets, each) for each in targets])
        for number in range(MATCHES):
            line = f'{{"match_id":"{number:032x}","query":"p","kind":"match","detected_at":{number}}}'
            writer.write([matches.encode(topics.matches, line.encode(), 1, None)._replace(partition=number % 2)])
        writer.flush(30.0)
        for _ in range(KILLS):
            service = start(kafka, topics, tmp_path)
            wait_for_more(receiver)
            time.sleep(chance.random() * 0.3)
            service.kill()
            service.wait()
        service = start(kafka, topics, tmp_path)
        try:
            wait_until(
                lambda: all(latest(log, topics, name).accepted == MATCHES for name in ("hook", "file")), 300.0, pause=0.5
            )
        finally:
            service.kill()
            service.wait()
        writer.close()
    arrived = Counter(request.headers["idempotency-key"] for request in receiver.accepted)
    dead = [decode_dead_alert(record) for record in read(log, topics.dead_alerts)]
    assert sorted(each.id for each in dead) == sorted(never)
    assert arrived.keys() | never == {f"{number:032x}" for number in range(MATCHES)}
    assert not arrived.keys() & never
    hook, file = latest(log, topics, "hook"), latest(log, topics, "file")
    assert (hook.delivered, hook.dead, hook.muted, hook.summed) == (MATCHES - len(never), len(never), 0, 0)
    assert (file.delivered, file.dead) == (MATCHES, 0)
    lines = (tmp_path / "files" / "alerts.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == MATCHES
    for record in read(log, topics.alert_counts):
        counts = decode_counts(record)
        assert counts.accepted == counts.delivered + counts.dead + counts.muted + counts.summed


def wait_for_more(receiver: Receiver) -> None:
    """Wait until the service has sent some."""
    seen = len(receiver.requests)
    wait_until(lambda: len(receiver.requests) > seen + 10, 120.0)


def start(kafka: str, topics: Topics, folder: Path) -> subprocess.Popen[bytes]:
    settings = {
        "GRAPHTIDE_ALERTS_KAFKA__BOOTSTRAP": kafka,
        "GRAPHTIDE_ALERTS_PREFIX": topics.prefix,
        "GRAPHTIDE_ALERTS_HEALTH__ENABLED": "false",
        "GRAPHTIDE_ALERTS_ALLOWED_ADDRESSES": '["127.0.0.1"]',
        "GRAPHTIDE_ALERTS_SECRETS": str(folder / "secrets"),
        "GRAPHTIDE_ALERTS_FILES": str(folder / "files"),
    }
    with (folder / "log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "graphtide_alerts"], env=os.environ | settings, stdout=log, stderr=log)


def read(log: KafkaLog, topic: str) -> list[Any]:
    reader = log.reader(None)
    try:
        places = reader.partitions(topic)
        reader.assign(dict.fromkeys(places, 0))
        found: list[Any] = []
        while True:
            found += reader.poll(5.0, 10_000)
            if reader.at_end():
                return found
    finally:
        reader.close()


def latest(log: KafkaLog, topics: Topics, name: str) -> AlertCounts:
    found = [decode_counts(record) for record in read(log, topics.alert_counts)]
    mine = [each for each in found if each.target == name]
    return mine[-1] if mine else AlertCounts(target=name, created_at=AT)
