"""Which patterns read a stream, and which of them edges of a label; a reader of several reads the one that they merge to.

Cost: O(labels that a pattern reads) to add or remove it; to ask, O(patterns that are found).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_wire.reads_form import ReadsForm


@dataclass(slots=True)
class Readers:
    """Names of patterns by what they read; the label None stands for every label."""

    _by_stream: defaultdict[str, defaultdict[str | None, set[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )

    def add(self, name: str, stream: str, reads: ReadsForm) -> None:
        """Take a pattern that is matched on an ordered stream."""
        for label in _labels(reads):
            self._by_stream[stream][label].add(name)

    def remove(self, name: str, stream: str, reads: ReadsForm) -> None:
        """Forget a pattern that was added with this."""
        for label in _labels(reads):
            self._by_stream[stream][label].discard(name)
            if not self._by_stream[stream][label]:
                del self._by_stream[stream][label]
            if not self._by_stream[stream]:
                del self._by_stream[stream]

    def of_stream(self, stream: str) -> set[str]:
        """Return the patterns that read a stream."""
        return set().union(*self._by_stream.get(stream, {}).values())

    def of_labels(self, stream: str, labels: Iterable[str]) -> set[str]:
        """Return the patterns that read edges of some of these labels; none without labels."""
        asked: set[str | None] = set(labels)
        by_label: Mapping[str | None, set[str]] = self._by_stream.get(stream, {})
        return set().union(*(by_label.get(label, ()) for label in asked | {None})) if asked else set()


def _labels(reads: ReadsForm) -> Iterable[str | None]:
    labels: tuple[str | None, ...] = (None,) if reads.labels is None else reads.labels
    return dict.fromkeys(labels)
