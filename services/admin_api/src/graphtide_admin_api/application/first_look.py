"""What may be misspelt in a pattern whose stream was not counted yet: a look at the end of its stream.

Statistics are of streams that patterns read, so at the first pattern there are none. Cost: one question to the log for the ends
of all streams, and the last few ordered records of one.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import PoisonRecordError, TransientError, UnreadableStreamError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import logical_stream
from graphtide_core.ports.log import TopicPartition
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_native.statistics import StreamStatistics
from graphtide_query.known_names import SeenNames, lacking_stream
from graphtide_wire import ordered

from graphtide_admin_api.application.view import asked_names

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log, LogReader
    from graphtide_wire.control import PatternRecord
    from graphtide_wire.topics import Topics

_MOST_RECORDS: Final = 64
_PATIENCE: Final = 2.0


class FirstLook:
    """Looks at streams; safe for threads, a reader of its own each call."""

    def __init__(self, log: Log, topics: Topics) -> None:
        """Work on a log."""
        self._log = log
        self._topics = topics

    def warnings(self, record: PatternRecord) -> list[str]:
        """Return what may be misspelt in a pattern; nothing where the log does not answer, for it is a hint alone."""
        try:
            with closing(self._log.reader(None)) as reader:
                return self._warnings(record, reader)
        except (TransientError, PoisonRecordError, UnreadableStreamError):
            return []

    def _warnings(self, record: PatternRecord, reader: LogReader) -> list[str]:
        places = [TopicPartition(self._topics.ordered(stream), 0) for stream in record.ordered_streams]
        filled = {place: (first, end) for place, (first, end) in reader.ends(places).items() if first != end}
        if not filled:
            hint = lacking_stream(logical_stream(StreamName(record.stream)), self._with_edges(reader))
            return [] if hint is None else [hint]
        # Keys are in parts by their hashes, so one part has the names that others have.
        place, (first, end) = next(iter(filled.items()))
        seen = self._seen(reader, place, max(first, end - _MOST_RECORDS))
        return list(seen.lacking(asked_names(record.text)))

    def _with_edges(self, reader: LogReader) -> set[str]:
        """Return the streams that have, or had, ordered edges."""
        there = {topic: name for topic in self._log.admin().topics() if (name := self._topics.stream_of(topic)) is not None}
        begin = f"{self._topics.prefix}.ordered."
        places = {TopicPartition(topic, 0): name for topic, name in there.items() if topic.startswith(begin)}
        filled = {places[place] for place, (_, end) in reader.ends(places).items() if end > 0} if places else set()
        return {logical_stream(StreamName(name)) for name in filled}

    def _seen(self, reader: LogReader, place: TopicPartition, start: int) -> SeenNames:
        """Return the labels of the last edges."""
        symbols = Symbols()
        decoder, counted = ArrowDecoder(symbols, [], {}), StreamStatistics(symbols, 2**62, deletions=True)
        reader.assign({place: start})
        for record in reader.poll(_PATIENCE, _MOST_RECORDS):
            if ordered.header(record.headers).records:
                counted.push(decoder.decode(record.value or b""))
        return SeenNames.of(counted.snapshot())
