"""The form of a checkpoint: a manifest, and segments of frames of edges.

The manifest knows a digest of every segment, and begins with its own: damaged data, or data of another format, counts as
lost. All edges of a checkpoint are of one epoch of the stream.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_native.spec import columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.checkpoints import CheckpointStore

    from graphtide_matcher_host.assignment import Running

FORMAT: Final = 4
_DIGEST_BYTES: Final = 16


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """Edges that a pass selected: offsets of the records of the first and the last, time of the newest, them as Arrow."""

    first: int
    last: int
    newest: int
    edges: bytes

    def spans(self, offset: int) -> bool:
        """Whether it has edges on both sides of an offset, so that reported and unreported ones cannot be separated."""
        return self.first < offset <= self.last


class Segment(msgspec.Struct, frozen=True):
    """A segment by name, the time of the newest edge that may be in it, the digest of its bytes, and how many they are."""

    name: str
    newest: int
    digest: bytes
    size: int = 0


class Manifest(msgspec.Struct, frozen=True):
    """The manifest of a checkpoint.

    Attributes:
        position: offset of the next record when it was made.
        newest: time of the newest edge before.
        unit: what a tick is.
        since: time of the first edges that were kept.
        forms: segment of the canonical forms of query edges: all their edges were kept since, or since a later time.
        attributes: attributes that the edges have, with the time since which they have them.
        deletions: whether the stream deletes edges.
        shed: patterns whose matches are incomplete.
        segments: oldest first.
        format: of all this.
        epoch: of the stream.
        passed: no edge before this time follows, by a heartbeat; None without one since the newest edge.
        number: of the next edge of the stream, as far as that is known.
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
    passed: int | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a checkpoint, as it states them: its manifest, and the forms that it names."""

    manifest: Manifest
    forms: Mapping[str, int]

    def serves(self, running: Running) -> bool:
        """Whether all edges that a plan's state follows from are in it, and the plan has nothing to report from before.

        A plan that consumes must not begin before it, either: what it consumed depends on where it began. A plan whose window
        counts edges is not served: frames do not say how many came in between.

        Complexity: O(query edges).
        """
        manifest, assignment = self.manifest, running.assignment
        alive_from, never = manifest.newest - assignment.window + 1, manifest.newest + 1
        return (
            assignment.unit.value == manifest.unit
            and not assignment.edges
            and running.reports_from >= manifest.position
            and (running.begins >= manifest.position or not running.consumes)
            and alive_from >= manifest.since
            and all(manifest.attributes.get(each, never) <= alive_from for each in columns([assignment.plan.pattern]))
            and all(self.forms.get(each, never) <= alive_from for each in assignment.forms)
        )


def key_of(host: str, stream: StreamName) -> str:
    """Return the key of the checkpoint of a stream that a host keeps, which is named by its group."""
    return f"{host}.{stream}"


def describe(name: str, newest: int, encoded: bytes) -> Segment:
    """Return a segment's entry in the manifest."""
    return Segment(name, newest, _digest(encoded), len(encoded))


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the manifest as it is stored."""
    encoded = msgspec.msgpack.encode(manifest)
    return _digest(encoded) + encoded


def read_contents(store: CheckpointStore, key: str) -> Contents | None:
    """Return the stated contents of the newest checkpoint under a key, if it has a known format.

    Raises:
        TransientError: the store does not answer.
    """
    stored = store.manifest(key)
    if stored is None or _digest(stored[_DIGEST_BYTES:]) != stored[:_DIGEST_BYTES]:
        return None
    try:
        manifest = msgspec.msgpack.decode(stored[_DIGEST_BYTES:], type=Manifest)
        if manifest.format != FORMAT or (found := read_segments(store, key, [manifest.forms])) is None:
            return None
        return Contents(manifest, msgspec.msgpack.decode(found[0], type=dict[str, int]))
    except msgspec.MsgspecError:
        return None


def read_segments(store: CheckpointStore, key: str, segments: Sequence[Segment]) -> list[bytes] | None:
    """Return the bytes of segments; None if one is gone or not what was saved.

    Raises:
        TransientError: the store does not answer.
    """
    found = store.segments(key, [segment.name for segment in segments])
    if found is None or any(_digest(each) != segment.digest for each, segment in zip(found, segments, strict=True)):
        return None
    return found


def decode_frames(segment: bytes) -> list[Frame]:
    """Return the frames of a segment.

    Raises:
        MsgspecError: it holds something else.
    """
    return msgspec.msgpack.decode(segment, type=list[Frame])


def _digest(encoded: bytes) -> bytes:
    return hashlib.blake2b(encoded, digest_size=_DIGEST_BYTES).digest()
