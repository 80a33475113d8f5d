"""Which of the names that patterns ask a stream ever had: labels, types of events, attributes with a value.

A name is looked for until a record has it. Cost: nothing once all were seen. Until then it is two native calls a batch. They
pass over its records once for labels and once for each attribute that is still missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.known_names import AskedNames, SeenNames

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_native.records import EdgeBatch


class NamesSeen:
    """What was seen of a stream by now, for `graphtide.notes`.

    Attributes:
        numbers: attributes whose values were numbers alone in the batch that had the first of them.
        first_time: time of the first record; None before it.
    """

    def __init__(self, patterns: Iterable[AnyPattern], counted: Iterable[str] = (), emitted: Collection[str] = ()) -> None:
        """Look for what these patterns ask of records.

        Attributes that are `counted` need no record that has them, nor do labels and types that are `emitted`.
        """
        asked = [AskedNames.of(pattern) for pattern in patterns]
        self._edges = _missing(each.edges for each in asked)
        self._vertices = _missing(each.vertices for each in asked)
        self._attributes = _missing(each.attributes for each in asked)
        self._asked = AskedNames(tuple(self._edges), tuple(self._vertices), tuple(self._attributes))
        for name in counted:
            self._attributes.pop(name, None)
        for name in emitted:
            self._edges.pop(name, None)
            self._vertices.pop(name, None)
        self._records = 0
        self.numbers: set[str] = set()
        self.first_time: int | None = None

    def take(self, batch: EdgeBatch) -> None:
        """Look at the next records of the stream, each batch once."""
        if self.first_time is None and len(batch):
            self.first_time = batch.part(0, 1).last_ts
        if not (self._edges or self._vertices or self._attributes):
            return
        records, edges, vertices = batch.labels_among([*self._edges], [*self._vertices])
        # A name missing at the end was missing all along, so all records are counted.
        self._records += records
        for missing, found in ((self._edges, edges), (self._vertices, vertices)):
            for name in found:
                del missing[name]
        for name, is_number in batch.values_among([*self._attributes]):
            del self._attributes[name]
            if is_number:
                self.numbers.add(name)

    def names(self, first: StatisticsSnapshot | None) -> SeenNames:
        """Return what was seen; `first` are statistics of the first records, for what a misspelt name may stand for."""
        known = SeenNames(0, frozenset(), frozenset()) if first is None else SeenNames.of(first)
        asked = self._asked
        return SeenNames(
            self._records,
            (known.edges - {""}).union(asked.edges).difference(self._edges),
            known.vertices.union(asked.vertices).difference(self._vertices),
            frozenset(asked.attributes).difference(self._attributes),
        )


def _missing(names: Iterable[Iterable[str]]) -> dict[str, None]:
    """Return names in their order, each once."""
    return dict.fromkeys(name for each in names for name in each)
