"""Snapshots as JSON, one object on one line; equal snapshots give equal texts, whatever the order of their counts.

Types stand once in a list, and paths name them by their places in it. `schema` is the version of this form; a reader refuses
others.
"""

from __future__ import annotations

import json
from typing import Any, Final

from graphtide_core.errors import PoisonRecordError
from graphtide_core.statistics.kinds import Direction, EdgeType
from graphtide_core.statistics.path_counts import PathCounts, end_number
from graphtide_core.statistics.snapshot import DegreeMoments, StatisticsSnapshot, TimeRange
from graphtide_core.time import EventTime

SCHEMA: Final = 1
"""Version of the form."""


def to_json(snapshot: StatisticsSnapshot) -> str:
    """Return the snapshot as one line of JSON."""
    counted = snapshot.path_counts
    of_paths = {end >> 1 for one, other, _ in counted.rows() for end in (one, other)}
    ordered = sorted({*snapshot.types, *(counted.kinds[place] for place in of_paths)}, key=EdgeType.sort_key)
    paths = None
    if snapshot.paths is not None:
        places = {kind: place for place, kind in enumerate(ordered)}
        ends = [(places.get(kind, 0), way.value) for kind in counted.kinds for way in (Direction.OUT, Direction.IN)]
        pairs = ((min(ends[one], ends[other]), max(ends[one], ends[other]), n) for one, other, n in counted.rows())
        paths = sorted([*first, *second, n] for first, second, n in pairs)
    return json.dumps(
        {
            "schema": SCHEMA,
            "version": snapshot.version,
            "window": None if snapshot.window is None else [snapshot.window.start, snapshot.window.end],
            "first_ts": snapshot.first_ts,
            "last_ts": snapshot.last_ts,
            "edges": snapshot.edges,
            "vertices": snapshot.vertices,
            "types": [
                [kind.source_label, kind.label, kind.target_label, kind.predicate_class, snapshot.types.get(kind)]
                for kind in ordered
            ],
            "paths": paths,
            "out_degrees": _moments(snapshot.out_degrees),
            "in_degrees": _moments(snapshot.in_degrees),
        },
        ensure_ascii=False,
    )


def from_json(text: str | bytes) -> StatisticsSnapshot:
    """Return the snapshot that `to_json` wrote.

    Raises:
        PoisonRecordError: the text is something else, or of another schema.
    """
    raw = text.encode() if isinstance(text, str) else text
    try:
        record = json.loads(text)
    except ValueError as error:
        message = f"not JSON: {error}"
        raise PoisonRecordError(message, raw) from error
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        message = f"not a snapshot of statistics of schema {SCHEMA}"
        raise PoisonRecordError(message, raw)
    try:
        return _snapshot(record)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        message = f"a damaged snapshot of statistics: {error!r}"
        raise PoisonRecordError(message, raw) from error


def _snapshot(record: dict[str, Any]) -> StatisticsSnapshot:
    counts = [(EdgeType(source, label, target, number), count) for source, label, target, number, count in record["types"]]
    kinds = [kind for kind, _ in counts]
    paths: PathCounts | None = None
    if record["paths"] is not None:
        ways = {way.value: way for way in Direction}
        rows = [
            (end_number(_place(one, kinds), ways[way]), end_number(_place(two, kinds), ways[other_way]), count)
            for one, way, two, other_way, count in record["paths"]
        ]
        paths = PathCounts.of_rows(kinds, rows)
    window, first, last = record["window"], record["first_ts"], record["last_ts"]
    return StatisticsSnapshot(
        version=record["version"],
        window=None if window is None else TimeRange(EventTime(window[0]), EventTime(window[1])),
        first_ts=None if first is None else EventTime(first),
        last_ts=None if last is None else EventTime(last),
        edges=record["edges"],
        vertices=record["vertices"],
        types={kind: count for kind, count in counts if count is not None},
        paths=paths,
        out_degrees=DegreeMoments(**record["out_degrees"]),
        in_degrees=DegreeMoments(**record["in_degrees"]),
    )


def _place(place: int, kinds: list[EdgeType]) -> int:
    """Return the place of a type, which may be counted from the end.

    Raises:
        IndexError: there is none.
    """
    return range(len(kinds))[place]


def _moments(moments: DegreeMoments) -> dict[str, int]:
    return {
        "vertices": moments.vertices,
        "total": moments.total,
        "squares": moments.squares,
        "most": moments.most,
    }
