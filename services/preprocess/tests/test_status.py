"""The status of a stream follows from its log: what the job committed, and what it has not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FatalError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, Position, TopicPartition
from graphtide_log.memory import MemoryLog
from graphtide_ordering.progress_reports import micro_batches_of
from graphtide_ordering.stream_progress import Counted, StreamProgress
from graphtide_preprocess.application.committing import MicroBatchWriter
from graphtide_preprocess.application.micro_batch import MicroBatch
from graphtide_preprocess.application.status import StreamStatus, read_status
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log

TOPICS = Topics("test")
FLOWS = StreamName("flows")
PROGRESS = StreamProgress(1, 70, 75, Counted(read=9, late=1, ordered=8))


@pytest.fixture(name="log")
def log_with_five_raw_records() -> Log:
    log = MemoryLog()
    log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(FLOWS, partitions=2)])
    writer = log.writer()
    writer.write([Message(TOPICS.raw(FLOWS), None, b"{}", partition=number % 2) for number in range(5)])
    writer.flush(5)
    return log


def test_before_the_first_batch_all_is_behind(log: Log) -> None:
    assert read_status(log, TOPICS, FLOWS) == StreamStatus("flows", behind=5)


def test_the_last_mark_says_how_far_the_job_is(log: Log) -> None:
    writer = MicroBatchWriter(log, TOPICS, FLOWS, TOPICS.raw(FLOWS))
    writer.commit(MicroBatch(4, 0, 0, 8, 3, PROGRESS), [], {})
    assert read_status(log, TOPICS, FLOWS) == StreamStatus("flows", 4, 8, 2, 1, 70, 75, PROGRESS.counted)
    writer.commit(MicroBatch(5, 4, 8, 12, 5, PROGRESS), [], {})
    writer.close()
    found = read_status(log, TOPICS, FLOWS)
    assert (found.micro_batch, found.ordered, found.behind) == (5, 12, 0)


def test_a_mark_of_another_program_is_refused(log: Log) -> None:
    transactor = log.transactor("other")
    transactor.open()
    transactor.begin()
    transactor.commit(micro_batches_of(TOPICS, FLOWS), {TopicPartition(TOPICS.ordered(FLOWS), 0): Position(1, "{}")})
    transactor.close()
    with pytest.raises(FatalError, match="is not of this job"):
        read_status(log, TOPICS, FLOWS)
