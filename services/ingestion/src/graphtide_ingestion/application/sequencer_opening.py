"""What a sequencer or divider holds while it is open, opened side by side: each client connects and waits for the log itself.

The transactor shuts out the last owner. What was registered is read meanwhile, and caught up with afterwards: the last owner
may have ordered records by a statement that came in between. Nothing that the owner wrote is read before it is shut out.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from graphtide_core.errors import TransientError
from graphtide_core.merged_streams import whole_of
from graphtide_log.registered_lookbacks import RegisteredLookbacks
from graphtide_serving.opened import close_all

from graphtide_ingestion.application.stream_statements import StreamStatements

if TYPE_CHECKING:
    from concurrent.futures import Future

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, LogReader, LogTransactor, TopicPartition
    from graphtide_ordering.statements import StatementSurroundings
    from graphtide_serving.opened import Closing
    from graphtide_wire.topics import Topics

_AT_ONCE: Final = 4
_Closing = TypeVar("_Closing", bound="Closing")


@dataclass(frozen=True, slots=True)
class Opening:
    """What is open, and the partitions of the raw topic by their numbers."""

    transactor: LogTransactor
    reader: LogReader
    registered: RegisteredLookbacks
    statements: StreamStatements
    places: dict[int, TopicPartition]


def open_sequencer(
    log: Log,
    topics: Topics,
    stream: StreamName,
    id: str,
    surroundings: StatementSurroundings,
    *,
    group: str | None = None,
) -> Opening:
    """Shut out the last owner of an id, and read what was registered by then; the reader is of a group, or of the id.

    Raises:
        TransientError: a topic is not there, or the log does not answer.
    """
    transactor, reader = log.transactor(id), log.reader(group or id)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix=id) as threads:
        taken = threads.submit(transactor.open)
        places = threads.submit(_find_places, reader, topics.raw(stream))
        registered = threads.submit(RegisteredLookbacks, log, topics.patterns)
        statements = threads.submit(StreamStatements, log, topics.statements, whole_of(stream), surroundings)
    try:
        taken.result()
        opening = Opening(transactor, reader, registered.result(), statements.result(), places.result())
        opening.registered.catch_up()
        opening.statements.catch_up()
    except BaseException:
        close_all([reader, _take_opened(registered), _take_opened(statements), transactor])
        raise
    return opening


def _find_places(reader: LogReader, topic: str) -> dict[int, TopicPartition]:
    places = {place.partition: place for place in reader.partitions(topic)}
    if not places:
        message = f"there is no topic {topic}"
        raise TransientError(message)
    return places


def _take_opened(future: Future[_Closing]) -> _Closing | None:
    return None if future.exception() is not None else future.result()
