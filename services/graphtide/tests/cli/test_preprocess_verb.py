"""`preprocess status` says how far the job on Spark is, from a real log; it names what is missing."""

from __future__ import annotations

import json
import uuid

import pytest
from graphtide.cli.app import app
from graphtide_core.errors import FatalError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_ordering.stream_progress import StreamProgress
from graphtide_preprocess.application.committing import MicroBatchWriter
from graphtide_preprocess.application.micro_batch import MicroBatch
from graphtide_wire.topics import Topics
from typer.testing import CliRunner

FLOWS = StreamName("flows")


def test_the_status_of_a_stream_is_a_line_of_json(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = Topics(f"status-{uuid.uuid4().hex[:8]}")
    log = KafkaLog(KafkaConnection(kafka))
    log.admin().ensure([*topics.of_deployment(), *topics.of_stream(FLOWS)])
    raw = log.writer()
    raw.write([Message(topics.raw(FLOWS), None, b"{}", partition=0) for _ in range(3)])
    raw.flush(30)
    writer = MicroBatchWriter(log, topics, FLOWS, topics.raw(FLOWS))
    writer.commit(MicroBatch(7, 0, 0, 40, 2, StreamProgress(0, 90, 99)), [], {0: 2})
    writer.close()
    monkeypatch.setenv("GRAPHTIDE_PREPROCESS_KAFKA__BOOTSTRAP", kafka)
    monkeypatch.setenv("GRAPHTIDE_PREPROCESS_PREFIX", topics.prefix)
    monkeypatch.setenv("GRAPHTIDE_PREPROCESS_STREAMS", '["flows"]')
    for given in ([], ["flows"]):
        ended = CliRunner().invoke(app, ["preprocess", "status", *given])
        assert ended.exit_code == 0, ended.output
        found = json.loads(ended.stdout)
        assert (found["stream"], found["micro_batch"], found["ordered"], found["behind"]) == ("flows", 7, 40, 1)
        assert (found["watermark"], found["newest"]) == (90, 99)


def test_without_a_stream_it_says_what_to_set() -> None:
    with pytest.raises(FatalError, match="GRAPHTIDE_PREPROCESS_STREAMS is not set"):
        CliRunner().invoke(app, ["preprocess", "status"], catch_exceptions=False)
