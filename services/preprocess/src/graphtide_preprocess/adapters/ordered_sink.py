"""The sink: the one task that has a batch's messages commits it to the log, in an executor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from graphtide_preprocess.adapters import rows
from graphtide_preprocess.adapters.log_ranges import log_of
from graphtide_preprocess.application.committing import MicroBatchWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from graphtide_core.ids import StreamName
    from graphtide_log.kafka import KafkaConnection
    from graphtide_wire.topics import Topics
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class Writing:
    """Where to write: the log, and whose stream."""

    connection: KafkaConnection
    topics: Topics
    stream: StreamName


_WRITERS: dict[Writing, MicroBatchWriter] = {}
"""Writers of the process: opening one takes longer than a small batch."""


class OrderedWriter(DataSourceStreamArrowWriter):
    """Commits micro-batches."""

    def __init__(self, writing: Writing) -> None:
        """Open nothing: this travels to executors."""
        self._writing = writing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Commit the micro-batch, if the task was given one."""
        writing = self._writing
        texts = (text.as_py() for batch in iterator for text in batch.column("text"))
        given = rows.micro_batch_of(texts)
        if given is not None:
            known = _WRITERS.get(writing)
            if known is None:
                known = _WRITERS[writing] = MicroBatchWriter(log_of(writing.connection), writing.topics, writing.stream)
            known.commit(*given)
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: the log has committed."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: a micro-batch is there or not."""


class OrderedSink(DataSource):
    """The sink; `of` makes one that knows where to write."""

    writing: Writing

    @classmethod
    def name(cls) -> str:
        """Return what writers call it."""
        return f"graphtide-ordered-{cls.writing.topics.prefix}-{cls.writing.stream}"

    def streamWriter(self, schema: StructType, overwrite: bool) -> OrderedWriter:  # noqa: ARG002 - Spark's name
        """Return the writer."""
        return OrderedWriter(self.writing)

    @classmethod
    def of(cls, writing: Writing) -> type[OrderedSink]:
        """Return the sink that writes there."""
        return type("OrderedSink", (cls,), {"writing": writing})
