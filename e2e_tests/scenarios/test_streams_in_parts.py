"""A local pattern finds in the parts of a stream what it finds in the whole, through the services that divide and order it.

The engines match here on what was written to the log. Workers wrote it that are killed again and again, or the job on Spark,
each batch in a new process. `test_locality_against_oracle` has the proof that a pattern is local.
"""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.event import Event
from graphtide_core.graph_query import EDGE
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import merge_parts, part_in
from graphtide_core.part_key import BY_VERTEX, PartKey
from graphtide_core.pattern import Report
from graphtide_core.predicate import Attribute, Compare, Comparison, Expression, Literal
from graphtide_core.time import TimeUnit
from graphtide_matcher_host.ownership import Ownership
from graphtide_native.matcher import Matcher
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_native.spec import columns
from graphtide_preprocess.application.divided import make_parts
from graphtide_preprocess.application.micro_batch import OrderingTask
from graphtide_query.families import family_of
from graphtide_query.planner import plan
from graphtide_testing.dividing_stage import DividingStage
from graphtide_testing.micro_batches import Job
from graphtide_testing.parts import one_key_an_id
from graphtide_testing.records import events_to_json_lines, to_json_lines
from graphtide_testing.registrations import registering, registration
from graphtide_testing.seeds import seeds
from graphtide_testing.sequencing_stage import SequencingStage
from graphtide_testing.strategies import (
    EventPatternShape,
    EventStreamShape,
    GraphQueryShape,
    PatternShape,
    StreamShape,
    random_event_pattern,
    random_event_stream,
    random_graph_query,
    random_pattern,
    random_stream,
)
from graphtide_wire import ordered
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_wire.control import PatternRecord
    from graphtide_wire.ordered import OrderedHeader

TOPICS = Topics("test")
FLOWS = StreamName("flows")
PARTS: Final = (1, 3, 8)
Found = Counter[str]


def find_matches(
    pattern: AnyPattern, records: Iterable[tuple[OrderedHeader, bytes]], ownership: Ownership | None = None
) -> Found:
    """Return the reports of a pattern on ordered records, without the number within an instant: it counts those of a part."""
    symbols, projected = Symbols(), columns([pattern])
    matcher = Matcher([plan(pattern, "auto")], symbols, projected, unit=TimeUnit.MILLISECOND, deletions=True)
    decoder = ArrowDecoder(symbols, projected, {})
    found: Found = Counter()
    watermark = None
    for header, body in records:
        batches = list(matcher.push(decoder.decode(body)))
        watermark = header.watermark
        for each in chain(batches, matcher.pass_time(watermark)):
            for record in each.records():
                if ownership is not None and not ownership.owns(record):
                    continue
                found[json.dumps({name: value for name, value in json.loads(record.json).items() if name != "nth"})] += 1
    return found


def split_bodies(records: Sequence[Any], rng: random.Random) -> list[bytes]:
    """Return records as bodies of a few each."""
    to_lines = events_to_json_lines if records and isinstance(records[0], Event) else to_json_lines
    lines = to_lines(records).splitlines(keepends=True)
    cuts = sorted(rng.sample(range(len(lines) + 1), min(4, len(lines))))
    return [b"".join(lines[start:end]) for start, end in pairwise([0, *cuts, len(lines)]) if start < end]


def reader_of(pattern: AnyPattern, at: datetime) -> PatternRecord:
    """Return a registration that reads the attributes of a pattern, so that they are kept, and asks for a window of ids."""
    reads = ReadsForm(("flows",), LookbackForm("100"), None, pattern.attributes)
    return registration("PATTERN p MATCH (v)-[e]->(w) ON flows WINDOW 1", at, reads=reads)


def in_one(pattern: AnyPattern, bodies: Sequence[bytes]) -> Found:
    stage = SequencingStage()
    stage.write(registering(TOPICS, reader_of(pattern, stage.clock.now())))
    for body in bodies:
        stage.send(body)
    stage.run()
    return find_matches(
        pattern, [(ordered.header(each.headers), each.value or b"") for each in stage.read(TOPICS.ordered(FLOWS))]
    )


def send_with_kills(stage: DividingStage, bodies: Sequence[bytes], rng: random.Random) -> None:
    """Send bodies while workers are killed now and then."""
    for body in bodies:
        stage.send(body)
        stage.fuse.length = rng.choice((0, rng.randrange(1, 300)))
        stage.run(2)
    stage.fuse.length = 0


def in_parts(pattern: AnyPattern, bodies: Sequence[bytes], key: PartKey, parts: int, rng: random.Random) -> tuple[Found, int]:
    """Return what all parts report together, and how often a worker was killed."""
    stage = DividingStage(f"STREAM flows PARTITION BY {key.field or 'VERTEX'} PARTS {parts}")
    stage.write(registering(TOPICS, reader_of(pattern, stage.clock.now())))
    send_with_kills(stage, bodies, rng)
    stage.run()
    return match_parts(pattern, stage, key), stage.kills


def on_spark(pattern: AnyPattern, bodies: Sequence[bytes], key: PartKey, parts: int, rng: random.Random) -> Found:
    """Return what all parts report together, if the job on Spark divides and orders them."""
    stage = DividingStage(f"STREAM flows PARTITION BY {key.field or 'VERTEX'} PARTS {parts}")
    stage.write(registering(TOPICS, reader_of(pattern, stage.clock.now())))
    make_parts(stage.log, TOPICS, stage.division, None)
    reads = tuple(pattern.attributes)
    job = Job(stage.log, OrderingTask(TOPICS, FLOWS), True, rng.randrange(1, 4), reads=reads, division=stage.division)
    for body in bodies:
        stage.send(body)
        job.read()
    return match_parts(pattern, stage, key)


