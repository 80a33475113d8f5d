"""Merged streams are called as those that they consist of."""

from __future__ import annotations

from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import (
    has_parts,
    is_merged,
    logical_stream,
    merge,
    merge_parts,
    most_parts,
    name_part,
    part_in,
    parts_of,
    sources,
    whole_of,
)
from graphtide_core.reads import Lookback, Reads
from graphtide_core.time import Duration

A, B = StreamName("a"), StreamName("b")


def test_a_merged_stream_is_called_by_its_streams_in_their_order() -> None:
    assert merge([B, A, B]) == "a.b"
    assert sources(merge([B, A])) == (A, B)
    assert is_merged(merge([B, A]))


def test_one_stream_alone_is_itself() -> None:
    assert merge([A, A]) == A
    assert sources(A) == (A,)
    assert not is_merged(A)


def test_what_reads_several_streams_takes_the_ordered_edges_of_one() -> None:
    reads = Reads((B, A), Lookback(Duration.of("1h")), None, ())
    assert reads.stream == "a.b"


def test_parts_and_what_they_are_merged_to_are_called_by_their_numbers() -> None:
    assert parts_of(A, 2) == ("a#0/2", "a#1/2")
    assert name_part("scan", 3, 8) == "scan#3/8"
    assert merge_parts(A, 8) == "a#8"
    assert sources(merge_parts(A, 2)) == parts_of(A, 2)
    assert sources(merge([B, merge_parts(A, 2)])) == ("a#0/2", "a#1/2", "b")
    assert (is_merged(merge_parts(A, 8)), is_merged(name_part(A, 3, 8)), is_merged(A)) == (True, False, False)
    assert (has_parts(merge_parts(A, 8)), has_parts(name_part(A, 3, 8)), has_parts("a.b")) == (True, True, False)


def test_a_part_is_found_from_its_name_and_so_is_the_whole() -> None:
    assert part_in("scan#3/8") == ("scan", 3, 8)
    assert part_in("a#b#0/1") == ("a#b", 0, 1)
    for name in ("scan", "a#8", "a#3/8.b", "a#03/8", "a#3/0", "a#/8", "#", ""):
        assert part_in(name) is None
        assert whole_of(name) == name
    assert whole_of("scan#3/8") == "scan"
    assert [logical_stream(StreamName(name)) for name in ("a", "a#3/8", "a#8", "a#8.b", "b.c")] == ["a", "a", "a", "a.b", "b.c"]
    assert [most_parts(StreamName(name)) for name in ("a", "a#3/8", "a#8.b", "a#2.b#16")] == [1, 8, 8, 16]
