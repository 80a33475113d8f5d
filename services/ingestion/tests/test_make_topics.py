"""`graphtide-ingestion make-topics` makes what a deployment needs, as often as it is called."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

import pytest
from graphtide_core.ids import StreamName
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_wire.topics import Topics


def make_topics(bootstrap: str, prefix: str, streams: str = '["flows"]') -> subprocess.CompletedProcess[str]:
    reported = {"KAFKA__BOOTSTRAP": bootstrap, "PREFIX": prefix, "STREAMS": streams, "PARTITIONS": "3"}
    settings = {f"GRAPHTIDE_INGESTION_{name}": value for name, value in reported.items()}
    command = [sys.executable, "-m", "graphtide_ingestion", "make-topics"]
    return subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=120, check=False)


def test_topics_of_deployment_and_streams_are_there_afterwards(kafka: str) -> None:
    topics = Topics(f"test-{uuid.uuid4().hex[:12]}")
    for _ in range(2):
        ended = make_topics(kafka, topics.prefix)
        assert (ended.returncode, ended.stdout) == (0, f"topics of {topics.prefix} are there, and those of 1 streams\n")
    log = KafkaLog(KafkaConnection(kafka))
    wanted = {spec.name for spec in (*topics.of_deployment(), *topics.of_stream(StreamName("flows")))}
    assert wanted == {name for name in log.admin().topics() if name.startswith(f"{topics.prefix}.")}
    reader = log.reader(None)
    assert len(reader.partitions(topics.raw(StreamName("flows")))) == 3
    reader.close()


@pytest.mark.slow
def test_a_name_that_is_none_is_refused_for_good_and_a_log_that_is_not_there_may_come_later(kafka: str) -> None:
    refused = make_topics(kafka, f"test-{uuid.uuid4().hex[:12]}", '["Flows!"]')
    assert (refused.returncode, "not a name of a stream" in refused.stderr) == (2, True)
    absent = make_topics("127.0.0.1:1", "test")
    assert (absent.returncode, absent.stderr.startswith("graphtide-ingestion: ")) == (1, True)
