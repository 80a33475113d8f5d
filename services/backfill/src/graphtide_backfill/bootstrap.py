"""The one place where a backfill is put together."""

from __future__ import annotations

import shutil
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.errors import FatalError, InvalidQueryError
from graphtide_core.ids import StreamName
from graphtide_core.installing import line_for
from graphtide_core.merged_streams import part_in, sources
from graphtide_core.ports.log import TopicSpec
from graphtide_log.deployment_topics import topics_on
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_native.spec import Limits
from graphtide_query import parse
from graphtide_serving.clock import SystemClock

from graphtide_backfill.adapters.files import Files
from graphtide_backfill.adapters.java import refuse_without_java
from graphtide_backfill.adapters.named_streams import NamedStreams
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.adapters.ordered_topic import OrderedTopic
from graphtide_backfill.adapters.part_topics import PartTopics
from graphtide_backfill.adapters.result_folder import ResultFolder
from graphtide_backfill.adapters.statement_files import StatementFiles
from graphtide_backfill.application.backfill import Asked, Backfill, refuse_missing_attributes, refuse_missing_columns
from graphtide_backfill.application.publishing import Publisher, read_written
from graphtide_backfill.application.serving import Operations
from graphtide_backfill.domain.sizing import Machine
from graphtide_backfill.domain.task import Task
from graphtide_backfill.entrypoints.request import SparkRequest, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from threading import Event

    from graphtide_core.attribute_type import AttributeType
    from graphtide_core.ports.log import Log
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.time import TimeUnit
    from graphtide_wire.operations import OperationRecord
    from graphtide_wire.topics import Topics

    from graphtide_backfill.application.backfill import Prepared, Progress, RunTotals
    from graphtide_backfill.application.manifest import Manifest
    from graphtide_backfill.application.pieces import History
    from graphtide_backfill.application.ports import Cluster
    from graphtide_backfill.domain.slices import Cut
    from graphtide_backfill.settings import BackfillSettings

CLIENT = "graphtide-backfill"


@contextmanager
def spark_cluster(request: SparkRequest) -> Iterator[Cluster]:
    """Give a cluster, and release it at the end.

    Raises:
        FatalError: PySpark or Java is not installed, or the cluster is not reached.
    """
    try:
        from graphtide_backfill.adapters.spark_cluster import SparkCluster  # noqa: PLC0415 - all but this works without Spark
    except ImportError as error:
        message = f"a backfill needs PySpark, which is not installed: {line_for('spark')}"
        raise FatalError(message) from error
    refuse_without_java()
    try:
        cluster = SparkCluster(request.master, request.executor_bytes, request.settings)
    except Exception as error:  # PySpark raises what its gateway does.
        message = f"no Spark at {request.master}: {str(error).partition(chr(10))[0]}"
        raise FatalError(message) from error
    try:
        yield cluster
    finally:
        cluster.close()


def check(task: Task, history: History, mapped: Mapping[str, str] | None = None) -> None:
    """Look at what can be known of history before a cluster is there.

    `mapped` are the columns that fields of a record are read from; each part of history with columns must have them.

    Raises:
        InvalidPatternError: a pattern can never match, since it reads an attribute that history does not have.
        UnreadableStreamError: history is not there, is not of its format, or lacks a column.
    """
    history.fingerprint()
    refuse_missing_columns(mapped or {}, history)
    refuse_missing_attributes(task, history)


def files(
    location: str, format: str, columns: Mapping[str, str], delimiter: str, types: Mapping[str, AttributeType]
) -> History:
    """Return files as history."""
    return Files(location, format, columns, delimiter, {name: kind.value for name, kind in types.items()})


def statement_files(location: str, definition: StreamDefinition, format: str) -> History:
    """Return files that a STREAM statement defines as history.

    Raises:
        InvalidQueryError: the statement asks for what no backfill does.
    """
    if definition.duplicates not in {None, DuplicatePolicy.REJECT}:
        policy = definition.duplicates.value
        message = f"STREAM {definition.name}: a backfill drops duplicates, it has no DUPLICATES {policy}"
        raise InvalidQueryError(message)
    return StatementFiles(location, definition, format)


def ordered_topic(brokers: str, topic: str) -> OrderedTopic:
    """Return the ordered topic of a stream as history."""
    return OrderedTopic(KafkaAt(KafkaConnection(brokers, CLIENT)), topic)


def named_streams(streams: Mapping[str, History]) -> History:
    """Return several streams by name as history."""
    return NamedStreams(streams)


def ordered_topics(topics: Mapping[str, OrderedTopic | PartTopics]) -> History:
    """Return the ordered topics of several streams as history: the newest epoch that all of them began.

    Raises:
        UnreadableStreamError: there is no such topic.
    """
    epoch = min(each.newest_epoch() for each in topics.values())
    return NamedStreams({name: each.at(epoch) for name, each in topics.items()})


@dataclass(frozen=True, slots=True)
class KafkaAt:
    """Makes a log where it is called, here or in an executor."""

    connection: KafkaConnection

    def __call__(self) -> Log:
        """Return a log."""
        return KafkaLog(self.connection)


