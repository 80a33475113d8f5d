"""The account of a steady load finds what is lost, repeated or made up, and passes over what is not a match."""

from __future__ import annotations

import json
from random import Random

import pytest
from graphtide_core.ports.log import Record
from graphtide_core.time import TimeUnit
from graphtide_testing.steady_load import KINDS, PATTERNS, SteadyLoad, list_reported
from graphtide_wire import matches

SENT = 5 * KINDS
RIGHT = {name: [(1, number) for number in range(kind + KINDS, SENT, KINDS)] for kind, name in enumerate(PATTERNS)}


def load() -> SteadyLoad:
    return SteadyLoad([], Random(1), rate=100, sent=SENT)


def record(pattern: str, first: int, last: int, *, is_component: bool = False) -> Record:
    names = {"x": f"e{first}", "y": f"e{last}"}
    edges = {name: [edge] for name, edge in names.items()} if is_component else names
    line = json.dumps({"match_id": "0" * 32, "query": pattern, "kind": "match", "detected_at": last, "edges": edges})
    message = matches.encode("out", line.encode(), 1, TimeUnit.MILLISECOND)
    return Record("out", 0, 0, 0, message.key, message.value, message.headers)


def test_every_edge_but_the_first_of_its_kind_completes_one_match() -> None:
    assert load().account(RIGHT) == {}
    assert sum(map(len, RIGHT.values())) == load().completing


def test_a_lost_match_and_a_repeated_one_are_found() -> None:
    got = {**RIGHT, "n3": [*RIGHT["n3"], RIGHT["n3"][0]], "n7": RIGHT["n7"][:-1], "n9": []}
    assert {*load().account(got)} == {"n3", "n7", "n9"}


def test_matches_are_read_with_the_edge_that_completed_them_and_the_rest_is_passed_over() -> None:
    poison = Record("out", 0, 0, 0, b"n1", b"\xff", record("n1", 1, 21).headers)
    component = record("n19", 19, 39, is_component=True)
    records = [record("n1", 1, 21), component, poison, Record("out", 0, 0, 0, b"n1", b"{}", ()), record("adversary0", 1, 2)]
    assert list(list_reported(records)) == [("n1", (1, 21)), ("n19", (1, 39))]


def test_a_match_of_edges_that_do_not_follow_each_other_is_no_match() -> None:
    with pytest.raises(AssertionError, match="is not a match of n1"):
        list(list_reported([record("n1", 1, 41)]))
