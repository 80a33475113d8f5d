"""What is called unreadable is: no decoder makes a registration, a match or an edge of it."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random

import pytest
from graphtide_core.edge import Edge
from graphtide_core.errors import GraphtideError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.ports.log import Record
from graphtide_core.time import EventTime
from graphtide_testing.ordered_records import ordered_records
from graphtide_testing.poison import STRANGE, damage, unreadable_record
from graphtide_testing.seeds import seeds
from graphtide_wire import ordered_body
from hypothesis import given
from hypothesis import strategies as st


@given(st.randoms(use_true_random=False), st.dictionaries(st.text(), st.integers(), min_size=1))
def test_less_than_half_of_a_json_object_is_none(rng: Random, document: dict[str, int]) -> None:
    genuine = Record("t", 0, 0, 0, b"p", json.dumps(document).encode(), (("h", b"1"),))
    found = unreadable_record("t", [genuine], rng)
    assert found.key == b"p"
    with pytest.raises(ValueError):  # noqa: PT011 - of JSON or of UTF-8
        json.loads(found.value or b"")


@given(st.randoms(use_true_random=False))
def test_less_than_half_of_ordered_edges_has_no_edge(rng: Random) -> None:
    edges = [Edge(EdgeId(f"e{n}"), EventTime(n), VertexId("a"), VertexId("b"), "x") for n in range(3)]
    (message,) = ordered_records("t", edges, 3)
    genuine = Record("t", 0, 0, 0, None, message.value, message.headers)
    with suppress(GraphtideError):
        assert ordered_body.decode(unreadable_record("t", [genuine], rng).value or b"").num_rows == 0


def test_what_is_strange_stays_as_it_is() -> None:
    """Changes of changes go into copies: else values would contain themselves."""
    before = repr(STRANGE)
    for seed in seeds(300):
        value = b'{"a": [1, {"b": 2}], "c": "d"}'
        for _ in range(10):
            value = damage(value, Random(seed))
    assert repr(STRANGE) == before
