"""Checkpoints of a pass: the edges that its state follows from, in segments, of which a new checkpoint adds the newest.

A segment holds frames: the edges selected up to a position, as Arrow. Frames end where a plan starts, so that whoever restores
them knows which matches had been told. What has left the longest window is dropped by segments; when there are many, the oldest
are merged, so that a long window does not make many segments.
Which edges were kept, and from which time on, stands in a segment of its own, which is written when plans came or went: of a
plan that came while the stream ran, edges of before may not be in the checkpoint, or lack attributes. It serves the plan once
they have left its window.
The manifest knows a digest of every segment, and begins with its own: what was damaged, or is of another format, counts as
lost, and the log is read instead. All edges of a checkpoint are of one epoch of the stream.
Cost of a save: O(edges selected since the last), and now and then the merge of a pair; nothing that grows with the plans, but
where they changed or a limit made them give up matches.
"""

from __future__ import annotations

import hashlib
import secrets
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from graphtide_native.spec import columns

from graphtide_runtime.matcher_host.stream_pass import ALWAYS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_native.records import EdgeBatch

    from graphtide_runtime.matcher_host.assignment import Running
    from graphtide_runtime.matcher_host.stream_pass import StreamPass

FORMAT = 4
_DIGEST_BYTES = 16
MOST_SEGMENTS = 64


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """Edges that a pass selected: offsets of the records of the first and the last, time of the newest, them as Arrow."""

    first: int
    last: int
    newest: int
    edges: bytes


class Segment(msgspec.Struct, frozen=True):
    """A segment by name, the time of the newest edge that may be in it, and the digest of its bytes."""

    name: str
    newest: int
    digest: bytes


