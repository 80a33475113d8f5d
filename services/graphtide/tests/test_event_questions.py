"""Whether events are a match of an event pattern, and why not: what is said is true, by the oracle."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

import pytest
from graphtide.event_inquiry import Row
from graphtide.event_questions import Question, questions
from graphtide_core.edge import Operation
from graphtide_core.event import Event
from graphtide_core.event_answer import Obstacle
from graphtide_core.event_expression import positive_events
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.ids import EdgeId
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.stages import Stages
from graphtide_query import parse
from graphtide_testing.oracles.event_conditions import Conditions, SeenEvent, branches, read
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.records import events_to_json_lines
from graphtide_testing.strategies.event_patterns import EventPatternShape, event_patterns
from graphtide_testing.strategies.event_streams import EventStreamShape, event_streams
from hypothesis import assume, given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from graphtide_core.edge import Value
    from graphtide_core.event_answer import EventAnswer
    from graphtide_core.event_expression import Part
    from hypothesis.strategies import DrawFn

    Binding = Mapping[str, tuple[EdgeId, ...]]

STREAM: Final = EventStreamShape(duplicates=False, max_records=14)
PATTERNS: Final = EventPatternShape(max_events=3, stream=STREAM, distinct=False, exists=False, timeouts=False, once=False)
MS: Final = TimeUnit.MILLISECOND


def ask(pattern: EventPattern, records: Sequence[Event], binding: Binding, size: int = 4) -> EventAnswer:
    stages = Stages.of([pattern], MS)
    decoder = stages.json_decoder()
    question = Question(pattern, binding, MS)
    for start in range(0, len(records), size):
        batch = decoder.decode(events_to_json_lines(records[start : start + size]))
        question.take(Row(batch, place, record) for place, record in enumerate(batch.to_records()))
    return question.answer(stages)


@st.composite
def bindings(draw: DrawFn) -> tuple[EventPattern, tuple[Event, ...], Part, Binding]:
    """Return a pattern, a stream, a branch, and events for its places: of a match, or such as fit there alone, or any."""
    pattern, records = draw(event_patterns(PATTERNS)), draw(event_streams(STREAM, min_records=3))
    branch = draw(st.sampled_from(list(branches(pattern.root))))
    places = positive_events(branch)
    inserted = [record for record in records if record.operation is Operation.INSERT]
    assume(inserted)
    emitted = [each.events for each in EventOracle(pattern).run(records) if each.kind == "match"]
    alike = [dict(events) for events in emitted if [name for name, _ in events] == [place.name for place in places]]
    if alike and draw(st.integers(0, 2)) == 0:
        return pattern, records, branch, {name: tuple(map(EdgeId, ids)) for name, ids in draw(st.sampled_from(alike)).items()}
    conditions, chosen = Conditions(pattern, MS), dict[str, tuple[EdgeId, ...]]()
    for place in places:
        fitting = [record.id for record in inserted if conditions.fits_alone(place, record)]
        able = fitting if fitting and draw(st.integers(0, 9)) > 0 else [record.id for record in inserted]
        some = st.sampled_from(able)
        chosen[place.name] = tuple(draw(st.sets(some, min_size=1, max_size=2))) if place.repeat else (draw(some),)
    return pattern, records, branch, chosen


def parse_text(text: str) -> EventPattern:
    (pattern,) = parse(text)
    assert isinstance(pattern, EventPattern)
    return pattern


def event(ts: int, kind: str, id: str, **attributes: Value) -> Event:
    return Event(EdgeId(id), EventTime(ts), kind, attributes)


RECORDS: Final = (
    event(1, "A", "a1", n=1, k="p"),
    event(2, "A", "a2", n=2, k="q"),
    event(3, "C", "c3", n=5, k="p"),
    event(4, "B", "b4", n=3, k="p"),
    event(5, "A", "a5", n=4, k="p"),
    Event(EdgeId("a5"), EventTime(6), "", operation=Operation.DELETE),
    event(20, "B", "b20", n=9, k="p"),
)


@pytest.mark.parametrize(
    ("text", "binding", "obstacle", "about"),
    [
        ("SEQ(a:A, b:B)", {"a": ("a9",), "b": ("b4",)}, Obstacle.UNKNOWN, ["a9"]),
        ("SEQ(a:A, b:B)", {"a": ("c3",), "b": ("b4",)}, Obstacle.TYPE, ["c3"]),
        ("SEQ(a:A{3}, b:B)", {"a": ("a1", "a2"), "b": ("b4",)}, Obstacle.NUMBER, ["a1", "a2"]),
        ("SEQ(a:A, b:B) WHERE a.n > 1", {"a": ("a1",), "b": ("b4",)}, Obstacle.PREDICATE, ["a1"]),
        ("AND(a:A, b:A)", {"a": ("a1",), "b": ("a1",)}, Obstacle.SAME, ["a1", "a1"]),
        ("SEQ(a:A, b:B)", {"a": ("a5",), "b": ("b4",)}, Obstacle.ORDER, ["a5", "b4"]),
        ("SEQ(a:A, b:B)", {"a": ("a1",), "b": ("b20",)}, Obstacle.WITHIN, ["a1", "b20"]),
        ("SEQ(a:A, b:B) PARTITION BY k", {"a": ("a2",), "b": ("b4",)}, Obstacle.PARTITION, ["a2", "b4"]),
        ("SEQ(a:A+, b:B) WHERE a.k = b.k", {"a": ("a1", "a2"), "b": ("b4",)}, Obstacle.PREDICATE, ["a2", "b4"]),
        ("SEQ(a:A+, b:B) WHERE sum(a.n) > b.n", {"a": ("a1", "a2"), "b": ("b4",)}, Obstacle.PREDICATE, ["a1", "a2", "b4"]),
        ("SEQ(a:A, d:D, b:B)", {"a": ("a1",), "b": ("b4",)}, Obstacle.MISSING, []),
        ("SEQ(a:A, NOT c:C, b:B)", {"a": ("a1",), "b": ("b4",)}, Obstacle.ABSENT, ["c3"]),
        ("SEQ(a:A, NOT c:C)", {"a": ("a5",)}, Obstacle.DELETED, ["a5"]),
        ("SEQ(a:A+, b:B) SKIP TILL NEXT", {"a": ("a1",), "b": ("b4",)}, Obstacle.SELECTION, ["a1"]),
        ("OR(a:A, d:A)", {"d": ("a1",)}, Obstacle.ALIKE, []),
    ],
)
def test_the_answer_is_the_first_reason_that_holds_with_its_events(
    text: str, binding: Binding, obstacle: Obstacle, about: list[str]
) -> None:
    answer = ask(parse_text(f"PATTERN p {text} ON s WITHIN 10"), RECORDS, binding)
    assert (answer.obstacle, [each.id for each in answer.events]) == (obstacle, about)


def test_values_of_a_condition_are_those_that_make_it_fail() -> None:
    of_one = parse_text("PATTERN p SEQ(a:A+, b:B) WHERE a.k = b.k ON s WITHIN 10")
    of_all = parse_text("PATTERN p SEQ(a:A+, b:B) WHERE sum(a.n) > b.n ON s WITHIN 10")
    binding = {"a": (EdgeId("a1"), EdgeId("a2")), "b": (EdgeId("b4"),)}
    assert ask(of_one, RECORDS, binding).values == {"a.k": "q", "b.k": "p"}
    assert ask(of_all, RECORDS, binding).values == {"a.n": (1, 2), "b.n": 3}
    assert ask(of_all, RECORDS, binding).condition == "sum(a.n) > b.n"


def test_records_far_from_those_asked_about_are_not_kept() -> None:
    pattern = parse_text("PATTERN p SEQ(a:A, b:B) ON s WITHIN 10")
    question = Question(pattern, {"a": (EdgeId("a50"),), "b": (EdgeId("b51"),)}, MS)
    events = [event(ts, "AB"[ts % 2], f"{'ab'[ts % 2]}{ts}") for ts in range(1_000)]
    stages = Stages.of([pattern], MS)
    batch = stages.json_decoder().decode(events_to_json_lines(events))
    question.take(Row(batch, place, record) for place, record in enumerate(batch.to_records()))
    assert question.kept < 100
    assert question.answer(stages).matched_at == 51


def test_a_question_that_no_match_could_answer_is_refused() -> None:
    pattern = parse_text("PATTERN p SEQ(a:A, OR(b:B, c:C)) ON s WITHIN 10")
    with pytest.raises(ValueError, match="'a' is one event of pattern 'p', and 2 are asked about"):
        questions([pattern], ["a=1,a=2"], MS)
    with pytest.raises(ValueError, match="'b' and 'c' are in two branches of an OR in pattern 'p'"):
        questions([pattern], ["b=1,c=2"], MS)
    assert questions([pattern], ["e17", "d=1"], MS) == ([], ["e17", "d=1"])


@given(bindings())
def test_an_answer_is_what_the_oracle_says_and_a_reason_is_true(
    given_: tuple[EventPattern, tuple[Event, ...], Part, Binding],
) -> None:
    pattern, records, branch, binding = given_
    answer = ask(pattern, records, binding)
    wanted = {name: set(ids) for name, ids in binding.items()}
    emitted = [each for each in EventOracle(pattern).run(records) if each.kind == "match"]
    found = [each.detected_at for each in emitted if {name: set(ids) for name, ids in each.events} == wanted]
    assert answer.matched_at == (found[0] if found else None)
    assert (answer.obstacle is None) == bool(found)
    if answer.obstacle is not None:
        assert is_true(answer, pattern, records, branch, binding)


@given(bindings(), st.randoms(use_true_random=False))
def test_for_events_that_are_only_part_of_a_match_the_answer_is_a_match_that_has_them(
    given_: tuple[EventPattern, tuple[Event, ...], Part, Binding], chance: Random
) -> None:
    pattern, records, _, binding = given_
    some = {name: ids for name, ids in binding.items() if chance.random() < 0.5} or binding
    answer = ask(pattern, records, some)
    emitted = [each for each in EventOracle(pattern).run(records) if each.kind == "match"]
    wanted = {(name, frozenset(ids)) for name, ids in some.items()}
    found = [each.detected_at for each in emitted if wanted <= {(name, frozenset(ids)) for name, ids in each.events}]
    assert answer.matched_at == (found[0] if found else None)
    assert (answer.obstacle is None) == bool(found)
    assert answer.obstacle is not Obstacle.UNDECIDED


def is_true(  # noqa: PLR0912 - a case for each obstacle
    answer: EventAnswer,
    pattern: EventPattern,
    records: Sequence[Event],
    branch: Part,
    binding: Binding,
) -> bool:
    """Whether what an answer says can be seen in the records."""
    inserted = [record for record in records if record.operation is Operation.INSERT]
    seen = {record.id: SeenEvent(record, number) for number, record in enumerate(inserted)}
    for record in records:
        if record.operation is Operation.DELETE and record.id in seen and not seen[record.id].event.made:
            seen[record.id].gone = seen[record.id].gone or record.ts
    chosen = {name: tuple(sorted((seen[id] for id in ids), key=lambda each: each.number)) for name, ids in binding.items()}
    taken = list(chain.from_iterable(chosen.values()))
    conditions = Conditions(pattern, MS)
    places = {place.name: place for place in positive_events(branch)}
    about = [seen[each.id] for each in answer.events]
    match answer.obstacle:
        case Obstacle.TYPE:
            (event,) = answer.events
            return places[event.name or ""].type != seen[event.id].event.type
        case Obstacle.NUMBER:
            repeat = places[answer.name or ""].repeat
            count = len(chosen[answer.name or ""])
            return repeat is not None and not repeat.least <= count <= (repeat.most or count)
        case Obstacle.SAME:
            return len(set(taken)) < len(taken) and about[0] is about[1]
        case Obstacle.ORDER:
            return about[0].ts > about[1].ts and not conditions._is_ordered(branch, chosen)  # noqa: SLF001 - one condition alone
        case Obstacle.WITHIN:
            span = max(each.ts for each in taken) - min(each.ts for each in taken)
            return answer.excess == span - conditions.within > 0
        case Obstacle.PARTITION:
            return not conditions._shares_partition([each.event for each in about])  # noqa: SLF001 - as above
        case Obstacle.PREDICATE:
            for key, value in answer.values.items():
                name, _, attribute = key.partition(".")
                there = tuple(read(each.event, attribute) for each in chosen[name])
                assert value == there or value in there
            return not all(conditions._holds(each, chosen) for each in pattern.predicates)  # noqa: SLF001 - as above
        case Obstacle.ABSENT:
            intervals = conditions.intervals(branch, chosen)
            return len(about) == 1 and any(conditions.blocks(each, chosen, about[0]) for each in intervals)
        case Obstacle.DELETED:
            return bool(about) and all(each.gone is not None for each in about)
        case Obstacle.SELECTION:
            free = EventOracle(replace(pattern, selection=Selection.ANY)).run(records)
            return any(
                {name: set(ids) for name, ids in each.events} == {n: set(ids) for n, ids in binding.items()} for each in free
            )
        case Obstacle.ALIKE:
            emitted = EventOracle(pattern).run(records)
            return any(
                {id for _, ids in each.events for id in ids} == {str(each.event.id) for each in taken} for each in emitted
            )
        case _:
            return False
