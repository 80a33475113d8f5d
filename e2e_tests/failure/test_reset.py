"""A stream that one edge took to the end of time matches again after a reset, with any restarts meanwhile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide_core.ids import StreamName
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_testing.sequenced import letters, ordered_edges
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

S = StreamName("s")
PATTERN = "PATTERN {name} MATCH (a)-[x:x]->(b)-[y:x]->(c) ORDER x < y ON s WINDOW 100"
FAR = 2**63 - 1


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    made = Whole(tmp_path, {"ingestion": {"MAX_AHEAD_SECONDS": "inf"}})
    made.start()
    yield made
    made.end()


@pytest.mark.slow
def test_a_reset_frees_a_stream_and_holds_over_restarts(whole: Whole) -> None:
    log = KafkaLog(KafkaConnection(whole.deployment.kafka.bootstrap))
    topics = whole.deployment.topics
    sent = 0

    def send(*times: int) -> None:
        """Send a path that continues where the last one ended."""
        nonlocal sent
        edges = []
        for ts in times:
            edges.append({"ts": ts, "src": f"v{sent}", "dst": f"v{sent + 1}", "label": "x", "id": f"e{sent}"})
            sent += 1
        whole.send_records("s", edges)

    def reset() -> None:
        """Ask until there is an answer, which after a restart takes a while: a request that names the epoch may be repeated."""
        path, query = "/api/v1/streams/s:reset-watermark", {"epoch": 0}
        whole.wait_until(
            lambda: whole.edges.post(path, params=query).json() == {"stream": "s", "ended": 0}, "the reset is taken"
        )

    def found(name: str) -> list[tuple[str, str]]:
        records = (json.loads(record) for record in whole.matches())
        return sorted((each["edges"]["x"], each["edges"]["y"]) for each in records if each["query"] == name)

    def restart_all() -> None:
        for service in whole.services.values():
            service.kill()
            service.start()

    whole.register(PATTERN.format(name="p"))
    send(1, 2)
    whole.settle("s")
    send(FAR)
    whole.settle("s")
    send(3, 4)
    whole.settle("s")
    assert sum(letter[1] == "late" for letter in letters(log, topics, S)) == 2
    restart_all()
    send(5)
    whole.settle("s")
    assert sum(letter[1] == "late" for letter in letters(log, topics, S)) == 3
    assert found("p") == [("e0", "e1")]

    reset()
    send(6, 7)
    whole.settle("s")
    restart_all()
    reset()
    send(8, 9)
    whole.settle("s")
    whole.register(PATTERN.format(name="q"))
    send(10, 11)
    whole.settle("s")
    # From e5 on, which was late, a path continues: e6 is the first of the new epoch.
    path = [(f"e{number}", f"e{number + 1}") for number in range(6, sent - 1)]
    assert found("p") == sorted([("e0", "e1"), *path])
    assert found("q") == sorted(path[-2:])
    assert [(edge.epoch, edge.ts) for edge in ordered_edges(log, topics, S)] == [
        *((0, ts) for ts in (1, 2, FAR)),
        *((1, ts) for ts in range(6, 12)),
    ]
    assert len(letters(log, topics, S)) == 3
