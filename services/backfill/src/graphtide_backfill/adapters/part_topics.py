"""The ordered topics of a divided stream as one history: that of its parts, one after the other.

Each part is in order, and all together are not, so a slice holds its edges until all of them were read. Edges of one time come
in the order of the parts, as where services merge them ([ADR 47]).

[ADR 47]: docs/adr/0047-a-stream-is-divided-before-it-is-ordered.md
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphtide_core.errors import UnreadableStreamError

if TYPE_CHECKING:
    from graphtide_core.time import TimeUnit

    from graphtide_backfill.adapters.ordered_topic import OrderedTopic
    from graphtide_backfill.application.pieces import Piece


@dataclass(frozen=True, slots=True)
class PartTopics:
    """The epoch of a divided stream that all parts began last, unless another is asked for; there is at least one part."""

    parts: tuple[OrderedTopic, ...]
    may_repeat: bool = False

    def pieces(self) -> list[Piece]:
        """See `History.pieces`."""
        return [piece for part in self.at(self.newest_epoch()).parts for piece in part.pieces()]

    def headers(self) -> None:
        """Return None: which attributes there are is known of each record alone."""

    def fingerprint(self) -> str:
        """Return a digest of what changes with each part."""
        known = repr([part.fingerprint() for part in self.at(self.newest_epoch()).parts])
        return hashlib.blake2b(known.encode(), digest_size=16).hexdigest()

    def at(self, epoch: int) -> PartTopics:
        """Return the history of an epoch."""
        return PartTopics(tuple(part if part.epoch is not None else replace(part, epoch=epoch) for part in self.parts))

    def newest_epoch(self) -> int:
        """Return the number of the newest epoch that all parts began.

        Raises:
            UnreadableStreamError: a part has no topic.
        """
        return min(part.newest_epoch() for part in self.parts)

    def unit(self) -> TimeUnit:
        """Return what times count, as the first record of any part says.

        Raises:
            UnreadableStreamError: no part has a record.
        """
        for part in self.parts[:-1]:
            try:
                return part.unit()
            except UnreadableStreamError:
                continue
        return self.parts[-1].unit()
