"""Memory of an edge in the window: what a slice whose window holds everything adds to its process, an engine a process.

`python shared/bench/services/slice_memory.py` measures bytes an edge, for edges with many vertices and ids of their own
and for edges with few vertices and without ids.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
from graphtide_backfill.domain.blocks import Block
from graphtide_backfill.domain.matching import SliceMatching
from graphtide_backfill.domain.slices import Slice
from graphtide_backfill.domain.task import Task
from graphtide_bench.frame.machine import resident_bytes
from graphtide_bench.frame.script import Script
from graphtide_native.stages import WHOLE
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES

_EDGES = 1_000_000
_ROWS = 50_000
_KINDS = ("few", "many")
# Every edge is of use, and none completes a match.
_PATTERN = "PATTERN kept MATCH (v)-[a:x]->(w), (w)-[b:never]->(v) ON flows WINDOW 1000d"


def blocks(kind: str) -> list[Block]:
    """Return edges in blocks, each with its own arrays."""
    rng = np.random.default_rng(1)
    found = []
    for start in range(0, _EDGES, _ROWS):
        numbers = np.arange(start, start + _ROWS)
        if kind == "many":
            ends = [[f"account-{2 * number + side}" for number in numbers] for side in (0, 1)]
            ids = [f"transfer-{number:012d}" for number in numbers]
        else:
            ends = [[f"10.0.0.{host}" for host in rng.integers(0, 5_000, _ROWS)] for _ in (0, 1)]
            ids = [str(number) for number in numbers]
        table = pa.table({"ts": numbers, "src": ends[0], "dst": ends[1], "label": ["x"] * _ROWS, "id": ids})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        found.append(Block(0, start, WHOLE if start + _ROWS == _EDGES else start + _ROWS, sink.getvalue().to_pybytes()))
    return found


def add(engine: str, kind: str) -> int:
    """Return the bytes that an edge adds to this process."""
    given = blocks(kind)
    matching = SliceMatching(Task(parse_subgraphs(_PATTERN), engine), Slice(0, 0, _EDGES), deletions=False)
    before = resident_bytes()
    for _ in matching.matches(given):
        pass
    return round((resident_bytes() - before) / _EDGES)


def main() -> None:
    """Measure one engine and kind of edges if they are named, else all, each in a process of its own."""
    script = Script(__file__, __doc__)
    script.option("--engine", choices=FAMILIES["isomorphism"].names)
    script.option("--vertices", choices=_KINDS)
    asked = script.arguments()
    if asked.engine and asked.vertices:
        script.add({"engine": asked.engine, "vertices": asked.vertices, "bytes an edge": add(asked.engine, asked.vertices)})
    else:
        for engine, kind in product(FAMILIES["isomorphism"].names, _KINDS):
            for row in script.apart("--engine", engine, "--vertices", kind):
                script.add(row)
    script.hand_out()


if __name__ == "__main__":
    main()
