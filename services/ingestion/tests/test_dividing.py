"""A stream that its statement divides: what each part gets, exactly once however often the worker is killed."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from graphtide_core.part_key import part_of
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_ordering.progress_reports import progress_of
from graphtide_testing.dividing_stage import DividingStage
from graphtide_testing.seeds import seeds
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage, edge, lines
from graphtide_wire import raw
from graphtide_wire.raw import Reset

if TYPE_CHECKING:
    from graphtide_core.edge import Value
    from graphtide_core.ids import StreamName

READER = "PATTERN p MATCH (v)-[e]->(w) ON flows WHERE e.user = 'x' WINDOW 1000"


def stage_of(parts: int = 3, key: str = "user", **more: Any) -> DividingStage:
    stage = DividingStage(f"STREAM flows PARTITION BY {key} PARTS {parts}", **more)
    stage.register(READER)
    return stage


def rows(stage: DividingStage, part: StreamName) -> list[dict[str, Any]]:
    """Return the records of a part, in their order."""
    decoder = ArrowDecoder(Symbols(), ["user"], {})
    return [row for header, body in stage.ordered(part) if header.records for row in decoder.decode(body).to_records()]


def in_parts(stage: DividingStage) -> list[list[dict[str, Any]]]:
    return [rows(stage, part) for part in stage.parts]


def test_a_record_goes_to_the_part_of_its_key_and_equal_numbers_to_one() -> None:
    stage = stage_of()
    values: list[Value] = ["ann", "bob", 5, 5.0, 0.25, 1e-7, 1e20, True, None, ""]
    stage.send(lines(*(edge(ts, f"e{ts}", user=value) for ts, value in enumerate(values))))
    stage.run()
    found = {row["id"]: number for number, own in enumerate(in_parts(stage)) for row in own}
    assert found == {f"e{ts}": part_of(value, 3) for ts, value in enumerate(values)}
    assert found["e2"] == found["e3"], "5 and 5.0 are equal"


def test_deletions_go_to_every_part() -> None:
    stage = stage_of()
    stage.send(lines(edge(1, "e", user="ann"), {"ts": 2, "id": "e", "op": "delete"}))
    stage.run()
    assert [[row["op"] for row in own].count("delete") for own in in_parts(stage)] == [1, 1, 1]


def test_ids_that_are_made_are_those_of_the_undivided_stream() -> None:
    bodies = [lines(edge(1, user="ann"), "bad", edge(2, user="bob")), lines(edge(3, user="cy"), edge(4, user="ann"))]
    stage, whole = stage_of(8), SequencingStage()
    for body in bodies:
        stage.send(body)
        whole.send(body)
    stage.run()
    whole.run()
    assert sorted((row["ts"], row["id"]) for own in in_parts(stage) for row in own) == [
        (each["ts"], each["id"]) for each in whole.ordered()
    ]


def test_each_part_is_as_far_as_the_whole_stream() -> None:
    """A part without edges hears of time, too: it neither holds a merge nor takes an edge that is late."""
    stage = stage_of(8)
    stage.send(lines(edge(100, "a", user="ann")))
    stage.run()
    for part in stage.parts:
        *_, (last, _) = stage.ordered(part)
        assert last.watermark == 100
    stage.send(lines(edge(50, "b", user="bob")))
    stage.run()
    assert [(each.code, json.loads(each.raw)["id"]) for each in stage.letters()] == [("late", "b")]


def test_what_cannot_be_used_is_one_dead_letter_of_the_stream() -> None:
    stage = stage_of()
    stage.send(lines(edge(1, "a", user="ann"), "bad", edge(2, "b", user="bob")), line=10)
    stage.run()
    (letter,) = stage.letters()
    assert (letter.code, letter.raw, letter.source.line) == ("malformed", b"bad", 11)
    assert sum(map(len, in_parts(stage))) == 2


def test_progress_counts_each_record_once() -> None:
    stage = stage_of(8)
    stage.send(lines(edge(1, "a", user="ann"), "bad", edge(2, "b", user="bob"), edge(3, "a", user="ann")))
    stage.run()
    found = progress_of(stage.log, TOPICS, FLOWS, 8)
    assert found is not None
    counted = found.counted
    assert (counted.read, counted.rejected, counted.ordered, counted.duplicates) == (4, 1, 2, 1)
    assert (found.newest, found.watermark, found.first and found.first.code) == (3, 3, "malformed")


def test_a_reset_begins_an_epoch_in_every_part() -> None:
    stage = stage_of()
    stage.send(lines(edge(100, "a", user="ann")))
    stage.run()
    stage.write(raw.encode_reset(TOPICS.raw(FLOWS), Reset(0)))
    stage.send(lines(edge(5, "b", user="ann")))
    stage.run()
    epochs = Counter(header.epoch for part in stage.parts for header, body in stage.ordered(part) if header.records)
    assert epochs == {0: 1, 1: 1}
    assert stage.letters() == []
    progress = progress_of(stage.log, TOPICS, FLOWS, 3)
    assert progress is not None
    assert progress.epoch == 1


def test_an_edge_that_no_record_can_hold_is_a_dead_letter_and_its_neighbours_go_on() -> None:
    stage = stage_of()
    large = edge(2, "large", user="ann", note="x" * 3_000_000)
    stage.register("PATTERN q MATCH (v)-[e]->(w) ON flows WHERE e.note = 'x' WINDOW 1000")
    stage.send(lines(edge(1, "a", user="ann"), large, edge(3, "b", user="ann")))
    stage.run()
    assert [(each.code, b"large" in each.raw) for each in stage.letters()] == [("too-large", True)]
    assert sorted(row["id"] for own in in_parts(stage) for row in own) == ["a", "b"]


def test_a_sender_is_not_idle_while_the_divider_is_away() -> None:
    """Its records wait to be divided, so its silence in the parts says nothing; edges that come then are not late."""
    stage = stage_of()
    stage.send(lines(edge(10, "b", user="ann")), producer="slow")
    stage.send(lines(edge(100, "a", user="ann")), producer="quick")
    stage.run()
    assert [row["id"] for own in in_parts(stage) for row in own] == ["b"], "the slow one holds the other"
    stage.send(lines(edge(20, "c", user="ann")), producer="slow")
    stage.absent.update(stage.dividers)
    stage.fall_silent()
    stage.absent.clear()
    stage.run()
    assert stage.letters() == []
    stage.fall_silent()
    assert [row["id"] for own in in_parts(stage) for row in own] == ["b", "c", "a"], "in the end both are idle"


def test_every_record_is_divided_once_though_workers_are_killed() -> None:
    kills = 0
    for seed in seeds(25):
        rng = random.Random(seed)
        parts, lateness = rng.choice((1, 2, 5)), rng.choice((0, 3))
        stage = stage_of(parts, partitions=rng.choice((1, 2)), lateness=lateness)
        sent: list[str] = []
        ts = 0
        for number in range(rng.randrange(2, 8)):
            own = []
            for _ in range(rng.randrange(4)):
                ts += rng.randrange(3)
                sent.append(f"e{len(sent)}")
                own.append(edge(ts, sent[-1], user=rng.choice(["ann", "bob", 7, None])))
            stage.send(lines(*own), partition=0 if number % 2 else stage.partitions - 1)
            stage.fuse.length = rng.choice((0, rng.randrange(1, 200)))
            stage.run(2)
        stage.fuse.length = 0
        stage.fall_silent()
        found = Counter(row["id"] for own in in_parts(stage) for row in own)
        late = Counter(json.loads(each.raw)["id"] for each in stage.letters())
        assert found + late == Counter(sent), seed
        kills += stage.kills
    assert kills > 10
