"""Matches as a list, and as tables of pyarrow, pandas and polars.

A table has a row a match and the columns of the match record, flat. First come `match_id query version kind detected_at
first_ts last_ts completeness`. Then come `edges.NAME` and `vertices.NAME`, and `events.NAME` of event patterns, for every name
of the patterns. They are null where a row's pattern does not have the name. The columns of a graph query are vertices. Where a
pattern under dual simulation has a name, or it is that of an iteration, its columns hold lists. `component merged split_from`
follow where a pattern is under dual simulation, and `count` where matches are counted. `label valid_from valid_to path` follow
where there is a graph query, with derived edges of a path as JSON. Then comes `fields.NAME` for what patterns return. Times are
timestamps in the stream's unit and UTC. Which columns there are depends on the patterns alone, so tables of the pieces of one
stream fit together. But the type of a field depends on its values in a table, or a file (`graphtide.match_files`). Values of
several kinds are texts, as in JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, overload

from graphtide_core.match import ComponentMatch, DerivedEdge, IntervalMatch, Match, OccurrenceMatch
from graphtide_core.time import TimeUnit
from graphtide_query.families import family_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import SupportsIndex

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.match import PathStep
    from graphtide_core.returns import FieldValue

RESULTS: Final = ("label", "valid_from", "valid_to", "nth", "path")
"""Columns of results of graph queries."""

_ROWS: Final = 16_384
"""Matches that are made columns at once."""


class MatchList(list[Match]):
    """A list of matches that can be made a table.

    With the patterns and the stream's unit, even an empty one has all columns.
    """

    def __init__(
        self,
        matches: Iterable[Match] = (),
        patterns: Sequence[AnyPattern] | None = None,
        time_unit: TimeUnit | str = TimeUnit.MILLISECOND,
    ) -> None:
        """Take the matches.

        Args:
            matches: the matches.
            patterns: theirs; without them a table has the names that the matches have.
            time_unit: what times of the stream count.

        Raises:
            ValueError: there is no such unit.
        """
        super().__init__(matches)
        self._patterns = patterns
        self._unit = TimeUnit(time_unit)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Match: ...
    @overload
    def __getitem__(self, place: slice) -> MatchList: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Match | MatchList:
        """Return one match, or a part of the list."""
        if isinstance(place, slice):
            return MatchList(super().__getitem__(place), self._patterns, self._unit)
        return super().__getitem__(place)

    def _repr_html_(self) -> str:
        """Return how a notebook shows it: the first matches, and how many there are."""
        from graphtide.notebook import show_matches  # noqa: PLC0415 - only notebooks need it

        return show_matches(self, self._unit)

    def to_arrow(self) -> pa.Table:
        """Return a table of pyarrow; see `graphtide.matches` for its columns."""
        columns = columns_of_patterns(self._patterns) if self._patterns is not None else _columns_of_matches(self)
        return to_arrow(self, columns, self._unit)

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as a data frame of pandas. Raises ImportError where pandas is not installed."""
        return to_pandas(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """Return the same as a data frame of polars. Raises as `graphtide.polars_frames.to_polars`."""
        from graphtide.polars_frames import to_polars  # noqa: PLC0415 - optional

        columns = columns_of_patterns(self._patterns) if self._patterns is not None else _columns_of_matches(self)
        return to_polars(self, columns, self._unit)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table that depend on its patterns.

    Attributes:
        edges: names of edges in their order, each once; whether the column holds lists.
        vertices: the same of vertices.
        events: the same of events of event patterns.
        changes: whether there are columns for components and what became of them.
        counts: whether there is one for how many matches an event completes.
        results: whether there are columns for results of graph queries.
        fields: names of what patterns return, each once.
    """

    edges: Mapping[str, bool]
    vertices: Mapping[str, bool]
    events: Mapping[str, bool]
    changes: bool
    counts: bool
    results: bool = False
    fields: tuple[str, ...] = ()

    @property
    def named(self) -> list[tuple[str, str, bool]]:
        """The kind of each column that has the name of a part of a pattern, that name, and whether it holds lists."""
        kinds = (("edges", self.edges), ("vertices", self.vertices), ("events", self.events))
        return [(kind, name, has_lists) for kind, names in kinds for name, has_lists in names.items()]

    @property
    def of_families(self) -> tuple[str, ...]:
        """The columns that matches of some families have."""
        return (*(("component", "merged", "split_from") if self.changes else ()), *(("count",) if self.counts else ()))


def columns_of_patterns(patterns: Iterable[AnyPattern]) -> Columns:
    """Return the columns of what patterns match; a name that any of them has lists of has lists."""
    layouts = [family_of(pattern).layout(pattern) for pattern in patterns]
    return Columns(
        _unite_names(each.edges for each in layouts),
        _unite_names(each.vertices for each in layouts),
        _unite_names(each.events for each in layouts),
        changes=any(each.changes for each in layouts),
        counts=any(each.counts for each in layouts),
        results=any(each.outputs for each in layouts),
        fields=tuple(dict.fromkeys(name for each in layouts for name in each.fields)),
    )


def _unite_names(named: Iterable[Mapping[str, bool]]) -> dict[str, bool]:
    found = dict[str, bool]()
    for parts in named:
        for name, has_lists in parts.items():
            found[name] = found.get(name, False) or has_lists
    return found


def _columns_of_matches(matches: Sequence[Match]) -> Columns:
    edges, vertices, events = dict[str, bool](), dict[str, bool](), dict[str, bool]()
    for match in matches:
        for names, found in ((edges, match.edges), (vertices, match.vertices), (events, _events(match))):
            for name, ids in found.items():
                names[name] = names.get(name, False) or not isinstance(ids, str)
    changes = any(isinstance(match, ComponentMatch) for match in matches)
    counts = any(isinstance(match, OccurrenceMatch) and match.count is not None for match in matches)
    fields = tuple(dict.fromkeys(name for match in matches for name in match.fields))
    results = any(isinstance(match, IntervalMatch) for match in matches)
    return Columns(edges, vertices, events, changes, counts, results, fields)


def _events(match: Match) -> Mapping[str, str | Sequence[str]]:
    return match.events if isinstance(match, OccurrenceMatch) else {}


def to_arrow(matches: Iterable[Match], columns: Columns, unit: TimeUnit) -> pa.Table:
    """Return matches as a table.

    Complexity: O(edges + vertices) a match, in Python; some thousand are there at once, or all where patterns return fields.
    """
    import pyarrow as pa  # noqa: PLC0415 - a program without tables does not wait for it

    matches = list(matches) if columns.fields else matches
    fields = [build_column([match.fields.get(name) for match in matches]) for name in columns.fields]
    schema = schema_of(columns, unit, [column.type for column in fields])

    def batch(part: Sequence[Match], start: int) -> pa.RecordBatch:
        cells = list_cells(part, columns)
        arrays = [pa.array(column, type) for column, type in zip(cells, schema.types, strict=False)]
        returned = [column.slice(start, len(part)) for column in fields]
        return pa.record_batch([*arrays, *returned], schema=schema)

    # Parts have dictionaries of their own; one for all makes them one table.
    batches = [batch(part, _ROWS * number) for number, part in enumerate(_parts(matches))]
    return pa.Table.from_batches(batches, schema).unify_dictionaries()


def list_cells(part: Sequence[Match], columns: Columns) -> list[list[Any]]:
    """Return the values of each column of matches but those of fields, in the order of `schema_of`."""
    return [
        [match.match_id for match in part],
        [match.query for match in part],
        [match.version for match in part],
        [match.kind.value for match in part],
        [match.detected_at for match in part],
        [match.first_ts for match in part],
        [match.last_ts for match in part],
        [match.completeness.value for match in part],
        *([_cell(match, kind, name, has_lists=has_lists) for match in part] for kind, name, has_lists in columns.named),
        *([getattr(match, name, None) for match in part] for name in columns.of_families),
        *([_of_result(match, name) for match in part] for name in (RESULTS if columns.results else ())),
    ]


def schema_of(columns: Columns, unit: TimeUnit, fields: Sequence[pa.DataType]) -> pa.Schema:
    """Return the columns of a table of matches; `fields` are the types of what patterns return."""
    import pyarrow as pa  # noqa: PLC0415 - a program without tables does not wait for it

    word, time, ids = pa.dictionary(pa.int32(), pa.string()), pa.timestamp(unit.value, tz="UTC"), pa.list_(pa.string())
    types = {
        **{"component": pa.string(), "merged": ids, "split_from": pa.string(), "count": pa.uint64()},
        **{"label": word, "valid_from": time, "valid_to": time, "nth": pa.int32(), "path": ids},
    }
    return pa.schema(
        [
            pa.field("match_id", pa.string(), nullable=False),
            pa.field("query", word, nullable=False),
            pa.field("version", pa.int32(), nullable=False),
            pa.field("kind", word, nullable=False),
            *(pa.field(name, time, nullable=False) for name in ("detected_at", "first_ts", "last_ts")),
            pa.field("completeness", word, nullable=False),
            *(pa.field(f"{kind}.{name}", ids if has_lists else pa.string()) for kind, name, has_lists in columns.named),
            *(pa.field(name, types[name]) for name in (*columns.of_families, *(RESULTS if columns.results else ()))),
            *(pa.field(f"fields.{name}", type) for name, type in zip(columns.fields, fields, strict=True)),
        ]
    )


def write_as_texts(values: Sequence[FieldValue]) -> pa.Array:
    """Return the values of a field as texts, numbers and lists as JSON."""
    import pyarrow as pa  # noqa: PLC0415 - a program without tables does not wait for it

    return pa.array(list_texts(values), pa.string())


def list_texts(values: Iterable[FieldValue]) -> list[str | None]:
    """Return the values of a field as texts, numbers and lists as JSON."""
    return [
        value if value is None or isinstance(value, str) else str(value) if type(value) is int else json.dumps(value)
        for value in values
    ]


def build_column(values: Sequence[FieldValue]) -> pa.Array:
    """Return the values of a field as a column of the type that fits all of them; texts where none does."""
    import pyarrow as pa  # noqa: PLC0415 - a program without tables does not wait for it

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return write_as_texts(values)


def _cell(match: Match, kind: str, name: str, *, has_lists: bool) -> str | Sequence[str] | None:
    of_kind = {"edges": match.edges, "vertices": match.vertices, "events": _events(match)}
    found: str | Sequence[str] | None = of_kind[kind].get(name)
    return [found] if has_lists and isinstance(found, str) else found


def _of_result(match: Match, name: str) -> str | int | Sequence[str] | None:
    """Return what a column for results of graph queries has of a match."""
    if not isinstance(match, IntervalMatch):
        return None
    match name:
        case "label":
            return match.label
        case "valid_from":
            return match.valid[0]
        case "valid_to":
            return match.valid[1]
        case "nth":
            return match.nth
        case _:
            return None if match.path is None else [_step(step) for step in match.path]


def _step(step: PathStep) -> str:
    if isinstance(step, DerivedEdge):
        return json.dumps({"label": step.label, "src": step.source, "dst": step.target}, ensure_ascii=False)
    return step


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """Return a table as a data frame of pandas.

    Raises:
        ImportError: pandas is not installed.
    """
    try:
        import pandas as _  # noqa: F401, PLC0415 - optional; pyarrow uses it
    except ImportError as error:
        message = "pandas is not installed: pip install pandas"
        raise ImportError(message) from error
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _parts(matches: Iterable[Match]) -> Iterator[list[Match]]:
    rest = iter(matches)
    while part := list(islice(rest, _ROWS)):
        yield part
