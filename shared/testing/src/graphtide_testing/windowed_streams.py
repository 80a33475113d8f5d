"""Streams for tests of what is counted in windows: features, and what EMIT gives.

There is one for each door: edges for files and pipes, raw edges for a sequencer, records of all kinds for the native stage.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.edge import Edge, Operation
from graphtide_core.event import Event
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from hypothesis import strategies as st

from graphtide_testing.records import events_to_json_lines, to_json_lines
from graphtide_testing.sequencing_stage import edge

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from graphtide_core.edge import Value
    from hypothesis.strategies import SearchStrategy

READS: Final = "STREAM flows EDGE (src)-[label]->(dst) AT ts ID id SET size = size LATENESS 3ms DUPLICATES UPDATE"
"""The beginning of a statement that reads raw edges."""

RAW_EDGES: Final = st.lists(
    st.builds(
        edge,
        st.integers(0, 60),
        st.sampled_from("abcdefghij"),
        src=st.sampled_from("xy"),
        dst=st.sampled_from("uvw"),
        size=st.sampled_from([1, 2.5, 7, None]),
    ),
    min_size=1,
    max_size=6,
)
"""Edges as they are sent, in any order, with ids that come again."""


def draw_edges(seed: int, count: int = 60) -> list[Edge]:
    """Return edges with sizes, in order of time, with ties."""
    chance = random.Random(seed)  # noqa: S311 - a test's stream
    times = sorted(chance.randrange(200) for _ in range(count))
    return [
        Edge(
            EdgeId(f"e{place}"),
            EventTime(ts),
            VertexId(chance.choice("ab")),
            VertexId(chance.choice("uvw")),
            "x",
            attributes={"size": chance.choice([1, 2, 2.5, None])},
        )
        for place, ts in enumerate(times)
    ]


def read_back(rows: Sequence[dict[str, Any]], counted: Collection[str]) -> list[Edge]:
    """Return ordered edges as an oracle takes them, without the attributes that were counted and those that are missing."""
    return [
        Edge(
            EdgeId(row["id"]),
            EventTime(row["ts"]),
            VertexId(row["src"]),
            VertexId(row["dst"]),
            row["label"],
            row["src_label"] or None,
            row["dst_label"] or None,
            {name: value for name, value in row["attributes"].items() if value is not None and name not in counted},
            Operation(row["op"]),
        )
        for row in rows
    ]


@st.composite
def ordered_records(
    draw: st.DrawFn, values: SearchStrategy[Value], gaps: Sequence[int] = (0, 0, 1, 1, 2, 9), least: int = 1
) -> list[Edge | Event]:
    """An ordered stream of edges and events with ties, deletions, and ids that come again or are those of EMIT.

    Attributes `x` and `y` are of `values`; times are `gaps` apart; there are `least` records or more.
    """
    records: list[Edge | Event] = []
    ts = draw(st.integers(-12, 5))
    for ordinal in range(draw(st.integers(least, 20))):
        ts += draw(st.sampled_from(gaps))
        given_id = draw(st.sampled_from([None, None, "i", "j", "7", "emit:x"]))
        is_deleted = given_id is not None and draw(st.integers(0, 2)) == 0
        identity = (EdgeId(str(ordinal) if given_id is None else given_id), EventTime(ts))
        operation = Operation.DELETE if is_deleted else Operation.INSERT
        attributes = {"x": draw(values), "y": draw(values)}
        if draw(st.integers(0, 3)) == 0:
            records.append(Event(*identity, draw(st.sampled_from("ab")), attributes, operation, given_id is None))
            continue
        source, target = (VertexId(draw(st.sampled_from(["a", "b", "7"]))) for _ in range(2))
        label, source_label = draw(st.sampled_from(["a", "p"])), draw(st.sampled_from([None, "a"]))
        records.append(Edge(*identity, source, target, label, source_label, None, attributes, operation, given_id is None))
    return records


def to_mixed_lines(records: Sequence[Edge | Event]) -> bytes:
    """Return edges and events as JSON, one a line."""
    return b"".join(to_json_lines([each]) if isinstance(each, Edge) else events_to_json_lines([each]) for each in records)
