"""Mutes: which matches they cover, whatever the family of the pattern, and how long."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from graphtide_wire.matches import bound_vertices
from graphtide_wire.mutes import MuteKey, MuteRecord
from hypothesis import given
from hypothesis import strategies as st

AT = datetime(2026, 1, 1, tzinfo=UTC)


def mute(pattern: str | None = None, vertex: str | None = None, until: datetime | None = None) -> MuteRecord:
    key = None if vertex is None else MuteKey(vertex)
    return MuteRecord(id="1", pattern=pattern, key=key, until=until, created_at=AT, created_by="ann")


@pytest.mark.parametrize(
    ("members", "vertices"),
    [
        ({"vertices": {"a": "x", "b": "y"}}, {"x", "y"}),
        ({"vertices": {"a": ["x", "z"], "b": ["y"]}}, {"x", "y", "z"}),
        ({"src": "x", "dst": "y", "label": "l"}, {"x", "y"}),
        ({"bindings": {"a": "x"}}, {"x"}),
        ({"events": {"a": "e1"}}, set()),
        ({"vertices": 3}, set()),
    ],
)
def test_a_match_binds_vertices_whatever_its_family(members: dict[str, object], vertices: set[str]) -> None:
    body = json.dumps({"match_id": "0", "query": "p", "kind": "match", "detected_at": 1, **members}).encode()
    assert bound_vertices(body) == vertices


def test_what_is_no_match_record_binds_nothing() -> None:
    assert bound_vertices(b"{") == frozenset()
    assert not mute(vertex="x").covers("p", b"{")


@given(
    of=st.sampled_from([None, "p", "q"]),
    vertex=st.sampled_from([None, "x", "y"]),
    pattern=st.sampled_from("pq"),
    bound=st.dictionaries(st.sampled_from("ab"), st.sampled_from("xyz")),
)
def test_a_mute_covers_what_agrees_with_all_that_it_names(
    of: str | None, vertex: str | None, pattern: str, bound: dict[str, str]
) -> None:
    body = json.dumps({"vertices": bound}).encode()
    asked = (of is None or of == pattern) and (vertex is None or vertex in bound.values())
    assert mute(of, vertex).covers(pattern, body) == asked


def test_a_mute_holds_until_its_end() -> None:
    assert mute().holds(AT + timedelta(days=10_000))
    assert mute(until=AT).holds(AT - timedelta(seconds=1))
    assert not mute(until=AT).holds(AT)
