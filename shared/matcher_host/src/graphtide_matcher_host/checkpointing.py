"""Checkpoints of a pass: the edges that its state follows from, in segments; a new checkpoint adds the newest.

A segment holds frames: the edges selected up to a position, as Arrow. Frames end where a plan starts, so a host that restores
them knows which matches were reported. What has left the longest window is dropped by segments. When there are many segments,
the oldest are merged, so that a long window does not make many of them. Frames and segments are bounded, so that another host
can take them over a little at a time. A segment of its own says which edges were kept, and since when. It is written when plans
came or went. If a plan came while the stream ran, the checkpoint may lack earlier edges, or their attributes. It serves the
plan once those edges have left its window. An incomplete checkpoint counts as lost, and the log is read instead.
Cost of a save: O(edges selected since the last), and now and then the merge of a pair. It grows with the plans only where they
changed or a limit made them give up matches.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from graphtide_matcher_host.checkpoint_form import (
    Contents,
    Frame,
    Manifest,
    Segment,
    decode_frames,
    describe,
    encode_manifest,
    read_contents,
    read_segments,
)
from graphtide_matcher_host.coverage import ALWAYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_native.records import EdgeBatch

    from graphtide_matcher_host.assignment import Running
    from graphtide_matcher_host.stream_pass import StreamPass

MOST_SEGMENTS: Final = 64
"""With more segments than this, some are merged."""

MOST_BYTES: Final = 1024 * 1024
"""Bytes of a segment of more than one frame: another host takes it over in milliseconds, between two rounds."""

_MOST_EDGES: Final = 4_096
"""Edges that end a frame: milliseconds likewise."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint: its contents, and its frames, oldest first."""

    contents: Contents
    frames: list[Frame]

    def serves(self, running: Running) -> bool:
        """Whether a plan can continue from here: all its state is in it, and it has nothing to report from before.

        Complexity: O(query edges + log(frames)).
        """
        return self.contents.serves(running) and not self._spans(running.begins)

    def _spans(self, offset: int) -> bool:
        place = bisect_left(self.frames, offset, key=lambda frame: frame.first) - 1
        return place >= 0 and self.frames[place].spans(offset)


@dataclass(slots=True)
class Recorder:
    """Collects what a pass selects until it is saved.

    Attributes:
        frames: what was collected, up to the last cut.
    """

    frames: list[Frame] = field(default_factory=list)
    _batches: list[EdgeBatch] = field(default_factory=list)
    _edges: int = 0
    _first: int = 0
    _last: int = 0

    def add(self, selected: EdgeBatch, first: int, last: int | None = None) -> None:
        """Take edges that the pass selected of the record at an offset, or of those from one to another."""
        if len(selected):
            self._first = self._first if self._batches else first
            self._last = first if last is None else last
            self._batches.append(selected)
            self._edges += len(selected)
            if self._edges >= _MOST_EDGES:
                self.cut()

    def cut(self) -> None:
        """End the frame."""
        if self._batches:
            first, *others = self._batches
            edges = (first.followed_by(others) if others else first).to_arrow()
            self.frames.append(Frame(self._first, self._last, self._batches[-1].last_ts or 0, edges))
            self._batches, self._edges = [], 0

    def expire(self, alive_from: int) -> None:
        """Forget frames whose edges are all before a time: what could not be saved for long must not fill memory."""
        self.frames = [frame for frame in self.frames if frame.newest >= alive_from]

    def forget(self) -> None:
        """Forget the frames: they were saved."""
        self.frames = []