class Manifest(msgspec.Struct, frozen=True):
    """What a checkpoint is of.

    Attributes:
        position: offset of the next record when it was made.
        newest: time of the newest edge before.
        unit: what a tick is.
        since: time of the first edges that were kept.
        forms: segment of the canonical forms of the query edges of which every edge was kept since, or since a later time.
        attributes: attributes that the edges have, and from which time on they have them.
        deletions: whether the stream deletes edges.
        shed: patterns whose matches are incomplete.
        segments: oldest first.
        format: of all this.
        epoch: of the stream.
    """

    position: int
    newest: int
    unit: str
    since: int
    forms: Segment
    attributes: dict[str, int]
    deletions: bool
    shed: frozenset[str]
    segments: tuple[Segment, ...]
    format: int = FORMAT
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint as it was loaded: its manifest, the forms that it names, and its frames, oldest first."""

    manifest: Manifest
    forms: Mapping[str, int]
    frames: list[Frame]

    def serves(self, running: Running) -> bool:
        """Whether a plan can go on from here: all its state is in it, and it has nothing to report from before.

        Complexity: O(query edges + log(frames)).
        """
        manifest, assignment = self.manifest, running.assignment
        alive_from, never = manifest.newest - assignment.window + 1, manifest.newest + 1
        return (
            assignment.unit.value == manifest.unit
            and running.reports_from >= manifest.position
            and alive_from >= manifest.since
            and all(manifest.attributes.get(each, never) <= alive_from for each in columns([assignment.plan.pattern]))
            and all(self.forms.get(each, never) <= alive_from for each in assignment.forms)
            and not self._spans(running.start)
        )

    def _spans(self, offset: int) -> bool:
        """Whether a frame has edges both of before an offset and from there on: what was told of them cannot be told apart."""
        place = bisect_left(self.frames, offset, key=lambda frame: frame.first) - 1
        return place >= 0 and self.frames[place].last >= offset


@dataclass(slots=True)
class Recorder:
    """Collects what a pass selects until it is saved.

    Attributes:
        frames: what was collected, up to the last cut.
    """

    frames: list[Frame] = field(default_factory=list)
    _batches: list[EdgeBatch] = field(default_factory=list)
    _first: int = 0
    _last: int = 0

    def add(self, selected: EdgeBatch, offset: int) -> None:
        """Take edges that the pass selected of the record at an offset."""
        if len(selected):
            self._first = self._first if self._batches else offset
            self._last = offset
            self._batches.append(selected)

    def cut(self) -> None:
        """End the frame."""
        if self._batches:
            first, *others = self._batches
            edges = (first.followed_by(others) if others else first).to_arrow()
            self.frames.append(Frame(self._first, self._last, self._batches[-1].last_ts or 0, edges))
            self._batches = []

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
        """Return the newest checkpoint, if there is one whole of a format we know; saves go on from it.

        Raises:
            TransientError: the store does not answer.
        """
        self.start_anew()
        manifest = self._store.manifest(self._key)
        try:
            found = _decoded(manifest)
            if found is None or found.format != FORMAT:
                return None
            segments = self._intact([found.forms, *found.segments])
            if segments is None:
                return None
            forms = msgspec.msgpack.decode(segments[0], type=dict[str, int])
            frames = [frame for segment in segments[1:] for frame in msgspec.msgpack.decode(segment, type=list[Frame])]
        except msgspec.MsgspecError:
            return None
        self._segments, self._forms, self._epoch = found.segments, (forms, found.forms), found.epoch
        self._since = found.since
        return Checkpoint(found, forms, frames)

    def start_anew(self) -> None:
        """Save whole from now on: the pass was not made from what was loaded."""
        self._segments = ()
        self._forms = None
        self._since = ALWAYS

    def keep(self, of: StreamPass) -> None:
        """Note that what has left the pass's longest window need not have been kept; call it before the window changes."""
        self._since = max(self._since, of.alive_from)

    def save(self, of: StreamPass, frames: list[Frame]) -> int:
        """Save what the pass selected since the last save, and that it stands where it stands; return how many bytes that took.

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
        if frames:
            kept.append(self._added(frames, frames[-1].newest, added))
        if len(kept) > MOST_SEGMENTS:
            kept = self._merged(kept, added)
        forms = self._saved_forms(of.forms) or self._added(of.forms, of.newest, added)
        manifest = Manifest(
            position=of.position,
            newest=of.newest,
            unit=of.unit.value,
            since=self._since,
            forms=forms,
            attributes=of.attributes_since,
            deletions=of.deletions,
            shed=of.shed,
            segments=tuple(kept),
            epoch=of.epoch,
        )
        names = [segment.name for segment in (forms, *kept) if segment.name not in added]
        encoded = _encoded(manifest)
        self._store.save(self._key, encoded, added, names)
        self._segments, self._forms, self._epoch = manifest.segments, (of.forms, forms), of.epoch
        return len(encoded) + sum(map(len, added.values()))

    def _saved_forms(self, forms: Mapping[str, int]) -> Segment | None:
        """Return the segment in which these very forms are saved already."""
        if self._forms is None:
            return None
        saved, segment = self._forms
        return segment if saved is forms or saved == forms else None

    def _name(self) -> str:
        self._count += 1
        return f"{self._lineage}-{self._count}"

    def _merged(self, segments: list[Segment], added: dict[str, bytes]) -> list[Segment]:
        """Merge every two neighbours of the older half."""
        half = len(segments) // 2 // 2 * 2
        old, merged = segments[:half], []
        found = self._intact(old)
        if found is None:
            return segments
        for place in range(0, half, 2):
            frames = [frame for part in found[place : place + 2] for frame in msgspec.msgpack.decode(part, type=list[Frame])]
            merged.append(self._added(frames, old[place + 1].newest, added))
        return merged + segments[half:]

    def _added(self, content: Sequence[Frame] | Mapping[str, int], newest: int, added: dict[str, bytes]) -> Segment:
        """Add a segment to those that are to be saved."""
        encoded = msgspec.msgpack.encode(content)
        segment = Segment(self._name(), newest, _digest(encoded))
        added[segment.name] = encoded
        return segment

    def _intact(self, segments: Sequence[Segment]) -> list[bytes] | None:
        """Return the bytes of segments; None if one is gone or not what was saved."""
        found = self._store.segments(self._key, [segment.name for segment in segments])
        if found is None or any(_digest(each) != segment.digest for each, segment in zip(found, segments, strict=True)):
            return None
        return found


def _digest(encoded: bytes) -> bytes:
    return hashlib.blake2b(encoded, digest_size=_DIGEST_BYTES).digest()


def _encoded(manifest: Manifest) -> bytes:
    encoded = msgspec.msgpack.encode(manifest)
    return _digest(encoded) + encoded


def _decoded(stored: bytes | None) -> Manifest | None:
    """Return the manifest; None if there is none, or it is not what was saved.

    Raises:
        MsgspecError: it is of another format.
    """
    if stored is None or _digest(stored[_DIGEST_BYTES:]) != stored[:_DIGEST_BYTES]:
        return None
    return msgspec.msgpack.decode(stored[_DIGEST_BYTES:], type=Manifest)
