"""Generated streams of events: in order, equal for equal recipes, and their patterns find what is planted and nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from graphtide_core.edge import Operation
from graphtide_core.event_pattern import EventPattern
from graphtide_generate import EVENTS, deposits, logins
from graphtide_generate.schedule import DAY, HOUR, MIDNIGHT
from graphtide_generate.stream import Recipe
from graphtide_generate.writer import write_events, write_ground_truth
from graphtide_query import parse
from graphtide_testing.oracles.events import EventOracle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from graphtide_core.edge import Value
    from graphtide_core.event import Event
    from graphtide_generate.event_stream import GeneratedEvents, Named

    Found = tuple[tuple[str, tuple[str, ...]], ...]

RECIPE = Recipe(seed=1, records=300, planted=4, decoys=12)


def reduce(kind: str, seed: int) -> GeneratedEvents:
    """Return a small, dense stream of that kind: few users, so that everything meets everything."""
    recipe = replace(RECIPE, seed=seed)
    if kind == "logins":
        return logins.generate(logins.LoginOptions(recipe, users=60, duration=6 * HOUR))
    return deposits.generate(deposits.DepositOptions(recipe, accounts=40, branches=2, duration=4 * DAY))


def found_by_the_oracle(stream: GeneratedEvents, events: Iterable[Event]) -> list[Found]:
    """Return the matches, sorted. A match has one user or account, so each is looked at alone."""
    (pattern,) = parse(stream.patterns)
    assert isinstance(pattern, EventPattern)
    (key,) = pattern.partition
    parts: dict[Value, list[Event]] = defaultdict(list)
    for event in events:
        parts[event.attributes[key]].append(event)
    return sorted(reported.events for part in parts.values() for reported in EventOracle(pattern).run(part))


def list_events(events: Named) -> Found:
    return tuple((name, own if isinstance(own, tuple) else (own,)) for name, own in events.items())


def ids_of(events: Named) -> list[str]:
    return [identity for _, own in list_events(events) for identity in own]


@pytest.mark.parametrize("kind", EVENTS)
@pytest.mark.parametrize("seed", range(5))
def test_the_oracle_finds_exactly_what_is_planted(kind: str, seed: int) -> None:
    stream = reduce(kind, seed)
    assert len(stream.planted) == RECIPE.planted
    assert found_by_the_oracle(stream, stream.events) == sorted(list_events(one.events) for one in stream.planted)


@pytest.mark.parametrize("kind", EVENTS)
def test_no_decoy_matches_alone_and_all_flaws_occur(kind: str) -> None:
    stream = reduce(kind, 6)
    by_id = {str(event.id): event for event in stream.events}
    flaws = {"logins": logins, "deposits": deposits}[kind].FLAWS
    assert [decoy.flaw for decoy in stream.decoys] == [flaws[number % len(flaws)] for number in range(RECIPE.decoys)]
    for decoy in stream.decoys:
        alone = sorted((by_id[identity] for identity in ids_of(decoy.events)), key=lambda event: event.ts)
        assert found_by_the_oracle(stream, alone) == [], decoy.flaw


@pytest.mark.parametrize("kind", EVENTS)
def test_the_planted_events_alone_match(kind: str) -> None:
    stream = reduce(kind, 7)
    planted = {identity for one in stream.planted for identity in ids_of(one.events)}
    assert len(found_by_the_oracle(stream, [event for event in stream.events if event.id in planted])) == RECIPE.planted


@pytest.mark.parametrize("kind", EVENTS)
def test_equal_recipes_give_equal_streams_in_order_of_time(kind: str) -> None:
    stream = EVENTS[kind](RECIPE)
    assert stream == EVENTS[kind](RECIPE)
    assert stream != EVENTS[kind](replace(RECIPE, seed=8))
    assert all(a.ts <= b.ts and a.id < b.id for a, b in pairwise(stream.events))
    assert re.fullmatch(r"[a-z]000000", stream.events[0].id)
    assert stream.events[0].ts >= MIDNIGHT
    hidden = [one.events for one in stream.planted] + [one.events for one in stream.decoys]
    assert len(stream.events) == RECIPE.records + sum(len(ids_of(events)) for events in hidden)


@pytest.mark.parametrize("kind", EVENTS)
def test_nothing_gives_nothing(kind: str) -> None:
    assert EVENTS[kind](Recipe(records=0, planted=0, decoys=0)).events == ()


def test_a_week_of_logins_holds_no_attack_but_the_planted_ones() -> None:
    recipe = Recipe(seed=3, records=40_000, planted=30, decoys=30)
    stream = logins.generate(logins.LoginOptions(recipe, users=400, duration=7 * DAY))
    failures: dict[Value, list[Event]] = defaultdict(list)
    attacks = []
    for event in stream.events:
        recent = [one for one in failures[event.attributes["user"]] if one.ts >= event.ts - logins.WINDOW]
        if event.type == "success" and len(recent) >= 3:
            attacks.append(event.id)
        if event.type == "failed":
            failures[event.attributes["user"]] = [*recent, event]
    assert attacks == sorted(str(one.events["s"]) for one in stream.planted)
    assert sum(event.type == "failed" for event in stream.events) > 3_000


def test_weeks_of_deposits_hold_no_structuring_but_the_planted() -> None:
    recipe = Recipe(seed=3, records=40_000, planted=30, decoys=30)
    stream = deposits.generate(deposits.DepositOptions(recipe, accounts=400, duration=21 * DAY))
    below: dict[Value, list[Event]] = defaultdict(list)
    ends = []
    for event in stream.events:
        if event.type != "deposit" or not deposits.LEAST <= amount(event) < deposits.LIMIT:
            continue
        account = event.attributes["account"]
        below[account] = [one for one in below[account] if one.ts >= event.ts - deposits.WINDOW] + [event]
        if sum(map(amount, below[account])) > deposits.SUM:
            ends.append(event.id)
    assert ends == sorted(ids_of(one.events)[-1] for one in stream.planted)
    assert sum(len(own) > 0 for own in below.values()) > 200


def amount(event: Event) -> int:
    value = event.attributes["amount"]
    assert isinstance(value, int)
    return value


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (lambda: logins.LoginOptions(RECIPE, users=48), "49 users"),
        (lambda: logins.LoginOptions(RECIPE, duration=2 * logins.WINDOW), "last longer"),
        (lambda: logins.LoginOptions(replace(RECIPE, swap_labels=True)), "nothing to swap"),
        (lambda: deposits.DepositOptions(RECIPE, accounts=32), "33 accounts"),
        (lambda: deposits.DepositOptions(RECIPE, branches=0), "a branch"),
        (lambda: deposits.DepositOptions(RECIPE, duration=deposits.WINDOW), "last longer"),
        (lambda: deposits.DepositOptions(replace(RECIPE, swap_labels=True)), "nothing to swap"),
    ],
)
def test_recipes_that_leave_no_room_for_events_are_refused(refused: object, reason: str) -> None:
    assert callable(refused)
    with pytest.raises(ValueError, match=reason):
        refused()


def with_deletion(stream: GeneratedEvents) -> Sequence[Event]:
    last = stream.events[-1]
    return (*stream.events[:3], replace(stream.events[0], ts=last.ts, attributes={}, operation=Operation.DELETE))


def test_events_are_written_with_their_types_and_operations_where_something_is_deleted(tmp_path: Path) -> None:
    stream = EVENTS["logins"](Recipe(records=20, planted=1, decoys=0))
    write_events(tmp_path / "logins.csv", stream.events)
    header, first, *_ = csv.reader(io.StringIO((tmp_path / "logins.csv").read_text("utf-8")))
    assert header == ["ts", "type", "id", "address", "user"]
    assert first[:3] == [str(stream.events[0].ts), stream.events[0].type, "l000000"]
    write_events(tmp_path / "logins.jsonl", with_deletion(stream))
    *inserted, deletion = map(json.loads, (tmp_path / "logins.jsonl").read_text("utf-8").splitlines())
    fields = {"ts": stream.events[0].ts, "type": stream.events[0].type, "id": "l000000"}
    assert inserted[0] == {**fields, **stream.events[0].attributes}
    assert deletion == {**fields, "ts": stream.events[-1].ts, "op": "delete"}


def test_the_ground_truth_of_events_lists_those_of_an_iteration(tmp_path: Path) -> None:
    stream = EVENTS["logins"](Recipe(records=20, planted=2, decoys=1))
    write_ground_truth(tmp_path / "truth.json", stream)
    truth = json.loads((tmp_path / "truth.json").read_bytes())
    assert [one["events"] for one in truth["planted"]] == [
        {name: list(own) if isinstance(own, tuple) else own for name, own in one.events.items()} for one in stream.planted
    ]
    assert set(truth["planted"][0]["events"]) == {"f", "s"}
    assert [one["flaw"] for one in truth["decoys"]] == ["two failures"]