class Checkpointer:
    """Saves and loads the checkpoints of one stream's pass."""

    def __init__(self, store: CheckpointStore, key: str) -> None:
        """Keep them in a store under a key; segments get names that no other owner of the key gives."""
        self._store = store
        self._key = key
        self._lineage = secrets.token_hex(8)
        self._count = 0
        self._segments: tuple[Segment, ...] = ()
        self._forms: tuple[Mapping[str, int], Segment] | None = None
        self._epoch = 0
        self._since = ALWAYS

    def load(self) -> Checkpoint | None:
        """Return the newest checkpoint, if there is a whole one of a known format; saves continue from it.

        Raises:
            TransientError: the store does not answer.
        """
        self.start_anew()
        contents = read_contents(self._store, self._key)
        if contents is None:
            return None
        manifest = contents.manifest
        segments = read_segments(self._store, self._key, manifest.segments)
        if segments is None:
            return None
        try:
            frames = [frame for segment in segments for frame in decode_frames(segment)]
        except msgspec.MsgspecError:
            return None
        self._segments, self._forms, self._epoch = manifest.segments, (contents.forms, manifest.forms), manifest.epoch
        self._since = manifest.since
        return Checkpoint(contents, frames)

    def start_anew(self) -> None:
        """Save whole from now on: the pass was not made from what was loaded."""
        self._segments = ()
        self._forms = None
        self._since = ALWAYS

    def keep(self, of: StreamPass) -> None:
        """Note that edges outside the pass's longest window may be missing; call it before the window changes."""
        self._since = max(self._since, of.alive_from)

    def save(self, of: StreamPass, frames: list[Frame]) -> int:
        """Save what the pass selected since the last save, and its position; return how many bytes that took.

        Raises:
            TransientError: the store does not answer or has no room; what was not saved must be given again.
        """
        if of.newest is None:
            return 0
        known = self._segments
        if self._epoch != of.epoch:
            known, self._since = (), ALWAYS
        self.keep(of)
        kept = [segment for segment in known if segment.newest >= of.alive_from]
        added: dict[str, bytes] = {}
        for some in _split_frames(frames):
            kept.append(self._added(some, some[-1].newest, added))
        if sum(segment.size < MOST_BYTES // 2 for segment in kept) > MOST_SEGMENTS:
            kept = self._merged(kept, added)
        forms = self._saved_forms(of.coverage.forms) or self._added(of.coverage.forms, of.newest, added)
        manifest = Manifest(
            position=of.position,
            newest=of.newest,
            unit=of.unit.value,
            since=self._since,
            forms=forms,
            attributes=of.coverage.attributes_since,
            deletions=of.deletions,
            shed=of.shed,
            segments=tuple(kept),
            epoch=of.epoch,
            passed=of.passed,
            number=of.number,
        )
        names = [segment.name for segment in (forms, *kept) if segment.name not in added]
        encoded = encode_manifest(manifest)
        self._store.save(self._key, encoded, added, names)
        self._segments, self._forms, self._epoch = manifest.segments, (of.coverage.forms, forms), of.epoch
        return len(encoded) + sum(map(len, added.values()))

    def _saved_forms(self, forms: Mapping[str, int]) -> Segment | None:
        """Return the segment that has these very forms already."""
        if self._forms is None:
            return None
        saved, segment = self._forms
        return segment if saved is forms or saved == forms else None

    def _name(self) -> str:
        self._count += 1
        return f"{self._lineage}-{self._count}"

    def _merged(self, segments: list[Segment], added: dict[str, bytes]) -> list[Segment]:
        """Merge neighbours of the older half, two by two, where they are small enough together."""
        half = len(segments) // 2
        pairs = _pairs([segment for segment in segments[:half] if segment.name not in added])
        found = read_segments(self._store, self._key, [segment for pair in pairs for segment in pair])
        if found is None:
            return segments
        into: dict[str, Segment | None] = {}
        for place, (one, other) in enumerate(pairs):
            frames = [frame for part in found[2 * place : 2 * place + 2] for frame in decode_frames(part)]
            into |= {one.name: self._added(frames, other.newest, added), other.name: None}
        return [merged for segment in segments if (merged := into.get(segment.name, segment)) is not None]

    def _added(self, content: Sequence[Frame] | Mapping[str, int], newest: int, added: dict[str, bytes]) -> Segment:
        """Add a segment to those to be saved."""
        encoded = msgspec.msgpack.encode(content)
        segment = describe(self._name(), newest, encoded)
        added[segment.name] = encoded
        return segment


def _pairs(segments: Sequence[Segment]) -> list[tuple[Segment, Segment]]:
    """Return pairs of neighbours that are small enough together to be one."""
    pairs: list[tuple[Segment, Segment]] = []
    place = 1
    while place < len(segments):
        one, other = segments[place - 1], segments[place]
        if one.size + other.size <= MOST_BYTES:
            pairs.append((one, other))
            place += 1
        place += 1
    return pairs


def _split_frames(frames: Sequence[Frame]) -> Iterator[Sequence[Frame]]:
    """Yield the frames in parts, each of one frame or of so few bytes as a segment may have."""
    start = size = 0
    for place, frame in enumerate(frames):
        if place > start and size + len(frame.edges) > MOST_BYTES:
            yield frames[start:place]
            start, size = place, 0
        size += len(frame.edges)
    if frames:
        yield frames[start:]
