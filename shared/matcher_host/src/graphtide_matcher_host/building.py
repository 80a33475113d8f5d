"""Makes a pass at an offset, with the state of the window before it, from a checkpoint or from the log.

The log alone suffices. A checkpoint saves reading a window of it, for the plans that it serves. It is the host's own, or that
of the host that the plans come from. Plans that start before the offset report what they missed.
"""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import PoisonRecordError, TransientError, UnreadableStreamError
from graphtide_log.window_log import between
from graphtide_telemetry import events
from graphtide_telemetry.health import beat
from graphtide_wire import ordered

from graphtide_matcher_host.checkpointing import Recorder
from graphtide_matcher_host.handover import Handover
from graphtide_matcher_host.joining import Joining, Missed, replay_start
from graphtide_matcher_host.landmarks import Landmarks
from graphtide_matcher_host.stream_pass import DeletionsBeganError, StreamPass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.log import LogReader, Record, TopicPartition
    from graphtide_native.match_batch import EncodedMatch
    from graphtide_wire.ordered import OrderedHeader

    from graphtide_matcher_host.assignment import Running
    from graphtide_matcher_host.checkpointing import Checkpoint, Checkpointer

_LOG = structlog.get_logger()

_SLICE: Final = 1.0
"""Seconds that joining plans read at once before they compare positions."""


@dataclass(slots=True)
class Built:
    """A pass in progress.

    Attributes:
        stream_pass: the pass.
        recorder: what the pass selected since its last checkpoint.
        missed: matches that its plans have to report from before its position.
    """

    stream_pass: StreamPass
    recorder: Recorder = field(default_factory=Recorder)
    missed: list[Missed] = field(default_factory=list)

    def take(self, record: Record, header: OrderedHeader) -> list[EncodedMatch]:
        """Let the pass take a record with its header, and note what its state depends on; return the matches to report.

        With a record of another epoch of the stream it begins anew: no match has edges of two.

        Raises:
            UnreadableStreamError: the record is not what an ordered record must be; nothing of it was taken.
            DeletionsBeganError: the pass was made for a stream without deletions; nothing was taken.
        """
        batch = self.stream_pass.decode(record)
        if header.epoch != self.stream_pass.epoch:
            self.stream_pass, self.recorder = self.stream_pass.anew(header.epoch, record.offset), Recorder()
            batch = self.stream_pass.decode(record)
        of = self.stream_pass
        if of.plans.begins_between(of.position, record.offset):
            self.recorder.cut()
        matches = [match for part in of.push(batch, record.offset, header) for match in part]
        self.recorder.add(of.selected(batch), record.offset)
        return matches


