"""The patterns of the tutorials report on real streams what the oracle reports, by every engine."""

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
from graphtide_core.event import Event
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import ComponentMatch, OccurrenceMatch
from graphtide_core.pattern import Report
from graphtide_core.time import EventTime
from graphtide_query import parse, parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.families.events.builders import BUILDERS
from graphtide_testing.data import real_stream, stream_or_stand_in
from graphtide_testing.documents.blocks import blocks_of
from graphtide_testing.oracles.event_conditions import Conditions
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.oracles.simulation import SimulationOracle, fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.edge import Value
    from graphtide_core.match import Match
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_testing.oracles.simulation import Component

ROOT: Final = Path(__file__).parents[2]
Emitted = tuple[str, int, frozenset[tuple[str, str]], str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Piece:
    """Records of a stream, from one to another, that give the pattern of a page at least so many reports."""

    page: str
    stream: str
    unit: TimeUnit
    first: int
    last: int
    reports: int


PIECES: Final = {
    "circles": Piece("circles.md", "mathoverflow.csv.gz", TimeUnit.SECOND, 0, 650, 20),
    "more circles": Piece("circles.md", "mathoverflow.csv.gz", TimeUnit.SECOND, 0, 1_000, 50),
    "the first flood": Piece("flood.md", "iot23_34_1.csv.gz", TimeUnit.MILLISECOND, 4_000, 6_404, 10),
    "the second flood": Piece("flood.md", "iot23_34_1.csv.gz", TimeUnit.MILLISECOND, 20_900, 21_420, 10),
}


def patterns_of(page: str) -> list[str]:
    """Return the patterns of a tutorial; blocks with a name are statements."""
    return [
        block.text for block in blocks_of(ROOT / "docs/tutorials" / page) if block.language == "graphtide" and not block.name
    ]


def pattern_of(page: str) -> SubgraphPattern:
    """Return the one pattern of a tutorial."""
    (text,) = patterns_of(page)
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


def list_reported(matches: Iterable[object]) -> list[Emitted]:
    """Return what was reported, in a form that can be compared and sorted."""
    found = []
    for match in matches:
        assert isinstance(match, ComponentMatch)
        pairs = frozenset((name, edge) for name, edges in match.edges.items() for edge in edges)
        former = match.merged or ((match.split_from,) if match.split_from is not None else ())
        found.append((match.kind.value, match.detected_at, pairs, match.component or "", tuple(sorted(former))))
    return sorted(found, key=by_text)


def list_expected(components: Iterable[Component]) -> list[Emitted]:
    """Return what the oracle reports, in the same form."""
    emitted = [(each.kind.value, each.detected_at, each.pairs, each.component or "", each.former) for each in components]
    return sorted(emitted, key=by_text)


def by_text(emitted: Emitted) -> tuple[object, ...]:
    """Return what to sort by."""
    kind, at, pairs, component, former = emitted
    return (kind, at, sorted(pairs), component, former)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "piece",
    [pytest.param(each, id=name, marks=[pytest.mark.slow] if name == "more circles" else []) for name, each in PIECES.items()],
)
def test_every_engine_reports_what_the_oracle_does(piece: Piece) -> None:
    pattern, edges = pattern_of(piece.page), list(records(stream_or_stand_in(piece.stream), piece.first, piece.last))
    # Others change nothing, and the oracle looks at all edges anew for each.
    of_use = [edge for edge in edges if any(fits(pattern, each, edge) for each in pattern.edges)]
    oracle = SimulationOracle(pattern, piece.unit)
    emitted = list_expected([*(each for edge in of_use for each in oracle.push(edge)), *oracle.finish()])
    assert len(emitted) >= piece.reports
    for engine in FAMILIES["simulation"].names:
        assert list_reported(graphtide.match([pattern], edges, MatchOptions(engine=engine, time_unit=piece.unit))) == emitted, (
            engine
        )


JAMS: Final = {"travelling_jam": 11, "jam_once": 2, "sudden_drop": 2}
"""How many matches the patterns of the page on jams have in the days that the oracle looks at."""
FROM, TO = 1_409_875_200_000, 1_410_480_000_000
"""Midnight of 5 September 2014 and of the 12th."""


def readings(path: Path) -> Iterator[Event]:
    """Read the readings of these days."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if FROM <= int(row["ts"]) < TO:
                known: dict[str, Value] = {"speed": int(row["speed"]), "vehicles": int(row["vehicles"])}
                yield Event(EdgeId(row["id"]), EventTime(int(row["ts"])), row["type"], known)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", JAMS)
def test_jams_and_drops_are_those_of_the_oracle(name: str) -> None:
    stream = real_stream("aarhus_traffic.csv.gz")
    (pattern,) = (each for text in patterns_of("jams.md") for each in parse(text) if each.name == name)
    assert isinstance(pattern, EventPattern)
    conditions = Conditions(pattern, TimeUnit.MILLISECOND)
    events = list(readings(stream))
    # Others change nothing, and the oracle looks at all events anew for each.
    of_use = [event for event in events if any(conditions.fits_alone(place, event) for place in pattern.events)]
    emitted = [(each.detected_at, each.count, dict(each.events)) for each in EventOracle(pattern).run(of_use)]
    assert len(emitted) == JAMS[name]
    records = [{"ts": event.ts, "type": event.type, "id": event.id, **event.attributes} for event in events]
    for builder in BUILDERS:
        found = list(graphtide.match([pattern], records, MatchOptions(builder=builder)))
        assert sorted((as_emitted(match, pattern) for match in found), key=repr) == sorted(emitted, key=repr), builder


def as_emitted(match: Match, pattern: EventPattern) -> tuple[int, int, dict[str, tuple[str, ...]]]:
    """Return a match in the oracle's form; which of the matches that are counted is shown is the engine's choice."""
    assert isinstance(match, OccurrenceMatch)
    events = {name: (str(own),) if isinstance(own, str) else tuple(map(str, own)) for name, own in match.events.items()}
    return match.detected_at, match.count or 1, {} if pattern.report is Report.EXISTS else events
