"""Raw records of a stream with a STREAM statement become what the statement says, each by one version, over any crash."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FatalError, TransientError, UnreadableStreamError
from graphtide_core.ports.log import MOST_METADATA_BYTES, Message, Record
from graphtide_ordering.positions import MOST_STATEMENTS, PartitionPosition, read_remembered
from graphtide_ordering.raw_decoding import Refused
from graphtide_ordering.statements import StatementSurroundings
from graphtide_ordering.stream_progress import Counted, FirstRejected, StreamProgress
from graphtide_query import parse_streams
from graphtide_testing.oracles import avro
from graphtide_testing.registrations import registering, registration
from graphtide_testing.sequencing_stage import FLOWS, TOPICS, SequencingStage, edge, lines, outcome
from graphtide_wire import raw
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.raw import RawEdges
from graphtide_wire.stream_statement import StatementRecord, encode_statement, statement_key, version_key
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST = "STREAM flows EDGE (from)-['first']->(to) ID id SET version = 1 AT at IN ms"
SECOND = "STREAM flows EDGE (to)-['second']->(from) ID id SET version = 2 AT at IN ms"


def write_records(*times: int, name: str = "r") -> bytes:
    """Return records that only a statement can read; their ids have the name."""
    records = ({"at": ts, "from": "a", "to": "b", "id": f"{name}{place}"} for place, ts in enumerate(times))
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def versions(stage: SequencingStage) -> dict[str, str]:
    """Return the labels of the edges that went out, which show the version, by their ids."""
    return {each["id"]: each["label"] for each in stage.ordered()}


def test_records_are_read_by_the_statement_and_what_it_cannot_read_is_a_dead_letter() -> None:
    stage = SequencingStage()
    stage.state(FIRST, 1)
    stage.send(write_records(1, 2) + lines(edge(3, "canonical")))
    found = stage.fall_silent().ordered()
    assert [(each["id"], each["ts"], each["src"], each["dst"], each["label"]) for each in found] == [
        ("r0", 1, "a", "b", "first"),
        ("r1", 2, "a", "b", "first"),
    ]
    (letter,) = stage.letters()
    assert (letter.code, letter.source.line, json.loads(letter.raw)["id"]) == ("malformed", 3, "canonical")


def test_messages_wait_for_a_registry_that_does_not_answer() -> None:
    schema = json.dumps(
        {"type": "record", "name": "r", "fields": [{"name": "at", "type": "long"}, {"name": "from", "type": "string"}]}
    )
    asked: list[int] = []

    def schemas(number: int) -> bytes:
        asked.append(number)
        if len(asked) < 3:
            message = "the registry does not answer"
            raise TransientError(message)
        if number == 8:
            message = "the registry of schemas has no schema 8"
            raise UnreadableStreamError(message)
        return schema.encode()

    stage = SequencingStage(surroundings=StatementSurroundings(schemas))
    stage.state("STREAM flows FORMAT avro EDGE (from)-[:to]->('b') AT at IN ms", 1)
    messages = [avro.write_message(schema, number, {"at": at, "from": "a"}) for at, number in ((1, 7), (2, 8), (3, 7))]
    for message in messages:
        stage.send(message)
    for _ in range(2):
        with pytest.raises(TransientError, match="does not answer"):
            stage.run(4)
        # The service opens a worker again that ends so.
        stage.worker, stage.is_open = stage.new_worker(), False
        assert stage.letters() == []
    found = stage.run().fall_silent().ordered()
    assert [(each["id"], each["ts"], each["src"]) for each in found] == [("0", 1, "a"), ("2", 3, "a")]
    (letter,) = stage.letters()
    assert (letter.raw, letter.reason) == (messages[1], "not a record of Avro: the registry of schemas has no schema 8")


def test_attributes_that_patterns_read_are_fields_of_the_record() -> None:
    stage = SequencingStage()
    stage.state("STREAM flows EDGE (a.id)-['x']->(b.id) AT at IN s", 1)
    text = "PATTERN p MATCH (v)-[e:x]->(w) WHERE e.`net.bytes` > 3 ON flows WINDOW 10s"
    stage.write(registering(TOPICS, registration(text, stage.clock.now())))
    stage.send(b'{"a": {"id": 1}, "b": {"id": "c"}, "at": 2, "net": {"bytes": 7}}\n')
    (found,) = stage.fall_silent().ordered()
    assert (found["src"], found["dst"], found["ts"]) == ("1", "c", 2_000)
    assert found["attributes"]["net.bytes"] == 7


def test_several_edges_of_a_record_have_ids_of_their_own() -> None:
    stage = SequencingStage()
    stage.state("STREAM flows EDGE (from)-['there']->(to) EDGE (to)-['back']->(from) AT at IN ms", 1)
    stage.send(b'{"at": 1, "from": "a", "to": "b"}\n{"at": 2, "from": "c", "to": "d"}\n')
    found = stage.fall_silent().ordered()
    assert [(each["id"], each["label"]) for each in found] == [
        ("0#1", "there"),
        ("0#2", "back"),
        ("1#1", "there"),
        ("1#2", "back"),
    ]


def test_a_format_of_the_statement_reads_values_without_headers() -> None:
    stage = SequencingStage()
    stage.state("STREAM flows FORMAT csv (delimiter '|', columns (a, kind, b, at)) EDGE (a)-[kind]->(b) AT at IN ms", 1)
    stage.send(b"x|knows|y|5\nz|likes|x|6\n")
    assert [(each["src"], each["label"], each["dst"]) for each in stage.fall_silent().ordered()] == [
        ("x", "knows", "y"),
        ("z", "likes", "x"),
    ]


def test_a_record_without_the_header_line_that_its_statement_needs_is_a_dead_letter_with_what_to_do() -> None:
    stage = SequencingStage()
    stage.state("STREAM flows FORMAT csv EDGE (a)-[kind]->(b) AT at IN ms", 1)
    stage.send(b"x,knows,y,5\n")
    stage.fall_silent()
    assert [each.reason for each in stage.letters()] == [
        "a record of a log has no header line: name its columns in the statement, as in FORMAT csv (columns (a, b))"
    ]


def test_another_version_reads_from_the_next_record_on_and_those_that_wait_stay_as_they_were_read() -> None:
    stage = SequencingStage(lateness=100)
    stage.state(FIRST, 1)
    stage.send(write_records(1, 50, name="before"))
    stage.run(6)
    stage.state(SECOND, 2)
    stage.send(write_records(20, 60, name="after"))
    stage.fall_silent()
    expected = {"before0": "first", "after0": "second", "before1": "first", "after1": "second"}
    assert versions(stage) == expected


@pytest.mark.parametrize("crashes", [False, True])
def test_a_statement_that_is_removed_reads_no_record_that_comes_then(*, crashes: bool) -> None:
    stage = SequencingStage(lateness=100)
    stage.state(FIRST, 1)
    stage.send(write_records(1, 50, name="before"))
    stage.run(6)
    stage.unstate(2)
    stage.send(lines(edge(20, "plain")) + write_records(30))
    stage.run(6)
    if crashes:
        stage.restart()
    stage.state(SECOND, 3)
    stage.send(write_records(60, name="after"))
    stage.fall_silent()
    assert versions(stage) == {"before0": "first", "plain": "x", "before1": "first", "after0": "second"}
    assert [each.code for each in stage.letters()] == ["malformed"]


@pytest.mark.parametrize("rounds", [0, 6], ids=["before the new version reads", "after it has read"])
def test_what_waited_at_a_crash_is_read_again_by_the_version_that_read_it(rounds: int) -> None:
    stage = SequencingStage(lateness=10)
    stage.state(FIRST, 1)
    stage.send(write_records(1, 100, name="before"))
    stage.run(6)
    # A commit while one edge of the record waits.
    stage.clock.sleep(2)
    stage.run(2)
    stage.state(SECOND, 2)
    stage.send(write_records(101, 102, name="after"))
    stage.run(rounds)
    stage.clock.sleep(2)
    stage.run(rounds and 2)
    stage.restart()
    stage.fall_silent()
    assert versions(stage) == {"before0": "first", "before1": "first", "after0": "second", "after1": "second"}
    assert stage.letters() == []


def test_a_record_that_was_sent_under_a_version_is_read_by_it_at_once() -> None:
    stage = SequencingStage(most_records=20)
    stage.state(FIRST, 1)
    stage.run(1)
    (definition,) = parse_streams(SECOND)
    value = encode_statement(StatementRecord.of(SECOND, definition, 2, stage.clock.now()))
    for key in (statement_key(FLOWS), version_key(FLOWS, 2)):
        stage.write(Message(TOPICS.statements, key, value))
    for version in (1, 2, 1, 7):
        body = write_records(version, name=f"v{version}.")
        stage.write(raw.encode(TOPICS.raw(FLOWS), RawEdges(body, statement=version))._replace(partition=0))
    found = [each["label"] for each in stage.run(1).fall_silent().ordered()]
    assert found == ["first", "second", "second"], "equal ids are duplicates; a version that is not there is not waited for"


def play(bodies: Sequence[tuple[bytes, str | None]], lateness: int, kills: Sequence[int]) -> object:
    """Send bodies, each after the statement that is registered before it; kill the sequencer at these calls."""
    stage = SequencingStage(lateness)
    left = list(kills)
    for number, (body, statement) in enumerate(bodies):
        if statement is not None:
            # What came before was committed as it was read; what comes from now on is read by this version.
            stage.run(4)
            stage.clock.sleep(2)
            stage.run(4)
            stage.state(statement, number + 1)
        stage.send(body)
        stage.fuse.length = left.pop() if left else 0
        stage.run(3)
        stage.fuse.length = 0
    stage.fall_silent()
    return outcome(stage), versions(stage)


STORY: list[tuple[bytes, str | None]] = [
    (write_records(1, 8, name="a"), FIRST),
    (write_records(5, 30, 2, name="b") + b"bad\n", None),
    (write_records(9, 31, name="c"), SECOND),
    (write_records(10, 7, 40, name="d"), None),
    (write_records(33, 41, name="e"), FIRST),
]


@pytest.mark.parametrize("lateness", [0, 20])
def test_a_crash_at_any_call_changes_nothing(lateness: int) -> None:
    expected = play(STORY, lateness, [])
    for place in range(len(STORY)):
        for kill in range(1, 30, 2):
            kills = [0] * (len(STORY) - 1)
            kills.insert(place, kill)
            assert play(STORY, lateness, kills) == expected, f"killed at call {kill} of body {place}"


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 30), max_size=3), st.sampled_from([None, None, FIRST, SECOND])),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([0, 3, 20]),
    st.lists(st.integers(1, 60), max_size=6),
)
def test_any_story_is_that_without_crashes(story: list[tuple[list[int], str | None]], lateness: int, kills: list[int]) -> None:
    bodies = [(write_records(*times, name=f"{number}."), statement) for number, (times, statement) in enumerate(story)]
    bodies.insert(0, (b"", FIRST))
    assert play(bodies, lateness, kills) == play(bodies, lateness, [])


def test_batches_that_were_decoded_before_are_not_read_by_a_statement() -> None:
    stage = SequencingStage()
    stage.send(lines(edge(1, "before")))
    stage.fall_silent()
    stage.state(FIRST, 1)
    stage.write(raw.encode_reset(TOPICS.raw(FLOWS), raw.Reset(0)))
    stage.send(write_records(1))
    assert stage.fall_silent().ids() == ["before", "r0"]


def test_a_version_that_is_missing_is_said_and_nothing_is_read_another_way() -> None:
    stage = SequencingStage(lateness=100)
    stage.state(FIRST, 1)
    stage.send(write_records(1, 50))
    stage.run(6)
    stage.clock.sleep(2)
    stage.run(2)
    stage.state(SECOND, 2)
    stage.write(Message(TOPICS.statements, version_key(FLOWS, 1), None))
    stage.restart()
    with pytest.raises(FatalError, match="version 1 of the statement is not there, and waiting records were read by it"):
        stage.run(1)


def test_positions_keep_the_versions_from_the_one_at_the_position_on() -> None:
    place = PartitionPosition()
    assert place.use(1)
    place.read(0, 1, 5)
    place.read(1, 1, 50)
    assert place.use(2)
    place.read(2, 1, 60)
    assert place.use(3)
    progress = StreamProgress(0, 40, 60)
    found = read_remembered(place.position(progress, 1, 1, {}))
    assert (found.next, found.statements) == (3, ((0, 1), (2, 2), (3, 3)))
    assert [place.version_at(offset) for offset in range(4)] == [1, 1, 2, 3]

    found = read_remembered(place.position(StreamProgress(0, 60, 60), 3, 3, {}))
    assert (found.next, found.statements) == (3, ((3, 3),))
    assert place.version_at(3) == 3


def test_versions_of_which_none_has_read_a_record_are_not_kept() -> None:
    place = PartitionPosition()
    for version in range(1, 1_000):
        assert place.use(version)
    assert place.statements == [(0, 999)]


def test_what_is_kept_with_a_position_has_its_bounds_at_the_worst() -> None:
    most = 2**63 - 1
    counted = Counted(*[most] * len(Counted.__struct_fields__))
    first = FirstRejected.of(
        Refused(ErrorCode.UNKNOWN_OPERATION, '"\0é' * 500, b"", most), Record("", 10**9, most, 0, None, b"", ())
    )
    progress = StreamProgress(most, most - 1, most, counted, counted, most, most, first)
    place = PartitionPosition(most, most, [(most - number, most) for number in range(MOST_STATEMENTS)])
    position = place.position(progress, most, most, {"=p": 1})
    assert len(position.metadata) <= MOST_METADATA_BYTES
    assert read_remembered(position).stream_progress == progress


def test_so_many_versions_may_have_read_records_that_wait() -> None:
    place = PartitionPosition()
    for version in range(1, MOST_STATEMENTS + 1):
        assert place.use(version)
        place.read(version - 1, 1, 1_000 + version)
    assert not place.use(MOST_STATEMENTS + 1)
    assert place.version_at(place.next) == MOST_STATEMENTS
    place.position(StreamProgress(0, 2_000, 2_000), 1, 1, {})
    assert place.use(MOST_STATEMENTS + 1)
