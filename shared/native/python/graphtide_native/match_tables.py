"""Matches as rows of a table, without an object of Python for each match.

The caller says which columns there are; how the parts of a match lie in a batch is known here, from the plans. Cost: O(parts) a
match, outside of Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from graphtide_core.event_expression import positive_events
from graphtide_core.returns import MatchLayout

from graphtide_native import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from graphtide_core.plans import AnyPlan

    from graphtide_native.match_batch import MatchBatch

BOOLEAN: Final = 1
INTEGER: Final = 1 << 1
NUMBER: Final = 1 << 2
TEXT: Final = 1 << 3
IN_LIST: Final = 4
LIST: Final = 1 << 8
LARGE: Final = 1 << 9
NESTED: Final = 1 << 10
"""Bits of what kinds of values a field has.

Those of scalars come first, the same of values in lists `IN_LIST` bits above. Then there is whether there are lists, integers
that no floating-point number is, and lists in lists.
"""

_Parts = list[tuple[str, str]]
"""The kind and the name of each part, as columns have them."""


class MatchTables:
    """Makes batches of matches rows of one table, whose first columns are those of every match."""

    def __init__(
        self,
        unit: str,
        named: Sequence[tuple[str, str, bool]],
        families: tuple[bool, bool, bool],
        fields: Sequence[str],
        labels: Sequence[str],
    ) -> None:
        """Take the columns.

        Args:
            unit: what times of the stream count.
            named: the kind and the name of each column that has the name of a part, and whether it holds lists.
            families: whether there are columns for changes of components, for counts, for results of graph queries.
            fields: names of what patterns return.
            labels: of results of graph queries, each once.
        """
        self._unit, self._named, self._families, self._fields, self._labels = unit, named, families, fields, labels
        self._places = {(kind, name): place for place, (kind, name, _) in enumerate(named)}
        self._plans: Sequence[AnyPlan] = ()
        self._layout: _native.TableLayout | None = None

    def kinds(self, batch: MatchBatch) -> list[int]:
        """Return what kinds of values each field has in a batch, as bits."""
        return batch.native.field_kinds(self._layout_of(batch))

    def rows(self, batch: MatchBatch, types: Sequence[str | None], start: int = 0) -> pa.RecordBatch:
        """Return matches from a place on as rows.

        Args:
            batch: the matches.
            types: of each field: `null`, `boolean`, `integer`, `number` or `text`, or a `list` of one; None leaves it out. A
                value of another type is missing.
            start: place of the first match.
        """
        return batch.native.table_rows(self._layout_of(batch), [*types], start)

    def _layout_of(self, batch: MatchBatch) -> _native.TableLayout:
        if self._layout is None or batch.plans is not self._plans:
            self._plans = batch.plans
            self._layout = self._encode(batch.plans)
        return self._layout

    def _encode(self, plans: Sequence[AnyPlan]) -> _native.TableLayout:
        own = [plan.native for plan in plans]
        queries = {str(plan.pattern.name): number for number, plan in enumerate(own)}
        fields = {name: number for number, name in enumerate(self._fields)}
        patterns = []
        for plan in own:
            pattern: Any = plan.pattern
            outputs = [
                (None if label is None else self._labels.index(label), [self._places[part] for part in parts])
                for label, parts in _PARTS[pattern.match_layout](pattern)
            ]
            returned = [fields[each.name] for each in getattr(pattern, "fields", ())]
            patterns.append((queries[str(pattern.name)], pattern.version, outputs, returned))
        named = [(f"{kind}.{name}", has_lists) for kind, name, has_lists in self._named]
        return _native.TableLayout(self._unit, named, self._families, [*self._fields], [*queries], [*self._labels], patterns)


def list_values(rows: pa.RecordBatch) -> list[list[Any]]:
    """Return the values of each column of rows as objects, times as ticks. Cost: far less than pyarrow's own."""
    made = zip(rows.columns, _native.python_lists(rows), strict=True)
    return [column.to_pylist() if values is None else values for column, values in made]


def _of_edges(pattern: Any) -> list[tuple[str | None, _Parts]]:
    edges, vertices = (("edges", each.name) for each in pattern.edges), (("vertices", each.name) for each in pattern.vertices)
    return [(None, [*edges, *vertices])]


def _of_events(pattern: Any) -> list[tuple[str | None, _Parts]]:
    return [(None, [("events", event.name) for event in positive_events(pattern.root)])]


def _of_results(query: Any) -> list[tuple[str | None, _Parts]]:
    return [(output.label, [("vertices", column) for column in output.columns]) for output in query.outputs]


_PARTS: Final[Mapping[MatchLayout, Callable[[Any], list[tuple[str | None, _Parts]]]]] = {
    MatchLayout.ASSIGNMENT: _of_edges,
    MatchLayout.COMPONENT: _of_edges,
    MatchLayout.OCCURRENCE: _of_events,
    MatchLayout.INTERVAL: _of_results,
}
"""For each layout a function of a pattern: the label of each output, with its parts in their order."""
