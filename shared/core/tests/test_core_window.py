"""Windows of time and of edges."""

from __future__ import annotations

import pytest
from graphtide_core.time import MAX_EVENT_TIME
from graphtide_core.window import MOST_EDGES, EdgeCount, longest


def test_a_number_of_edges_is_written_as_it_is_read() -> None:
    assert [str(EdgeCount(edges)) for edges in (1, 2, 500)] == ["1 EDGE", "2 EDGES", "500 EDGES"]


@pytest.mark.parametrize("edges", [-1, MOST_EDGES + 1])
def test_what_no_window_has_is_refused(edges: int) -> None:
    with pytest.raises(ValueError, match="a window has at most 1,073,741,824 edges, and not less than 0"):
        EdgeCount(edges)


def test_the_longest_of_each_kind_count() -> None:
    assert longest([]) == (0, 0)
    assert longest([5, EdgeCount(3), 7, EdgeCount(2)]) == (7, 3)
    assert longest([10**30]) == (MAX_EVENT_TIME, 0)
