"""Keeps generated streams as files, each made once; the name of a file holds a digest of its recipe.

Invariant: a file of that name is whole, because it is written beside its place and then moved there.
"""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from graphtide.readers import ReaderOptions, open_stream
from graphtide_native.statistics import StreamStatistics
from pyarrow import csv as pa_csv

from graphtide_bench.workloads.stream import generate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from graphtide_core.statistics import StatisticsSnapshot

    from graphtide_bench.workloads.queries import DrawnPattern
    from graphtide_bench.workloads.stream import LabelledEdge
    from graphtide_bench.workloads.workload import Workload

DEFAULT_CACHE: Final = ".cache/bench"
"""Where benchmarks keep their streams, below the working directory."""

_HEADER = ("ts", "src", "dst", "label", "src_label", "dst_label")


def csv_file(workload: Workload, cache: Path) -> Path:
    """Return the workload's stream as CSV, generated if it is not there yet."""
    return _make(cache / f"{_stem(workload)}.csv", lambda path: write_csv(generate(workload.recipe), path))


def arrow_file(workload: Workload, cache: Path) -> Path:
    """Return the workload's stream as an Arrow IPC file: vertices as text, labels as dictionaries."""
    source = csv_file(workload, cache)
    return _make(cache / f"{_stem(workload)}.arrow", lambda path: _to_arrow(source, path))


def many_patterns(workload: Workload, drawn_from: int, number: int, cache: Path) -> tuple[str, ...]:
    """Return the texts of `number` patterns with a window of `drawn_from` ticks; see `Workload.many_patterns`."""

    def write(path: Path) -> None:
        drawn = workload.many_patterns(drawn_from, number)
        path.write_text("\n".join(pattern.text(drawn_from) for pattern in drawn), encoding="utf-8")

    path = _make(cache / f"{_stem(workload)}-{drawn_from}-{number}.gtp", write)
    return tuple(path.read_text(encoding="utf-8").split("\n\n"))


def texts(patterns: Iterable[DrawnPattern], window: int) -> dict[str, str]:
    """Return the texts of drawn patterns with a window of `window` ticks, by name."""
    return {pattern.name: pattern.text(window) for pattern in patterns}


def write_csv(edges: Iterable[LabelledEdge], path: Path) -> None:
    """Write edges as the CSV that readers take; labels get a letter, L for vertices and E for edges."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEADER)
        writer.writerows(
            (edge.ts, edge.source, edge.target, f"E{edge.label}", f"L{edge.source_label}", f"L{edge.target_label}")
            for edge in edges
        )


def statistics_of(path: Path) -> StatisticsSnapshot:
    """Count the whole of a CSV stream: what the planner of a running system knows after a while."""
    options = ReaderOptions(keep_raw=False)
    counted = StreamStatistics(options.symbols)
    for batch in open_stream(path, options).batches():
        counted.push(batch)
    return counted.snapshot()


def _to_arrow(source: Path, path: Path) -> None:
    text, label = pa.string(), pa.dictionary(pa.int32(), pa.string())
    types = {"ts": pa.int64(), "src": text, "dst": text, "label": label, "src_label": label, "dst_label": label}
    table = pa_csv.read_csv(source, convert_options=pa_csv.ConvertOptions(column_types=types)).unify_dictionaries()
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=1 << 16)


def _make(path: Path, write: Callable[[Path], None]) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".part")
        write(beside)
        beside.replace(path)
    return path


def _stem(workload: Workload) -> str:
    digest = hashlib.sha256(repr(workload.recipe).encode()).hexdigest()[:12]
    return f"{workload.name}-{workload.recipe.edges}-{digest}"
