"""Merged streams are called as those that they consist of."""

from __future__ import annotations

from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import is_merged, merge, sources
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
    assert (reads.stream, reads.of_ordered.streams, reads.of_ordered.lookback) == ("a.b", ("a.b",), reads.lookback)
