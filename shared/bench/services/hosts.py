"""Parts that benchmarks of matcher hosts share: plans as the planner writes them, and a matcher beside a stream on Kafka."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_testing.deployment import Deployment
from graphtide_testing.many_patterns import SERVICE, STREAM, Written, fill, register
from graphtide_wire import control
from graphtide_wire.plans import form_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import Log, LogReader
    from graphtide_testing.deployment import Program
    from graphtide_wire.topics import Topics


def make_plan(topics: Topics, text: str, engine: str, **more: object) -> Message:
    """Return the plan of a pattern as the planner writes it, for shard 0 of `matcher_timing` if not asked otherwise."""
    (pattern,) = parse_subgraphs(text)
    own = {"version": 1, "epoch": 1, "service": SERVICE, "shard": 0, "desired": "running"}
    form = form_of(plan(pattern, engine).physical)
    record = control.PlanRecord(
        name=pattern.name,
        engine=engine,
        plan=form,
        pattern=control.PatternText(text),
        **(own | more),  # type: ignore[arg-type]
    )
    return Message(topics.plans, pattern.name.encode(), control.encode_plan(record))


class Filled(NamedTuple):
    """A matcher that has not started, and the ordered stream that it will read."""

    deployment: Deployment
    matcher: Program
    reader: LogReader
    place: TopicPartition
    end: int
    written: Written

    @property
    def committed(self) -> int | None:
        """Offset after the last record that the matcher has read; None before its first commit."""
        at = self.reader.committed([self.place])[self.place]
        return None if at is None else at.offset


@contextmanager
def fill_window(patterns: int, window: int, edges: int, together: int) -> Iterator[Filled]:
    """Start Kafka and Redis, register patterns, and fill the ordered topic; end all of it afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        deployment = Deployment(Path(folder))
        try:
            deployment.start_servers()
            log: Log = KafkaLog(KafkaConnection(deployment.kafka.bootstrap))
            log.admin().ensure([*deployment.topics.of_deployment(), *deployment.topics.of_stream(STREAM)])
            register(log, deployment.topics, patterns, window)
            written = fill(log, deployment.topics, edges, together)
            place = TopicPartition(deployment.topics.ordered(STREAM), 0)
            reader = log.reader(f"{deployment.topics.prefix}.{SERVICE}.0")
            _, end = reader.ends([place])[place]
            yield Filled(deployment, deployment.service(SERVICE), reader, place, end, written)
            reader.close()
        finally:
            deployment.end()
