"""The patterns of the tutorials report on real streams what the oracle reports, by every engine. Skipped without the data."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import graphtide
import pytest
from graphtide import MatchOptions, TimeUnit
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import ComponentMatch
from graphtide_core.time import EventTime
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_testing.documents.blocks import blocks_of
from graphtide_testing.oracles.simulation import SimulationOracle, fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_testing.oracles.simulation import Component

ROOT: Final = Path(__file__).parents[2]
DATA: Final = ROOT.parent / "shared" / "data"
Told = tuple[str, int, frozenset[tuple[str, str]], str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Piece:
    """Records of a stream, from one to another, on which the pattern of a page has at least so many reports."""

    page: str
    stream: str
    unit: TimeUnit
    first: int
    last: int
    reports: int


PIECES: Final = {
    "circles": Piece("circles.md", "mathoverflow.csv.gz", TimeUnit.SECOND, 0, 1_000, 50),
    "the first flood": Piece("flood.md", "iot23_34_1.csv.gz", TimeUnit.MILLISECOND, 4_000, 6_404, 10),
    "the second flood": Piece("flood.md", "iot23_34_1.csv.gz", TimeUnit.MILLISECOND, 20_900, 21_420, 10),
}


def pattern_of(page: str) -> SubgraphPattern:
    """Return the pattern of a tutorial."""
    (text,) = (block.text for block in blocks_of(ROOT / "docs/tutorials" / page) if block.language == "graphtide")
    (pattern,) = parse_subgraphs(text)
    return pattern


def records(path: Path, first: int, last: int) -> Iterator[Edge]:
    """Read a piece of a stream in Python, for the oracle."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for ordinal, row in enumerate(islice(csv.DictReader(file), first, last)):
            port = row.get("dst_port")
            yield Edge(
                id=EdgeId(row.get("id") or str(ordinal)),
                ts=EventTime(int(row["ts"])),
                source=VertexId(row["src"]),
                target=VertexId(row["dst"]),
                label=row["label"],
                attributes={"dst_port": int(port) if port else None, "conn_state": row.get("conn_state") or None},
                made=not row.get("id"),
            )


def reported(matches: Iterable[object]) -> list[Told]:
    """Return what was reported, in a form that can be compared and sorted."""
    found = []
    for match in matches:
        assert isinstance(match, ComponentMatch)
        pairs = frozenset((name, edge) for name, edges in match.edges.items() for edge in edges)
        former = match.merged or ((match.split_from,) if match.split_from is not None else ())
        found.append((match.kind.value, match.detected_at, pairs, match.component or "", tuple(sorted(former))))
    return sorted(found, key=by_text)


def expected(components: Iterable[Component]) -> list[Told]:
    """Return what the oracle reports, in the same form."""
    told = [(each.kind.value, each.detected_at, each.pairs, each.component or "", each.former) for each in components]
    return sorted(told, key=by_text)


def by_text(told: Told) -> tuple[object, ...]:
    """Return what to sort by."""
    kind, at, pairs, component, former = told
    return (kind, at, sorted(pairs), component, former)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES.keys())
def test_every_engine_reports_what_the_oracle_does(piece: Piece) -> None:
    if not (DATA / piece.stream).exists():
        pytest.skip(f"{piece.stream} is not at hand")
    pattern, edges = pattern_of(piece.page), list(records(DATA / piece.stream, piece.first, piece.last))
    # Others change nothing, and the oracle looks at all edges anew for each.
    of_use = [edge for edge in edges if any(fits(pattern, each, edge) for each in pattern.edges)]
    oracle = SimulationOracle(pattern, piece.unit)
    told = expected([*(each for edge in of_use for each in oracle.push(edge)), *oracle.finish()])
    assert len(told) >= piece.reports
    for engine in FAMILIES["simulation"].names:
        assert reported(graphtide.match([pattern], edges, MatchOptions(engine=engine, time_unit=piece.unit))) == told, engine