def match_parts(pattern: AnyPattern, stage: DividingStage, key: PartKey) -> Found:
    found: Found = Counter()
    for part in stage.parts:
        named = part_in(part)
        assert named is not None
        found += find_matches(pattern, stage.ordered(part), Ownership.of(pattern, named) if key.is_vertex else None)
    return found


def is_(name: str, field: str, value: int | str) -> Expression:
    return Compare(Comparison.EQUAL, Attribute(name, field), Literal(value))


def equal(names: Sequence[str], field: str) -> list[Expression]:
    return [Compare(Comparison.EQUAL, Attribute(one, field), Attribute(other, field)) for one, other in pairwise(names)]


def edges_of(rng: random.Random, *, duplicates: bool = True) -> Sequence[Any]:
    return random_stream(rng, StreamShape(max_records=30, negative_ts=False, duplicates=duplicates))


def subgraph(rng: random.Random, report: Report) -> tuple[AnyPattern, PartKey, Sequence[Any]]:
    pattern = random_pattern(rng, PatternShape(max_edges=3, report=report))
    names = [edge.name for edge in pattern.edges]
    if report is Report.ALL and rng.random() < 0.4:
        return pattern, BY_VERTEX, edges_of(rng)
    key = PartKey(rng.choice(("n", "s")))
    more = equal(names, str(key.field)) if report is Report.ALL else [is_(name, str(key.field), 1) for name in names]
    return replace(pattern, predicates=(*pattern.predicates, *more)), key, edges_of(rng, duplicates=report is Report.ALL)


def events(rng: random.Random) -> tuple[AnyPattern, PartKey, Sequence[Any]]:
    pattern, key = random_event_pattern(rng, EventPatternShape(max_events=3)), PartKey(rng.choice(("k", "n")))
    with contextlib.suppress(InvalidPatternError):
        pattern = replace(pattern, partition=(str(key.field),))
    return pattern, key, random_event_stream(rng, EventStreamShape())


def query(rng: random.Random) -> tuple[AnyPattern, PartKey, Sequence[Any]]:
    found = random_graph_query(rng, GraphQueryShape(closures=rng.random() < 0.3, max_atoms=2, max_symbols=2, max_heads=1))
    key = rng.choice((PartKey("src"), PartKey("n"), BY_VERTEX))
    if key.field == "n":
        inputs = [replace(each, conditions=(*each.conditions, is_(EDGE, "n", 1))) for each in found.inputs]
        found = replace(found, inputs=tuple(inputs))
    stream = random_stream(rng, StreamShape(max_records=20, vertices=3, labels=("a", "b", "c"), negative_ts=False))
    return found, key, stream


def test_local_patterns_of_every_family_find_the_same_in_parts_though_workers_are_killed() -> None:
    local: Counter[str] = Counter()
    by_vertex = 0
    found_by_family: Counter[str] = Counter()
    kills = 0
    for seed in seeds(60):
        rng = random.Random(seed)
        kind = rng.choice(("subgraph", "simulation", "events", "query"))
        match kind:
            case "subgraph":
                pattern, key, records = subgraph(rng, Report.ALL)
            case "simulation":
                pattern, key, records = subgraph(rng, rng.choice((Report.CHANGES, Report.MAXIMAL)))
            case "events":
                pattern, key, records = events(rng)
            case _:
                pattern, key, records = query(rng)
        if not family_of(pattern).locality(pattern, key).is_local:
            continue
        parts = rng.choice(PARTS)
        bodies = split_bodies(one_key_an_id(records, key, parts), rng)
        expected = in_one(pattern, bodies)
        emitted, killed = in_parts(pattern, bodies, key, parts, rng)
        assert emitted == expected, (seed, pattern)
        assert on_spark(pattern, bodies, key, parts, rng) == expected, (seed, pattern)
        local[kind] += 1
        by_vertex += key.is_vertex and expected.total() > 0
        found_by_family[kind] += expected.total()
        kills += killed
    assert len(local) == 4, "some patterns of each family must be local"
    assert all(found_by_family[kind] for kind in local), "patterns of each family must find something"
    assert by_vertex > 2, "some must be local by a vertex, and find something"
    assert kills > 20, "workers must be killed"


def test_the_merged_parts_have_what_the_stream_has() -> None:
    for seed in seeds(15):
        rng = random.Random(seed)
        key, parts = rng.choice((PartKey("n"), PartKey("src"), BY_VERTEX)), rng.choice((2, 3, 8))
        records = one_key_an_id(edges_of(rng, duplicates=False), key, parts)
        # Edges of the newest time wait until the stream is past it: another part may have more of them.
        bodies = [*split_bodies(records, rng), b'{"ts": 1000000, "src": "v", "dst": "w", "label": "end", "id": "end"}\n']
        stage = DividingStage(f"STREAM flows PARTITION BY {key.field or 'VERTEX'} PARTS {parts}")
        stage.register("PATTERN p MATCH (v)-[e]->(w) ON flows WINDOW 5", stream=str(merge_parts(FLOWS, parts)))
        stage.run(1)
        send_with_kills(stage, bodies, rng)
        stage.fall_silent()
        merged = [
            (row["ts"], row["id"])
            for header, body in stage.ordered(merge_parts(FLOWS, parts))
            if header.records
            for row in ArrowDecoder(Symbols(), [], {}).decode(body).to_records()
            if row["op"] == "insert" and row["id"] != "end"
        ]
        whole = SequencingStage()
        for body in bodies:
            whole.send(body)
        whole.fall_silent()
        inserted = [(each["ts"], each["id"]) for each in whole.ordered() if each["op"] == "insert" and each["id"] != "end"]
        assert sorted(merged) == sorted(inserted)
        assert [ts for ts, _ in merged] == sorted(ts for ts, _ in merged)
