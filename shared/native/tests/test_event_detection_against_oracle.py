"""Event patterns are detected as the oracle says after every record, whatever plan shares their sub-patterns."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.edge import Operation
from graphtide_core.pattern import Report
from graphtide_core.time import Duration
from graphtide_native import _native
from graphtide_native.event_detection import EventDetector
from graphtide_native.records import Symbols
from graphtide_query.families.events.builders import BUILDERS, aggregate
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.strategies.event_patterns import ATTRIBUTES, EventShape, random_event_pattern, random_events
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.event import Event
    from graphtide_core.event_pattern import EventPattern
    from graphtide_native.event_detection import Occurrence
    from graphtide_native.records import EdgeBatch
    from graphtide_testing.oracles.events import Told

    Reports = Counter[tuple[object, ...]]

CHANCES: Final = st.randoms(use_true_random=False)
SHARING: Final = tuple(sorted(BUILDERS))


def batch_of(symbols: Symbols, records: Sequence[Event]) -> EdgeBatch:
    return _native.event_batch(
        symbols,
        ATTRIBUTES,
        [each.ts for each in records],
        [each.type for each in records],
        [str(each.id) for each in records],
        [each.operation is Operation.DELETE for each in records],
        [[each.attributes.get(name) for each in records] for name in ATTRIBUTES],
    )


def found(occurrences: Iterable[Occurrence], patterns: Mapping[str, EventPattern]) -> Reports:
    """What an engine told, without the witnesses of those patterns of which an event's matches are counted."""
    return Counter(
        (each.pattern, each.kind, each.detected_at, each.count, _shown(patterns[each.pattern], each.kind, each.events.items()))
        for each in occurrences
    )


def wanted(told: Iterable[tuple[str, Told]], patterns: Mapping[str, EventPattern]) -> Reports:
    return Counter(
        (name, each.kind, each.detected_at, each.count, _shown(patterns[name], each.kind, each.events)) for name, each in told
    )


def _shown(pattern: EventPattern, kind: str, events: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[object, ...]:
    return () if pattern.report is Report.EXISTS and kind != "timeout" else tuple(sorted(events))


def named_patterns(chance: random.Random, shape: EventShape, number: int) -> dict[str, EventPattern]:
    return {f"p{each}": random_event_pattern(chance, shape, f"p{each}") for each in range(number)}


def assert_equal_to_the_oracle(chance: random.Random, shape: EventShape, builder: str = "none", number: int = 1) -> None:
    patterns = named_patterns(chance, shape, number)
    asked, symbols = list(patterns.values()), Symbols()
    detector = EventDetector(aggregate(asked, builder), asked, symbols, ATTRIBUTES, deletions=shape.deletions)
    oracles = {name: EventOracle(pattern) for name, pattern in patterns.items()}
    for record in random_events(chance, shape):
        want = wanted([(name, told) for name, oracle in oracles.items() for told in oracle.push(record)], patterns)
        assert found(detector.push(batch_of(symbols, [record])), patterns) == want
    want = wanted([(name, told) for name, oracle in oracles.items() for told in oracle.finish()], patterns)
    assert found(detector.finish(), patterns) == want


@given(CHANCES)
def test_sequences_and_conjunctions_with_a_not_at_any_place(chance: random.Random) -> None:
    assert_equal_to_the_oracle(chance, EventShape(ors=False))


@given(CHANCES)
def test_the_branches_of_or(chance: random.Random) -> None:
    assert_equal_to_the_oracle(chance, EventShape())


@given(CHANCES)
def test_partitions(chance: random.Random) -> None:
    assert_equal_to_the_oracle(chance, EventShape(partitions=True))


@given(CHANCES)
def test_iterations_under_both_selections_with_aggregates(chance: random.Random) -> None:
    assert_equal_to_the_oracle(chance, EventShape(lists=True, partitions=True, most_events=3, records=16))


@given(CHANCES)
def test_counts_of_the_matches_that_an_event_completes(chance: random.Random) -> None:
    assert_equal_to_the_oracle(chance, EventShape(exists=True))


@given(CHANCES)
def test_deletions_retract_matches_and_undo_what_must_not_come(chance: random.Random) -> None:
    assert_equal_to_the_oracle(chance, EventShape(deletions=True, exists=True))


@given(CHANCES)
def test_sequences_that_do_not_end_in_time(chance: random.Random) -> None:
    assert_equal_to_the_oracle(chance, EventShape(ors=False, timeouts=True, deletions=True))


@pytest.mark.parametrize("builder", SHARING)
@given(CHANCES)
def test_patterns_that_share_sub_patterns(builder: str, chance: random.Random) -> None:
    assert_equal_to_the_oracle(chance, EventShape(partitions=True, deletions=True, most_events=3, records=14), builder, 5)


@given(CHANCES, st.sampled_from(("none", "casem+dce")))
def test_a_change_of_plan_neither_loses_nor_repeats_a_match(chance: random.Random, builder: str) -> None:
    shape = EventShape(deletions=True, exists=True, most_events=3, records=16)
    # Of one time, so that what a new pattern asks for is as far back as what is kept.
    patterns = {name: replace(each, within=Duration(5, "ms")) for name, each in named_patterns(chance, shape, 4).items()}
    running = list(patterns)[:2]
    oracles = {name: EventOracle(pattern) for name, pattern in patterns.items()}
    symbols, asked = Symbols(), [patterns[name] for name in running]
    detector = EventDetector(aggregate(asked, builder), asked, symbols, ATTRIBUTES, may_change=True)
    since = dict.fromkeys(running, -1)
    places: dict[str, int] = {}
    for place, record in enumerate(random_events(chance, shape)):
        if chance.random() < 0.25:
            running = chance.sample(sorted(patterns), chance.randint(1, 4))
            since = {name: since.get(name, place - 1) for name in running}
            asked = [patterns[name] for name in running]
            detector.replan(aggregate(asked, builder), asked)
        places.setdefault(str(record.id), place)
        told = [(name, each) for name, oracle in oracles.items() for each in oracle.push(record)]
        counted = [(name, each) for name, each in told if name in since and places[each.completed_by] > since[name]]
        assert found(detector.push(batch_of(symbols, [record])), patterns) == wanted(counted, patterns)
