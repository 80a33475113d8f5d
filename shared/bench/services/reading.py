"""How fast a stream is read and matched, by the format it is written in.

`python shared/bench/services/reading.py [--edges 3000000] [--repeats 5] [--folder FOLDER]`

One stream of edges between 20,000 addresses with 50 labels and an attribute comes in several formats. They are CSV, JSON Lines,
Parquet, and Arrow with dictionaries and with plain texts. A pattern of three edges in order is matched over each, alternately,
in one process, whose allocator is asked for what `graphtide match` asks for. It reports the median of wall time and of
processor time from opening the file to the summary, without start-up. It also reports how many times as fast as CSV that is.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from graphtide.options import MatchOptions
from graphtide.readers import ReaderOptions
from graphtide.run import prepare
from graphtide_bench.frame.runs import repeat
from graphtide_bench.frame.script import Script
from graphtide_native.allocator import keep_pages
from graphtide_query import parse_subgraphs

if TYPE_CHECKING:
    from collections.abc import Iterable

PATTERN: Final = (
    "PATTERN p MATCH (a)-[x:l1]->(b)-[y:l2]->(c)-[z:l3]->(d) WHERE x.amount > 90000 ORDER x < y, y < z ON s WINDOW 1000"
)
ADDRESSES: Final = 20_000
LABELS: Final = 50
_ROWS: Final = 1 << 16


class Nowhere:
    """A sink that keeps nothing."""

    def write(self, lines: bytes) -> None:
        """Take lines of matches."""

    def flush(self) -> None:
        """Do nothing."""


def main() -> None:
    """Measure, and show a row for each format."""
    script = Script(__file__, __doc__)
    script.option("--edges", type=int, default=3_000_000)
    script.option("--repeats", type=int, default=5)
    script.option("--folder", type=Path, default=None)
    asked = script.arguments()
    keep_pages()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        paths = list(write(Path(folder), asked.edges))
        found = repeat([partial(once, path) for path in paths], asked.repeats, warm=1)
    csv, *_ = found
    for path, runs in zip(paths, found, strict=True):
        script.add({"stream": path.name, **runs.columns(), "times_csv": round(csv.wall.median / runs.wall.median, 2)})
    script.hand_out()


def once(path: Path) -> None:
    """Match the pattern over the file."""
    run = prepare(parse_subgraphs(PATTERN), str(path), MatchOptions(), reading=ReaderOptions(keep_raw=False), matches=Nowhere())
    summary = run.execute()
    assert summary.outcome == "done", summary


def write(folder: Path, edges: int) -> Iterable[Path]:
    """Yield the stream in each format, CSV first."""
    chance = Random(5)
    names = pa.array([f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}" for number in range(ADDRESSES)])
    labels = pa.array([f"l{number}" for number in range(LABELS)])

    def drawn(values: pa.Array) -> pa.DictionaryArray:
        codes = pa.array(chance.choices(range(len(values)), k=edges), pa.int32())
        return pa.DictionaryArray.from_arrays(codes, values)

    columns = {"src": drawn(names), "dst": drawn(names), "label": drawn(labels)}
    ts, amount = pa.array([place // 3 for place in range(edges)]), pa.array(chance.choices(range(100_000), k=edges))
    coded = pa.table({"ts": ts, **columns, "amount": amount})
    plain = pa.table({"ts": ts, **{name: column.cast(pa.string()) for name, column in columns.items()}, "amount": amount})
    pa_csv.write_csv(plain, folder / "edges.csv", pa_csv.WriteOptions(quoting_style="none"))
    yield folder / "edges.csv"
    with (folder / "edges.jsonl").open("w") as lines:
        for batch in plain.to_batches(_ROWS):
            for a, source, target, label, b in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                lines.write(f'{{"ts":{a},"src":"{source}","dst":"{target}","label":"{label}","amount":{b}}}\n')
    yield folder / "edges.jsonl"
    pq.write_table(plain, folder / "edges.parquet")
    yield folder / "edges.parquet"
    for name, table in (("dictionaries", coded), ("texts", plain)):
        with pa.ipc.new_file(folder / f"{name}.arrow", table.schema) as writer:
            writer.write_table(table, max_chunksize=_ROWS)
        yield folder / f"{name}.arrow"


if __name__ == "__main__":
    main()
