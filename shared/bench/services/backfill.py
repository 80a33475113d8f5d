"""What a backfill costs: cores, lengths of slices, parts of a key, and a large run; see `docs/benchmarks/spark.md`.

Edges are drawn with numpy from a seed: 40 a second between 5,000 hosts, few of them busy, with four labels. One run is one
process with a Spark of its own, so that memory and caches of one do not touch the next.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from graphtide.plot import Axis, Chart, Series, to_svg
from graphtide_backfill import bootstrap
from graphtide_backfill.application.backfill import Asked
from graphtide_backfill.domain.task import Task
from graphtide_backfill.entrypoints.request import SparkRequest, size, slice_key
from graphtide_bench.frame.machine import resident_bytes
from graphtide_bench.frame.script import Script
from graphtide_query import parse_subgraphs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATTERN = """
PATTERN relay
MATCH (v)-[a:http]->(w), (w)-[b:http]->(v), (v)-[c:tcp]->(s), (s)-[d:tcp]->(v)
ORDER a < b < c < d
ON flows WINDOW 10m
"""
SPREAD = """
PATTERN spread
MATCH (v)-[a:irc]->(w), (v)-[b:tcp]->(w), (v)-[c:irc]->(w), (v)-[d:dns]->(w)
WHERE a.bytes > 900000
ORDER a < b < c < d
ON flows WINDOW 30d
"""
"""Its window is longer than history, so slices of time do not help. It is local by src."""

_HOSTS = 5_000
_WINDOW_MS = 10 * 60 * 1000
_FACTORS = (0.5, 1, 2, 4, 8, 16)
_ROWS = 1_000_000


class Measurements(msgspec.Struct, frozen=True):
    """What one run took.

    Attributes:
        cores: of Spark.
        slices: how many there were.
        slice_ms: length of a slice; None where they were cut evenly.
        by: what history was divided by, as `--slice-by` has it; None was not.
        edges: in the slices.
        overlap: looked at again.
        matches: found.
        seconds: of all, from the start of Spark.
        count_seconds: of them, the start of Spark and counting.
        match_seconds: of them, reading and matching.
        slice_seconds: that slices took, all cores together.
        python_peak_mb: most memory of one Python process.
        jvm_peak_mb: most memory of the JVM.
        load: of the machine at the end, over a minute.
    """

    cores: int
    slices: int
    slice_ms: int | None
    by: str | None
    edges: int
    overlap: int
    matches: int
    seconds: float
    count_seconds: float
    match_seconds: float
    slice_seconds: float
    python_peak_mb: int
    jvm_peak_mb: int
    load: float


def generate(path: Path, edges: int, seed: int = 1) -> None:
    """Write edges in order of time as Parquet."""
    rng = np.random.default_rng(seed)
    names = np.array([f"10.{host >> 16}.{host >> 8 & 255}.{host & 255}" for host in range(_HOSTS)])
    labels = np.array(["http", "tcp", "dns", "irc"])
    now, writer = 1_704_067_200_000, None
    for start in range(0, edges, _ROWS):
        rows = min(_ROWS, edges - start)
        times = now + np.cumsum(rng.integers(0, 51, rows))
        now = int(times[-1])
        ends = [(rng.random(rows) ** 2 * _HOSTS).astype(np.int64) for _ in range(2)]
        table = pa.table(
            {
                "ts": times,
                "src": names[ends[0]],
                "dst": names[ends[1]],
                "label": labels[rng.choice(4, rows, p=[0.3, 0.3, 0.3, 0.1])],
                "bytes": rng.integers(40, 1_000_000, rows),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


class Options(NamedTuple):
    """How a run is cut, and whether it finds the pattern with the long window."""

    slice_length: int | None = None
    by: str | None = None
    is_long: bool = False


def run(history: Path, cores: int, memory: str, options: Options) -> Measurements:
    """Run one backfill and measure it."""
    task = Task(parse_subgraphs(SPREAD if options.is_long else PATTERN), "timing")
    stop, peaks = Event(), {"python": 0, "jvm": 0}
    watcher = Thread(target=_watch, args=(stop, peaks), daemon=True)
    watcher.start()
    started = time.perf_counter()
    request = SparkRequest(f"local[{cores}]", size(memory))
    with tempfile.TemporaryDirectory() as folder, bootstrap.spark_cluster(request) as cluster:
        by = None if options.by is None else slice_key(options.by)
        asked = Asked(slice_length=options.slice_length, by=by)
        made = bootstrap.backfill(
            task,
            bootstrap.files(str(history), "parquet", {}, ",", {}),
            cluster,
            Path(folder),
            asked,
            on_progress=lambda _: None,
            stop=Event(),
        )
        prepared = made.backfill.prepare()
        counted = time.perf_counter()
        totals = made.backfill.run(prepared)
        ended = time.perf_counter()
    stop.set()
    watcher.join()
    return Measurements(
        cores=cores,
        slices=totals.slices,
        slice_ms=options.slice_length,
        by=options.by,
        edges=totals.edges,
        overlap=totals.overlap,
        matches=totals.matches,
        seconds=round(ended - started, 2),
        count_seconds=round(counted - started, 2),
        match_seconds=round(ended - counted, 2),
        slice_seconds=totals.slice_seconds,
        python_peak_mb=peaks["python"] >> 20,
        jvm_peak_mb=peaks["jvm"] >> 20,
        load=round(os.getloadavg()[0], 1),
    )


def _watch(stop: Event, peaks: dict[str, int]) -> None:
    """Keep the most memory that one Python worker and the JVM had."""
    while not stop.wait(0.5):
        for name, resident in _children(os.getpid()):
            kind = "jvm" if name == "java" else "python"
            peaks[kind] = max(peaks[kind], resident)


def _children(parent: int) -> Iterator[tuple[str, int]]:
    """Yield name and resident bytes of every process below one."""
    try:
        below = Path(f"/proc/{parent}/task").glob("*/children")
        children = [int(child) for path in below for child in path.read_text().split()]
        for child in children:
            yield Path(f"/proc/{child}/comm").read_text().strip(), resident_bytes(child)
            yield from _children(child)
    except OSError:
        return


def _sixth(history: Path) -> int:
    """Return the ticks of a sixth of history."""
    times = pq.read_table(history, columns=["ts"]).column("ts")
    return int(times[-1].as_py() - times[0].as_py()) // 6 + 1


def _apart(script: Script, history: Path, cores: int, memory: str, options: Options) -> Measurements:
    """Run in a process of its own."""
    given = {"--slice": options.slice_length, "--by": options.by}
    more = [part for name, value in given.items() if value is not None for part in (name, value)]
    more += ["--long"] if options.is_long else []
    (row,) = script.apart("run", history, "--cores", cores, "--memory", memory, *more)
    script.add(row)
    return msgspec.convert(row, Measurements)


def chart(measurements: list[Measurements]) -> Chart:
    """Return what a million edges cost over the length of slices: matching alone, and the run after counting."""
    by_length: dict[float, list[Measurements]] = {}
    for each in measurements:
        by_length.setdefault((each.slice_ms or 0) / _WINDOW_MS, []).append(each)

    def series(name: str, seconds: Callable[[Measurements], float]) -> Series:
        points = ((length, median(seconds(each) / each.edges * 1e6 for each in runs)) for length, runs in by_length.items())
        return Series(name, tuple(points))

    return Chart(
        "Cost of a million edges over the length of slices",
        Axis("length of a slice, in windows", logarithmic=True),
        Axis("seconds"),
        (
            series("matching, all cores together", lambda each: each.slice_seconds),
            series("reading and matching, wall", lambda each: each.match_seconds),
        ),
    )


def main() -> None:
    """Generate, run once, compare cores, lengths of slices, or one slice with six by time and six by key."""
    script = Script(__file__, __doc__)
    script.option("what", choices=["generate", "run", "cores", "slices", "keys"])
    script.option("history", type=Path)
    script.option("--edges", type=int, default=2_000_000)
    script.option("--cores", type=int, default=2)
    script.option("--memory", default="2g")
    script.option("--slice", type=int)
    script.option("--by", help="what history is divided by: src, or src:8")
    script.option("--long", action="store_true", help="find a pattern whose window is longer than history")
    script.option("--repeat", type=int, default=3)
    script.option("--plot", type=Path, help="where the chart of slice lengths goes, as SVG")
    given = script.arguments()
    options = Options(given.slice, given.by, given.long)
    match given.what:
        case "generate":
            generate(given.history, given.edges)
        case "run":
            script.add(msgspec.to_builtins(run(given.history, given.cores, given.memory, options)))
        case "cores":
            for _ in range(given.repeat):
                for cores in (1, 2):
                    _apart(script, given.history, cores, given.memory, options)
        case "keys":
            by_time, by_key = Options(_sixth(given.history), is_long=True), Options(by=given.by or "src:6", is_long=True)
            for _ in range(given.repeat):
                for way in (Options(is_long=True), by_time, by_key):
                    _apart(script, given.history, given.cores, given.memory, way)
        case _:
            lengths = [int(_WINDOW_MS * factor) for factor in _FACTORS]
            made = [
                _apart(script, given.history, given.cores, given.memory, Options(length))
                for length in lengths
                for _ in range(given.repeat)
            ]
            if given.plot is not None:
                given.plot.write_text(to_svg([chart(made)]), "utf-8")
    script.hand_out()


if __name__ == "__main__":
    main()
