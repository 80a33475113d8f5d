"""What became of an enemy's patterns is counted from what hosts said of them."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.memory import MemoryLog
from graphtide_query import parse
from graphtide_query.bursts import burst_of
from graphtide_testing.hostility import Fates, Hostility, fates
from graphtide_wire import control
from graphtide_wire.topics import Topics

TOPICS = Topics()


def write_status(name: str, version: int, state: str, reason: str | None = None) -> bytes:
    at = datetime(2024, 1, 1, tzinfo=UTC)
    record = control.StatusRecord(name, version, 1, "matcher_timing", 0, "stopped", at, reason)
    return control.encode_status(record).replace(b'"stopped"', f'"{state}"'.encode())


def count(*values: bytes | None) -> Fates:
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_deployment())
    log.writer().write([Message(TOPICS.status, b"k", value) for value in values])
    reader = log.reader(None)
    reader.assign({TopicPartition(TOPICS.status, 0): 0})
    return fates(reader.poll(0, 100), 3)


def test_each_version_counts_once_for_each_fate() -> None:
    found = count(
        write_status("hostile0", 1, "warming"),
        write_status("hostile0", 1, "running"),
        write_status("hostile0", 1, "running"),
        write_status("hostile0", 1, "failed", "reached its limit of 1000 steps"),
        write_status("hostile0", 2, "running"),
        write_status("hostile1", 1, "failed", "the plan is damaged"),
        write_status("innocent", 1, "running"),
        None,
        b"no status",
    )
    assert found == Fates(ran=2, limited=1, failed=1, refused=3)
    assert str(found) == "2 ran, 1 were limited, 1 failed otherwise, 3 were refused"


def test_where_nobody_said_anything_none_ran() -> None:
    assert count() == Fates(0, 0, 0, 3)


@pytest.mark.parametrize("seed", range(3))
def test_an_enemy_has_patterns_that_are_refused_and_patterns_that_are_not(seed: int) -> None:
    enemy = Hostility(Random(seed), "", TOPICS, (StreamName("s"),))
    (burst,) = [burst_of(parse(enemy.first_pattern())[0])]
    assert burst is not None
    assert not burst.exceeds(1_000)
    refused = {
        burst is not None and burst.exceeds(1_000)
        for text in (enemy.pattern() for _ in range(100))
        for burst in [burst_of(parse(text)[0])]
    }
    assert refused == {False, True}
