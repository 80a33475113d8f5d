"""Edges that plans take over from the checkpoint of the host that ran them before, a frame at a time.

Invariant: of the records below `position`, all edges that the plans' state follows from were given. So the new host may
continue there from the log at any time, and does so if the rest is lost, damaged or ambiguous.
Cost: that of the edges; one segment is read at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec
import structlog
from graphtide_core.errors import TransientError, UnreadableStreamError
from graphtide_log.window_log import Instant
from graphtide_telemetry import events

from graphtide_matcher_host.checkpoint_form import decode_frames, key_of, read_contents, read_segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_native.records import EdgeBatch

    from graphtide_matcher_host.assignment import Running
    from graphtide_matcher_host.checkpoint_form import Contents, Frame
    from graphtide_matcher_host.stream_pass import StreamPass

_LOG = structlog.get_logger()


class Taken(NamedTuple):
    """Edges that a pass took and selected, and the offsets of the records of the first and the last that were there."""

    first: int
    last: int
    edges: EdgeBatch


class Handover:
    """The part of a checkpoint that serves some plans.

    Attributes:
        running: the plans that it serves.
        contents: as the checkpoint states them.
        position: offset of the record that the log is to be read from, after what was given; None before anything was.
    """

    def __init__(self, store: CheckpointStore, key: str, contents: Contents, running: Sequence[Running]) -> None:
        """Read a checkpoint that serves these plans."""
        self.running = running
        self.contents = contents
        self.position: int | None = None
        self._store = store
        self._key = key
        self._alive_from = contents.manifest.newest - max(each.assignment.window for each in running) + 1
        self._is_whole = False
        self._frames = self._read()

    @classmethod
    def found(cls, store: CheckpointStore, running: Sequence[Running], now: Instant | None = None) -> Self | None:
        """Return the checkpoint of the host that the first of some plans came from, for those of them that it serves.

        Args:
            store: where it may be.
            running: plans of one stream.
            now: the stream's position, if known: a checkpoint is of no use to a plan whose window ends after it.

        Returns:
            None if the plan did not come from a host, there is no checkpoint, or none that serves it.
        """
        came_from, stream = running[0].assignment.came_from, running[0].assignment.stream
        if came_from is None:
            return None
        key = key_of(came_from, stream)
        try:
            contents = read_contents(store, key)
        except TransientError as error:
            # The log has it all; only reading it takes longer.
            _LOG.warning(events.CHECKPOINT_UNAVAILABLE, error=str(error), stream=stream)
            return None
        if contents is None:
            return None
        made = Instant(contents.manifest.epoch, contents.manifest.newest)
        served = [
            each
            for each in running
            if each.assignment.came_from == came_from
            and contents.serves(each)
            and (now is None or made >= now.back(each.assignment.window))
        ]
        return cls(store, key, contents, served) if served else None

    def give(self, to: StreamPass, end: int) -> Taken | None:
        """Let a pass of the plans take the next frame, if all of it is of records below an offset.

        Returns:
            None at the end: the pass is where it continues from the log, if it took anything.

        Raises:
            DeletionsBeganError: the stream deletes edges, and the pass was made for one that does not.
        """
        frame, manifest = next(self._frames, None), self.contents.manifest
        if frame is None and self._is_whole:
            self.position = min(manifest.position, end)
            if manifest.position <= end:
                to.stand(self.position, manifest.newest, manifest.passed, manifest.number)
            else:
                to.stand(self.position, None, None, None)
        if frame is None or frame.last >= end:
            return None
        try:
            edges = to.restore(frame.edges, frame.first)
        except UnreadableStreamError as error:
            _LOG.warning(events.CHECKPOINT_UNAVAILABLE, error=str(error), stream=self.running[0].assignment.stream)
            return None
        to.position = self.position = frame.last + 1
        to.newest = frame.newest
        return Taken(frame.first, frame.last, edges)

    def _read(self) -> Iterator[Frame]:
        """Yield the frames that are in the window."""
        for segment in self.contents.manifest.segments:
            if segment.newest < self._alive_from:
                continue
            try:
                found = read_segments(self._store, self._key, [segment])
                frames = [] if found is None else decode_frames(found[0])
            except (TransientError, msgspec.MsgspecError) as error:
                _LOG.warning(events.CHECKPOINT_UNAVAILABLE, error=str(error), stream=self.running[0].assignment.stream)
                return
            if found is None:
                # It was replaced meanwhile.
                return
            for frame in frames:
                if frame.newest < self._alive_from:
                    continue
                if any(frame.spans(each.begins) for each in self.running):
                    return
                yield frame
        self._is_whole = True
