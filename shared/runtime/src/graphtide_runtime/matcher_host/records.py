"""What a host needs of records: to read plans and what was said of them, to write matches and what it says itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.ports.log import Message, Record, TopicSpec
    from graphtide_native.matcher import MatchRecord, PatternReport

    from graphtide_runtime.matcher_host.assignment import Assignment, Refusal, Standing


class HostRecords(Protocol):
    """Topics and codecs, as one shard of a service sees them."""

    @property
    def group(self) -> str:
        """The group whose positions the host commits; also its transactional id."""
        ...

    @property
    def plans(self) -> str:
        """Topic of plans."""
        ...

    @property
    def status(self) -> str:
        """Topic of what hosts say of plans."""
        ...

    def ordered(self, stream: StreamName) -> str:
        """Topic of a stream's ordered edges."""
        ...

    def topics_of(self, stream: StreamName) -> Sequence[TopicSpec]:
        """Return the topics that a stream needs."""
        ...

    def stream_of(self, record: Record) -> StreamName:
        """Return the stream that an ordered record is of."""
        ...

    def edges_of(self, record: Record) -> int:
        """Return how many edges an ordered record has, without reading them.

        Raises:
            PoisonRecordError: its headers do not tell.
        """
        ...

    def name_of(self, record: Record) -> PatternName:
        """Return the pattern that a plan is of."""
        ...

    def assignment(self, record: Record) -> Assignment | None:
        """Return the plan, if this shard is to run it.

        Raises:
            PoisonRecordError: it is for this shard, as far as can be read, and cannot be run: of a format to come, damaged, of
                a wrong pattern or name.
        """
        ...

    def refusal(self, record: Record, reason: str) -> Refusal:
        """Return what is known of a plan that cannot be read."""
        ...

    def standing(self, record: Record) -> Standing | None:
        """Return what was said of a plan, if this shard said it."""
        ...

    def told(self, standing: Standing, report: PatternReport | None = None, position: int | None = None) -> Message:
        """Return what is said of a plan, with its counts and the next offset where it runs."""
        ...

    def matching(self, record: Record) -> AbstractContextManager[None]:
        """Return what is to be entered around the work on an ordered record, so that traces see it."""
        ...

    def matches(self, record: Record, matches: Sequence[MatchRecord]) -> list[Message]:
        """Return the matches that an ordered record completed."""
        ...

    def dead_letter(self, record: Record, reason: str) -> Message:
        """Return an ordered record that cannot be read as a dead letter."""
        ...