@dataclass(slots=True)
class Run:
    """A backfill put together; `prepare`, then `execute`, in the same `with` of its cluster.

    Attributes:
        backfill: the run itself.
        results: where it keeps what it finds.
        to: where matches are published; None keeps them in the folder alone.
    """

    backfill: Backfill
    results: ResultFolder
    to: Published | None

    def execute(self, prepared: Prepared, unit: TimeUnit) -> RunTotals:
        """Match what is not finished, and publish it, finished slices first.

        Raises:
            CancelledError: the run is not wanted any more.
            OtherRunError: it was published before and cut otherwise.
            FencedError: another process publishes the same run.
            FatalError: it cannot continue.
        """
        if self.to is None:
            return self.backfill.run(prepared)
        publisher = self.to.publisher(prepared.manifest, unit)
        try:
            self.backfill.also(lambda: self._publish(publisher))
            totals = self.backfill.run(prepared)
            self._publish(publisher)
        finally:
            publisher.close()
        return totals

    def _publish(self, publisher: Publisher) -> None:
        for number in self.results.finished():
            publisher.publish(number, self.results.records(number))


@dataclass(frozen=True, slots=True)
class Published:
    """Where matches go: a topic, and the topic of operations beside it.

    Attributes:
        log: where both are.
        topic: of the matches.
        operations: says how runs are cut and which of their slices are written.
        run: name of the run; None is one for all runs that find the same.
    """

    log: Log
    topic: str
    operations: str
    run: str | None = None

    def cut(self, manifest: Manifest) -> Cut | None:
        """Return how a run was cut that was written before; None was not."""
        return read_written(self.log, self.operations, self._run(manifest)).cut

    def publisher(self, manifest: Manifest, unit: TimeUnit) -> Publisher:
        """Return what writes the matches of a run."""
        return Publisher(self.log, self.topic, self.operations, self._run(manifest), manifest.cut, unit=unit)

    def _run(self, manifest: Manifest) -> str:
        return self.run or manifest.run(self.topic)


def backfill(
    task: Task,
    history: History,
    cluster: Cluster,
    folder: Path,
    asked: Asked,
    *,
    on_progress: Callable[[Progress], None],
    stop: Event,
    to: Published | None = None,
) -> Run:
    """Put a backfill together; it continues with what the folder keeps, and ends when `stop` is set."""
    results = ResultFolder(folder)
    run = Backfill(
        task,
        history,
        cluster,
        results,
        asked,
        on_progress=on_progress,
        is_wanted=lambda: not stop.is_set(),
        cut_before=to.cut if to is not None else None,
    )
    return Run(run, results, to)


def publish(brokers: str, topic: str, prefix: str) -> Published:
    """Return where matches go, its topics made if they are not there."""
    log = KafkaLog(KafkaConnection(brokers, CLIENT))
    topics = topics_on(log, prefix)
    log.admin().ensure([TopicSpec(topic), TopicSpec(topics.operations, compacted=True)])
    return Published(log, topic, topics.operations)


def operations(settings: BackfillSettings, log: Log) -> Operations:
    """Return the worker that does on Spark what users ask for over the log."""
    request = SparkRequest(settings.master, size(settings.executor_memory), settings.spark)
    return _operations(settings, log, KafkaAt(settings.kafka.connection(CLIENT)), partial(spark_cluster, request))


def operations_in_process(settings: BackfillSettings, log: Log) -> Operations:
    """Return the worker that does the same in this process, without Spark: history must fit into its memory."""
    machine = Machine(1, size(settings.executor_memory))
    return _operations(settings, log, lambda: log, lambda: nullcontext(OneProcess(machine)))


def _operations(
    settings: BackfillSettings, log: Log, place: Callable[[], Log], cluster: Callable[[], AbstractContextManager[Cluster]]
) -> Operations:
    topics = topics_on(log, settings.prefix)
    return Operations(log, topics, SystemClock(), OverTheLog(place, topics, settings.folder, cluster))


@dataclass(frozen=True, slots=True)
class OverTheLog:
    """Does backfills of ordered topics into the topic of matches.

    Attributes:
        log: makes a log, here or in an executor.
        topics: of the deployment.
        folder: keeps finished slices, a folder for each operation.
        cluster: gives a cluster for one operation.
    """

    log: Callable[[], Log]
    topics: Topics
    folder: Path
    cluster: Callable[[], AbstractContextManager[Cluster]]

    def __call__(self, asked: OperationRecord, on_progress: Callable[[Progress], None], stop: Event) -> None:
        """See `Work`."""
        streams = self._histories(StreamName(asked.stream), by_vertex=asked.by_vertex is True)
        unit = next(iter(streams.values())).unit()
        is_named = len(streams) > 1
        (history,) = (ordered_topics(streams),) if is_named else streams.values()
        patterns = tuple(replace(pattern, version=asked.version) for pattern in parse(asked.text))
        # Live patterns may save up work for time that passes; in history no time passes, so work has no bound but the user's.
        held = asked.limits.effective
        limits = Limits(held.partial_matches, held.state_bytes, held.policy, asked.limits.steps)
        task = Task(patterns, asked.engine, unit, limits=limits, streams=frozenset(streams if is_named else ()))
        to = Published(self.log(), self.topics.matches, self.topics.operations, asked.id)
        folder = self.folder / asked.id
        with self.cluster() as cluster:
            run = backfill(
                task, history, cluster, folder, Asked(asked.start, asked.end), on_progress=on_progress, stop=stop, to=to
            )
            run.execute(run.backfill.prepare(), unit)
        shutil.rmtree(folder)

    def _histories(self, stream: StreamName, *, by_vertex: bool) -> dict[str, OrderedTopic | PartTopics]:
        """Return the histories of the streams that an ordered stream consists of, by the names that patterns have for them."""
        found: dict[str, OrderedTopic | PartTopics] = {}
        for name in sources(stream):
            topic, part = OrderedTopic(self.log, self.topics.ordered(name)), part_in(name)
            if part is None:
                found[name] = topic
                continue
            known = found.get(part.whole)
            before = known.parts if isinstance(known, PartTopics) else {}
            found[part.whole] = PartTopics({**before, part.number: topic}, by_vertex)
        return found
