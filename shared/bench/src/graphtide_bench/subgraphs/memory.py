"""Measures memory: of whole processes as a stream gets longer, and of each storage of partial matches."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.errors import FatalError
from graphtide_core.plans import Storage
from graphtide_core.statistics import to_json

from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.table import Table, size
from graphtide_bench.subgraphs import single as subgraph
from graphtide_bench.subgraphs.peak import PeakAnswer, PeakRequest
from graphtide_bench.workloads.cache import csv_file, statistics_of, texts
from graphtide_bench.workloads.workload import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from graphtide_bench.frame.kinds import Value
    from graphtide_bench.subgraphs.measurement import Measurement

STORING_ENGINE: Final = "timing"
STORAGE_PATTERNS: Final = ("star4_empty", "star5_empty", "tree6_empty")
_STORAGE_CASES = (("B", 50_000), ("F", 10_000))
ONE: Final = "path4_empty"
EVERY: Final = "all"
"""What is matched while resident memory is measured: one pattern, or all of the workload in one pass."""


@dataclass(frozen=True, slots=True)
class Resident:
    """Memory of a process that matched a stream, read block by block from a CSV file.

    Attributes:
        workload: name of the stream's workload.
        window: of the patterns, in ticks.
        patterns: name of the pattern; `all` for all of the workload in one pass.
        engine: its name.
        peak: what the process said.
    """

    workload: str
    window: int
    patterns: str
    engine: str
    peak: PeakAnswer

    @property
    def added(self) -> int:
        """Bytes that the peak grew from the opening of the stream to its end."""
        return self.peak.after - self.peak.before


def resident(
    lengths: Sequence[int],
    engines: Sequence[str],
    cache: Path,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Resident, ...]:
    """Measure one pattern, and all patterns of stream E in one pass, over streams of several lengths.

    The patterns, and what the planner knows, are those of the whole stream throughout.

    Raises:
        FatalError: a process failed.
    """
    workload = WORKLOADS["E"]
    window = workload.windows[0]
    drawn = texts(workload.patterns(window), window)
    known = to_json(statistics_of(csv_file(workload, cache)))
    found = []
    for (chosen, text), engine, length in product(((ONE, drawn[ONE]), (EVERY, "\n".join(drawn.values()))), engines, lengths):
        progress(f"{chosen} under {engine}, {length:,} edges")
        request = PeakRequest(
            stream=str(csv_file(workload.of_length(length), cache)),
            patterns=text,
            engine=engine,
            storage=Storage.MS_DAG,
            statistics=known,
        )
        answer = ask(request)
        found.append(Resident(workload.name, window, chosen, engine, answer))
    return tuple(found)


def storages(repeats: int, cache: Path, progress: Callable[[str], None] = lambda _: None) -> tuple[Measurement, ...]:
    """Measure every storage on patterns with many partial matches."""
    found: list[Measurement] = []
    for name, window in _STORAGE_CASES:
        settings = subgraph.RunMatrix(
            workloads=(WORKLOADS[name],),
            cache=cache,
            windows=(window,),
            engines=(STORING_ENGINE,),
            storages=tuple(Storage),
            pattern=STORAGE_PATTERNS,
            repeats=repeats,
        )
        found.extend(subgraph.run(settings, progress))
    return tuple(found)


def check(found: Sequence[Resident]) -> str:
    """Return what was checked, in a sentence.

    Raises:
        FatalError: engines do not agree on the matches.
    """
    matches: dict[tuple[str, int], int] = {}
    for each in found:
        first = matches.setdefault((each.patterns, each.peak.edges), each.peak.matches)
        if first != each.peak.matches:
            message = f"{each.engine} finds {each.peak.matches} matches over {each.peak.edges:,} edges, another engine {first}"
            raise FatalError(message)
    return f"Matches of whole processes checked: equal between the engines that were run ({len({e.engine for e in found})})."


def by_length(found: Sequence[Resident]) -> Table:
    """Return a row for each engine, choice of patterns and length of stream."""
    columns: dict[str, Callable[[Resident], str]] = {
        "stream": lambda each: each.workload,
        "window": lambda each: f"{each.window:,}",
        "patterns": lambda each: each.patterns,
        "engine": lambda each: each.engine,
        "edges": lambda each: f"{each.peak.edges:,}",
        "before": lambda each: size(each.peak.before),
        "peak": lambda each: size(each.peak.after),
        "added": lambda each: size(each.added),
        "state": lambda each: size(each.peak.peak_state_bytes),
        "matches": lambda each: f"{each.peak.matches:,}",
    }
    return Table.of("Resident memory of a process", found, columns, names=4)


def ask(request: PeakRequest) -> PeakAnswer:
    """Match a stream in a process of its own.

    Raises:
        FatalError: the process failed.
    """
    process = subprocess.run(
        [sys.executable, "-m", "graphtide_bench.subgraphs.peak"],
        input=msgspec.json.encode(request),
        capture_output=True,
        check=False,
    )
    if process.returncode:
        message = f"the process that measures memory failed: {process.stderr.decode(errors='replace').strip()}"
        raise FatalError(message)
    return msgspec.json.decode(process.stdout, type=PeakAnswer)


def _values(found: Sequence[Resident]) -> Iterator[Value]:
    for each in found:
        yield f"memory added, {each.workload} {each.engine}", f"{each.patterns} {each.peak.edges:,}", float(each.added)


RESIDENT: Final = Kind("resident", Resident, lambda found: (by_length(found),), values=_values)
