"""Windows of a DataFrame of edges, for notebooks: which windows an edge is in, and statistics of each window by `groupBy`.

The statistics are those of `graphtide_native.statistics` over tumbling windows: types of edges, pairs of edges that meet at a
vertex, and rates. They are counted in parallel, so edges need not be in order.

```python
from graphtide_preprocess import windows

edges = spark.read.json("flows.jsonl")                       # ts, src, dst, label, maybe id, src_label, dst_label
found = windows(edges, length=600_000, slide=60_000)         # ticks: milliseconds here
found.edges().orderBy("window", "ts").show()
found.types().show()                                         # window, source_label, label, target_label, edges
found.paths().show()                                         # pairs of edges at a vertex, by their types and directions
found.rates(ticks_per_second=1000).show()
```

A streaming DataFrame gives the same; its results can be ordered only where Spark allows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class EdgeWindows:
    """Edges and the windows that they are in."""

    frame: DataFrame
    length: int
    slide: int

    def edges(self) -> DataFrame:
        """Return an edge a row and window; `window` is the time where a window begins, its end is `length` later.

        An id that is there more than once is one edge: the first by time; of a stream, the first that came.
        """
        first = f.floor((f.col("ts") - self.length) / self.slide).cast("long") + 1
        last = f.floor(f.col("ts") / self.slide).cast("long")
        numbered = _once(self.frame).withColumn("window", f.explode(f.sequence(first, last)))
        return numbered.withColumn("window", f.col("window") * self.slide)

    def types(self) -> DataFrame:
        """Return how many edges of each type each window has."""
        return self.edges().groupBy("window", *_TYPE).agg(f.count("*").alias("edges"))

    def paths(self) -> DataFrame:
        """Return how many pairs of edges meet at a vertex in each window, by the types of both and whether they come in.

        An edge that begins and ends at one vertex meets itself there, once from each end. Columns of the lesser end come first.
        """
        ends = self.edges().select(
            "window",
            f.explode(
                f.array(
                    f.struct(f.col("src").alias("vertex"), f.struct(*_TYPE, f.lit("out").alias("way")).alias("end")),
                    f.struct(f.col("dst").alias("vertex"), f.struct(*_TYPE, f.lit("in").alias("way")).alias("end")),
                )
            ).alias("at"),
        )
        counted = ends.groupBy("window", "at.vertex", "at.end").agg(f.count("*").alias("n"))
        by_vertex = counted.groupBy("window", "vertex").agg(f.sort_array(f.collect_list(f.struct("end", "n"))).alias("ends"))
        one, other = f.col("one"), f.col("other")
        pairs = by_vertex.select("window", f.posexplode("ends").alias("place", "one"), "ends").select(
            "window", "place", "one", f.posexplode("ends").alias("other_place", "other")
        )
        same = f.col("place") == f.col("other_place")
        number = f.when(same, one["n"] * (one["n"] - 1) / 2).otherwise(one["n"] * other["n"]).cast("long")
        found = pairs.where(f.col("place") <= f.col("other_place"))
        sums = found.groupBy("window", one["end"].alias("one"), other["end"].alias("other")).agg(f.sum(number).alias("paths"))
        return sums.where(f.col("paths") > 0)

    def rates(self, ticks_per_second: int) -> DataFrame:
        """Return the edges a second of each window."""
        seconds = self.length / ticks_per_second
        counted = self.edges().groupBy("window").agg(f.count("*").alias("edges"))
        return counted.withColumn("edges_per_second", f.col("edges") / f.lit(seconds))


_TYPE = ("src_label", "label", "dst_label")


def windows(frame: DataFrame, length: int, slide: int | None = None) -> EdgeWindows:
    """Return the windows of edges: each `length` ticks long, one every `slide` ticks; side by side without `slide`.

    Args:
        frame: `ts`, `src`, `dst`, `label`, and maybe `id`, `src_label`, `dst_label` and attributes; a batch or a stream.
        length: ticks of a window.
        slide: ticks between the begins of two windows, at most the length.

    Raises:
        ValueError: a length is below one tick, or windows leave a gap.
    """
    step = length if slide is None else slide
    if not 1 <= step <= length:
        message = f"windows of {length} ticks every {step} ticks: both are at least 1, and the slide is at most the length"
        raise ValueError(message)
    missing = [name for name in ("src_label", "dst_label") if name not in frame.columns]
    return EdgeWindows(frame.withColumns({name: _no_label() for name in missing}), length, step)


def _no_label() -> Column:
    return f.lit(None).cast("string")


def _once(frame: DataFrame) -> DataFrame:
    """Return the frame with one edge of an id."""
    if "id" not in frame.columns:
        return frame
    if frame.isStreaming:
        return frame.dropDuplicates(["id"])
    named, unnamed = frame.where(f.col("id").isNotNull()), frame.where(f.col("id").isNull())
    others = [name for name in frame.columns if name not in {"id", "ts"}]
    first = named.groupBy("id").agg(f.min(f.struct("ts", *others)).alias("edge")).select("id", "edge.*")
    return first.unionByName(unnamed)
