"""How a stream is divided into parts, as the log has it, and the topics of the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.ports.log import TopicPartition
from graphtide_log.window_log import between

from graphtide_preprocess.domain.registered import division_of, last_statement, ordered_names, statement_of

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log
    from graphtide_ordering.division import Division
    from graphtide_wire.topics import Topics


def read_division(log: Log, topics: Topics, stream: StreamName) -> Division | None:
    """Return how the last statement of a stream divides it; None if it does not, or there is none.

    Raises:
        TransientError: the log does not answer.
    """
    place = TopicPartition(topics.statements, 0)
    reader = log.reader(None)
    try:
        if place not in reader.partitions(place.topic):
            return None
        return division_of(statement_of(last_statement(between(reader, place, 0, reader.ends([place])[place][1]), stream)))
    finally:
        reader.close()


def make_parts(log: Log, topics: Topics, division: Division, retention_ms: int | None) -> None:
    """Make the ordered topics of parts that are not there; records are kept so long in them.

    Raises:
        TransientError: the log does not answer.
    """
    specs = [topics.of_view(part, retention_ms=retention_ms)[0] for part in ordered_names(division.stream, division)]
    log.admin().ensure(specs)
