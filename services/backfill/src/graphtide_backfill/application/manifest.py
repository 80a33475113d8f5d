"""What a run is: so that what was finished can be taken for what is asked, or refused."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.annotations import without_annotations
from graphtide_core.errors import FatalError
from graphtide_core.part_key import PartKey
from graphtide_query import print_pattern

from graphtide_backfill.domain.division import Division
from graphtide_backfill.domain.slices import Cut

if TYPE_CHECKING:
    from graphtide_backfill.domain.task import Task


_OF_CUT: Final = ("bounds", "by", "parts")
"""What a run is not known by: it finds the same wherever it is cut."""


class OtherRunError(FatalError):
    """What is kept is of another run."""


class Manifest(msgspec.Struct, frozen=True):
    """A run.

    Attributes:
        patterns: digest of the patterns, in their canonical form with versions.
        engine: as it was requested.
        unit: what ticks count.
        limits: bounds on each pattern's state and work.
        history: fingerprint of what is read.
        asked: from when to when, as it was asked; None is all there is.
        bounds: of the slices; none before history is cut.
        by: the key that history is divided by; None is by vertex, where it has parts.
        parts: of the key; 0 if history is cut by time alone.
    """

    patterns: str
    engine: str
    unit: str
    limits: tuple[int | None, int | None, str, int | None]
    history: str
    asked: tuple[int | None, int | None]
    bounds: tuple[int, ...] = ()
    by: str | None = None
    parts: int = 0

    @property
    def cut(self) -> Cut:
        """How the run is cut."""
        return Cut(self.bounds, Division(PartKey(self.by), self.parts) if self.parts else None)

    def cut_as(self, cut: Cut) -> Manifest:
        """Return the same run, cut like this."""
        division = cut.division
        by, parts = (None, 0) if division is None else (division.key.field, division.parts)
        return msgspec.structs.replace(self, bounds=cut.bounds, by=by, parts=parts)

    def run(self, topic: str) -> str:
        """Return the name of the run into a topic: the same wherever it is cut."""
        identity = {name: getattr(self, name) for name in self.__struct_fields__ if name not in _OF_CUT} | {"bounds": ()}
        return _digest(msgspec.json.encode((topic, identity)))

    def check(self, asked: Manifest) -> None:
        """Do nothing if a requested run, with any slices, is this one.

        Raises:
            OtherRunError: it is another; the message says in what.
        """
        differing = [
            name for name in self.__struct_fields__ if name not in _OF_CUT and getattr(self, name) != getattr(asked, name)
        ]
        if differing:
            message = f"the run to resume was begun with other {' and '.join(differing)}; begin anew in another folder"
            raise OtherRunError(message)


def manifest_of(task: Task, history: str, asked: tuple[int | None, int | None]) -> Manifest:
    """Return what a run of this task over this history is, before history is cut."""
    texts = "\n".join(f"{pattern.version}\n{print_pattern(without_annotations(pattern))}" for pattern in task.patterns)
    limits = (task.limits.partial_matches, task.limits.state_bytes, task.limits.policy, task.limits.work)
    return Manifest(_digest(texts.encode()), task.engine, task.unit.value, limits, history, asked)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
