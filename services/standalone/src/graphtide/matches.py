"""Matches as a list, and as tables of pyarrow, pandas and polars.

A table has a row a match and the columns of the match record, flat: `match_id query version kind detected_at first_ts last_ts
completeness`, then `edges.NAME` and `vertices.NAME` for every name of the patterns, null where a row's pattern does not have
it. Times are timestamps in the stream's unit and UTC. Which columns there are depends on the patterns alone, so that tables of
the pieces of one stream fit together.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, overload

from graphtide_core.match import SubgraphMatch
from graphtide_core.time import TimeUnit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import SupportsIndex

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from graphtide_core.pattern import SubgraphPattern

_ROWS: Final = 16_384
"""Matches that are made columns at once."""


class MatchList(list[SubgraphMatch]):
    """A list of matches that can be made a table.

    It knows the patterns and the stream's unit, if it is told; then even an empty one has all columns.
    """

    def __init__(
        self,
        matches: Iterable[SubgraphMatch] = (),
        patterns: Sequence[SubgraphPattern] | None = None,
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
    def __getitem__(self, place: SupportsIndex) -> SubgraphMatch: ...
    @overload
    def __getitem__(self, place: slice) -> MatchList: ...
    def __getitem__(self, place: SupportsIndex | slice) -> SubgraphMatch | MatchList:
        """Return one match, or a part of the list."""
        if isinstance(place, slice):
            return MatchList(super().__getitem__(place), self._patterns, self._unit)
        return super().__getitem__(place)

    def to_arrow(self) -> pa.Table:
        """Return a table of pyarrow; see `graphtide.matches` for its columns."""
        names = names_of_patterns(self._patterns) if self._patterns is not None else _names_of_matches(self)
        return to_arrow(self, names, self._unit)

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as a data frame of pandas. Raises ImportError where pandas is not installed."""
        return to_pandas(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """Return the same as a data frame of polars. Raises as `graphtide.matches.to_polars`."""
        return to_polars(self.to_arrow())


Names = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of edges and of vertices, in the order of the columns."""


def names_of_patterns(patterns: Iterable[SubgraphPattern]) -> Names:
    """Return the names of edges and vertices of patterns, in their order, each once."""
    patterns = tuple(patterns)
    edges = dict.fromkeys(edge.name for pattern in patterns for edge in pattern.edges)
    vertices = dict.fromkeys(vertex.name for pattern in patterns for vertex in pattern.vertices)
    return tuple(edges), tuple(vertices)


def _names_of_matches(matches: Sequence[SubgraphMatch]) -> Names:
    edges = dict.fromkeys(name for match in matches for name in match.edges)
    vertices = dict.fromkeys(name for match in matches for name in match.vertices)
    return tuple(edges), tuple(vertices)


def to_arrow(matches: Iterable[SubgraphMatch], names: Names, unit: TimeUnit) -> pa.Table:
    """Return matches as a table. Complexity: O(edges + vertices) a match, in Python; some thousand are there at once."""
    import pyarrow as pa  # noqa: PLC0415 - whoever makes no table does not wait for it

    edges, vertices = names
    word, time = pa.dictionary(pa.int32(), pa.string()), pa.timestamp(unit.value, tz="UTC")
    schema = pa.schema(
        [
            pa.field("match_id", pa.string(), nullable=False),
            pa.field("query", word, nullable=False),
            pa.field("version", pa.int32(), nullable=False),
            pa.field("kind", word, nullable=False),
            *(pa.field(name, time, nullable=False) for name in ("detected_at", "first_ts", "last_ts")),
            pa.field("completeness", word, nullable=False),
            *(pa.field(f"edges.{name}", pa.string()) for name in edges),
            *(pa.field(f"vertices.{name}", pa.string()) for name in vertices),
        ]
    )

    def batch(part: Sequence[SubgraphMatch]) -> pa.RecordBatch:
        columns = [
            [match.match_id for match in part],
            [match.query for match in part],
            [match.version for match in part],
            [match.kind.value for match in part],
            [match.detected_at for match in part],
            [match.first_ts for match in part],
            [match.last_ts for match in part],
            [match.completeness.value for match in part],
            *([match.edges.get(name) for match in part] for name in edges),
            *([match.vertices.get(name) for match in part] for name in vertices),
        ]
        arrays = [pa.array(column, type) for column, type in zip(columns, schema.types, strict=True)]
        return pa.record_batch(arrays, schema=schema)

    # Parts have dictionaries of their own; one for all makes them one table.
    return pa.Table.from_batches([batch(part) for part in _parts(matches)], schema).unify_dictionaries()


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


def to_polars(table: pa.Table) -> pl.DataFrame:
    """Return a table as a data frame of polars, which counts milliseconds where a stream counts seconds.

    Raises:
        ImportError: polars is not installed.
        ValueError: a time in seconds is past what milliseconds in 64 bits hold.
    """
    try:
        import polars as pl  # noqa: PLC0415 - optional
    except ImportError as error:
        message = "polars is not installed: pip install polars"
        raise ImportError(message) from error
    return pl.DataFrame(_in_milliseconds(table))


def _in_milliseconds(table: pa.Table) -> pa.Table:
    """Return a table whose times in seconds are in milliseconds. Polars does that too, but does not say where it cannot."""
    import pyarrow as pa  # noqa: PLC0415 - whoever makes no table does not wait for it

    fields = [
        field.with_type(pa.timestamp("ms", "UTC")) if field.type == pa.timestamp("s", "UTC") else field
        for field in table.schema
    ]
    try:
        return table.cast(pa.schema(fields))
    except pa.ArrowInvalid as error:
        message = f"polars counts milliseconds, and not all times of the matches fit into 64 bits so: {error}"
        raise ValueError(message) from error


def _parts(matches: Iterable[SubgraphMatch]) -> Iterator[list[SubgraphMatch]]:
    rest = iter(matches)
    while part := list(islice(rest, _ROWS)):
        yield part