class Builder:
    """Builds the passes of one stream.

    Attributes:
        landmarks: what is known of the log, for plans that join.
    """

    def __init__(self, reader: LogReader, partition: TopicPartition, checkpoints: Checkpointer, store: CheckpointStore) -> None:
        """Read the stream's ordered log with a reader that is not used elsewhere meanwhile.

        Args:
            reader: of the log.
            partition: of the stream's ordered edges.
            checkpoints: the host's own.
            store: where other hosts keep the checkpoints of plans that come from them.
        """
        self._reader = reader
        self._partition = partition
        self._checkpoints = checkpoints
        self._store = store
        self.landmarks = Landmarks()

    def build(self, running: Sequence[Running], position: int, *, deletions: bool = False) -> Built:
        """Return a pass of these plans at `position`.

        Raises:
            TransientError: the log does not answer.
        """
        while True:
            try:
                return (
                    self._restored(running, position, deletions)
                    or self._handed_over(running, position, deletions)
                    or self._replayed(running, position, deletions)
                )
            except DeletionsBeganError:
                deletions = True

    def join(self, built: Built, running: Sequence[Running]) -> Built:
        """Let plans join a pass at once; return it, or another with its plans and these if they cannot join it.

        Raises:
            TransientError: the log does not answer.
        """
        left = {each.assignment.name: each for each in running}
        while left:
            try:
                joining = self.joining(built, list(left.values()), self._reader)
                try:
                    while not joining.follow(_SLICE):
                        pass
                finally:
                    joining.give_back()
                built, joined = self.admit(built, joining, math.inf)
            except DeletionsBeganError:
                return self.with_deletions(built, list(left.values()))
            for each in joined:
                del left[each.assignment.name]
        return built

    def joining(self, built: Built, running: Sequence[Running], reader: LogReader) -> Joining:
        """Return plans that join a pass and read with a reader of their own: at least one of these.

        Raises:
            TransientError: the log does not answer.
        """
        return Joining(running, built.stream_pass, reader, self._partition, landmarks=self.landmarks, checkpoints=self._store)

    def admit(self, built: Built, joining: Joining, seconds: float) -> tuple[Built, list[Running]]:
        """Let plans join a pass at the same position; return it, or another if they cannot join it, and the plans.

        Raises:
            TransientError: the log does not answer.
        """
        self._checkpoints.keep(built.stream_pass)
        # Edges that are selected from now on may have more attributes.
        built.recorder.cut()
        joined = joining.join(seconds)
        if joined is None:
            return self._anew(built, joining.running, deletions=built.stream_pass.deletions), list(joining.running)
        plans, missed = joined
        built.missed += missed
        return built, plans

    def with_deletions(self, built: Built, running: Sequence[Running]) -> Built:
        """Return a pass with more plans, for a stream that proved to delete edges.

        Raises:
            TransientError: the log does not answer.
        """
        return self._anew(built, running, deletions=True)

    def _anew(self, built: Built, more: Sequence[Running], *, deletions: bool) -> Built:
        of = built.stream_pass
        anew = self.build([*of.plans.running_from(of.position), *more], of.position, deletions=deletions)
        anew.missed += built.missed
        return anew

    def _restored(self, running: Sequence[Running], position: int, deletions: bool) -> Built | None:
        """Continue from the checkpoint with the plans that it serves, if it serves one; the others join."""
        found = self._loaded()
        if found is None or found.contents.manifest.position > position:
            return None
        served: list[Running] = []
        others: list[Running] = []
        for each in running:
            (served if found.serves(each) else others).append(each)
        if not served:
            return None
        manifest = found.contents.manifest
        built = Built(StreamPass(served, deletions=deletions or manifest.deletions))
        built.stream_pass.coverage.restore(found.contents.forms, manifest.attributes)
        try:
            for frame in found.frames:
                built.stream_pass.restore(frame.edges, frame.first)
        except UnreadableStreamError as error:
            _LOG.warning(events.CHECKPOINT_UNAVAILABLE, error=str(error), topic=self._partition.topic)
            return None
        built.stream_pass.stand(manifest.position, manifest.newest, manifest.passed, manifest.number)
        built.stream_pass.epoch = manifest.epoch
        built.stream_pass.mark_shed(manifest.shed)
        self._follow(built, manifest.position, position)
        return self.join(built, others) if others else built

    def _loaded(self) -> Checkpoint | None:
        try:
            return self._checkpoints.load()
        except TransientError as error:
            # The log has it all; only reading it takes longer.
            _LOG.warning(events.CHECKPOINT_UNAVAILABLE, error=str(error), topic=self._partition.topic)
            return None

    def _handed_over(self, running: Sequence[Running], position: int, deletions: bool) -> Built | None:
        """Continue from the checkpoint of the host that all these plans come from, if it serves all."""
        handover = Handover.found(self._store, running)
        if handover is None or len(handover.running) < len(running) or handover.contents.manifest.position > position:
            return None
        self._checkpoints.start_anew()
        manifest = handover.contents.manifest
        built = Built(StreamPass(running, deletions=deletions or manifest.deletions))
        built.stream_pass.coverage.restore(handover.contents.forms, manifest.attributes)
        built.stream_pass.epoch = manifest.epoch
        while (taken := handover.give(built.stream_pass, position)) is not None:
            built.recorder.add(taken.edges, taken.first, taken.last)
            built.recorder.cut()
            beat()
        if handover.position is None:
            return None
        self._follow(built, handover.position, position)
        return built

    def _replayed(self, running: Sequence[Running], position: int, deletions: bool) -> Built:
        """Read the log from where the window of the earliest report begins."""
        self._checkpoints.start_anew()
        built = Built(StreamPass(running, deletions=deletions))
        start, built.stream_pass.epoch = replay_start(running, position, reader=self._reader, partition=self._partition)
        built.stream_pass.position = start
        self._follow(built, start, position)
        return built

    def _follow(self, built: Built, start: int, position: int) -> None:
        with closing(between(self._reader, self._partition, start, position)) as records:
            for record in records:
                try:
                    # A record that was rejected for its headers is not taken when it is read again.
                    header = ordered.header(record.headers)
                    matches = built.take(record, header)
                    built.missed += [Missed(record, header, matches)] if matches else []
                except (UnreadableStreamError, PoisonRecordError) as error:
                    _LOG.warning(events.ORDERED_UNREADABLE, error=str(error), topic=record.topic, offset=record.offset)
        built.stream_pass.position = position
