"""Matches as data frames of polars, with the columns and types of `graphtide.matches`.

Lists of matches become columns without pyarrow, which loads pandas, where that is installed, to look whether a list is one of
its own. Tables that the engine made do without such a look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME, TimeUnit

from graphtide.matches import RESULTS, list_cells, list_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import polars as pl
    import pyarrow as pa
    from graphtide_core.match import Match
    from graphtide_core.returns import FieldValue

    from graphtide.matches import Columns

EXACT: Final = 1 << 53
"""Integers up to this are floating-point numbers without loss."""

_MILLISECONDS: Final = 1_000


def to_polars(matches: Iterable[Match], columns: Columns, unit: TimeUnit) -> pl.DataFrame:
    """Return matches as a data frame of polars, which counts milliseconds where a stream counts seconds.

    Complexity: O(edges + vertices) a match, in Python.

    Raises:
        ImportError: polars is not installed.
        ValueError: a time in seconds is past what milliseconds in 64 bits hold.
    """
    _require_polars()
    import polars as pl  # noqa: PLC0415 - optional

    found = list(matches)
    is_seconds = unit is TimeUnit.SECOND
    word, ids = pl.Categorical(), pl.List(pl.String)
    time = pl.Datetime("ms" if is_seconds else unit.value, "UTC")  # type: ignore[arg-type] # the words are the same
    types: dict[str, Any] = {
        **{"match_id": pl.String, "query": word, "version": pl.Int32, "kind": word},
        **dict.fromkeys(("detected_at", "first_ts", "last_ts"), time),
        "completeness": word,
        **{f"{kind}.{name}": ids if has_lists else pl.String for kind, name, has_lists in columns.named},
    }
    others: dict[str, Any] = {
        **{"component": pl.String, "merged": ids, "split_from": pl.String, "count": pl.UInt64},
        **{"label": word, "valid_from": time, "valid_to": time, "nth": pl.Int32, "path": ids},
    }
    types |= {name: others[name] for name in (*columns.of_families, *(RESULTS if columns.results else ()))}
    made = []
    for (name, type), cells in zip(types.items(), list_cells(found, columns), strict=True):
        if type is time:
            ticks = _in_milliseconds(cells) if is_seconds else cells
            made.append(pl.Series(name, ticks, pl.Int64).cast(time))
        else:
            made.append(pl.Series(name, cells, type))
    for name in columns.fields:
        values, type = _type_fields([match.fields.get(name) for match in found])
        made.append(pl.Series(f"fields.{name}", values, _dtype(type)))
    return pl.DataFrame(made)


def frame_of(table: pa.Table, unit: TimeUnit) -> pl.DataFrame:
    """Return a table of matches as a data frame, which shares its columns. Raises as `to_polars`."""
    _require_polars()
    import polars as pl  # noqa: PLC0415 - optional

    if unit is TimeUnit.SECOND:
        import pyarrow as pa  # noqa: PLC0415 - tables of other units need no look
        import pyarrow.compute as pc  # noqa: PLC0415 - it takes as long to load as a frame to make

        for column in table.columns:
            if pa.types.is_timestamp(column.type):
                _in_milliseconds([*pc.min_max(column.cast(pa.int64())).as_py().values()])
    return cast("pl.DataFrame", pl.from_arrow(table, rechunk=False))


def _require_polars() -> None:
    try:
        import polars as _  # noqa: F401, PLC0415 - optional
    except ImportError as error:
        message = "polars is not installed: pip install polars"
        raise ImportError(message) from error


def _in_milliseconds(seconds: Sequence[int | None]) -> list[int | None]:
    found = [None if each is None else each * _MILLISECONDS for each in seconds]
    odd = next((each for each in found if each is not None and not MIN_EVENT_TIME <= each <= MAX_EVENT_TIME), None)
    if odd is not None:
        message = f"polars counts milliseconds, and not all times of the matches fit into 64 bits so: {odd // _MILLISECONDS} s"
        raise ValueError(message)
    return found


_Type = tuple[str, ...]
"""The kind of a value, and before it a `list` for each list that it is in."""


def _type_fields(values: Sequence[FieldValue]) -> tuple[list[Any], _Type]:
    """Return the values of a field with the type that fits all of them; as texts where none does."""
    found: _Type | None = ("null",)
    for value in values:
        found = None if found is None else _common(found, _type_of(value))
    if found is None or (found[-1] == "number" and _has_large(values)):
        return list_texts(values), ("text",)
    return [[*each] if isinstance(each, tuple) else each for each in values], found


def _type_of(value: object) -> _Type | None:
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean",)
        case int():
            return ("integer",)
        case float():
            return ("number",)
        case str():
            return ("text",)
        case tuple() | list():
            inner: _Type | None = ("null",)
            for each in value:
                inner = None if inner is None else _common(inner, _type_of(each))
            return None if inner is None else ("list", *inner)
    return None


def _common(one: _Type, other: _Type | None) -> _Type | None:
    if other is None:
        return None
    if other in {one, ("null",)}:
        return one
    if one == ("null",):
        return other
    if {one, other} == {("integer",), ("number",)}:
        return ("number",)
    if one[0] == other[0] == "list" and (inner := _common(one[1:], other[1:])) is not None:
        return ("list", *inner)
    return None


def _has_large(value: object) -> bool:
    if isinstance(value, tuple | list):
        return any(_has_large(each) for each in value)
    return isinstance(value, int) and not -EXACT <= value <= EXACT


def _dtype(type: _Type) -> Any:
    import polars as pl  # noqa: PLC0415 - as above

    if type[0] == "list":
        return pl.List(_dtype(type[1:]))
    return {"null": pl.Null, "boolean": pl.Boolean, "integer": pl.Int64, "number": pl.Float64, "text": pl.String}[type[0]]
