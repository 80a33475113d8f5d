"""Traces of ordered edges: as many as a record may name, and nothing that is damaged."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphtide_testing.wire_examples import HEADER, TRACE
from graphtide_wire import ordered
from graphtide_wire.headers import is_sampled
from graphtide_wire.ordered import MOST_TRACES, TRACES, TracedRows


def test_a_record_names_no_more_runs_than_it_may() -> None:
    many = tuple(TracedRows(row, 1, TRACE) for row in range(MOST_TRACES + 1))
    message = ordered.encode("t", replace(HEADER, traces=many), b"")
    assert ordered.header(message.headers).traces == many[:MOST_TRACES]


@pytest.mark.parametrize("damaged", [b"", b"0+1", b"x", b"0+1=" + TRACE[:-1].encode(), b"-1+1=" + TRACE.encode(), b"\xff"])
def test_a_damaged_header_costs_the_traces_and_not_the_edges(damaged: bytes) -> None:
    headers = (*ordered.encode("t", HEADER, b"").headers, (TRACES, damaged))
    assert ordered.header(headers) == HEADER


@pytest.mark.parametrize(
    ("traceparent", "sampled"),
    [
        (TRACE, True),
        (TRACE[:-2] + "00", False),
        (TRACE[:-2] + "03", True),
        (TRACE.replace("00-", "ff-", 1), False),
        (TRACE.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32), False),
        (TRACE.replace("00f067aa0ba902b7", "0" * 16), False),
        (TRACE + "-more", False),
        ("", False),
        (None, False),
    ],
)
def test_a_trace_is_sampled_if_its_flags_say_so_and_its_name_is_one(traceparent: str | None, sampled: bool) -> None:
    assert is_sampled(traceparent) is sampled
