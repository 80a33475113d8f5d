"""Printing a definition and parsing the text gives the definition back, whatever its names, constants and options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import graphtide_query
from graphtide_testing.strategies.stream_definitions import stream_definitions
from hypothesis import HealthCheck, given, settings

if TYPE_CHECKING:
    from graphtide_core.stream_definition import StreamDefinition


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(stream_definitions())
def test_print_then_parse_is_identity(stream: StreamDefinition) -> None:
    text = graphtide_query.print_stream(stream)
    assert graphtide_query.parse_streams(text) == (stream,)
    assert graphtide_query.print_stream(stream) == text


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(stream_definitions(), stream_definitions())
def test_statements_stand_one_after_the_other(one: StreamDefinition, other: StreamDefinition) -> None:
    text = graphtide_query.print_stream(one) + graphtide_query.print_stream(other)
    tables = {each.name: each for each in one.tables}
    if one.name != other.name and all(tables.get(each.name, each) == each for each in other.tables):
        assert graphtide_query.parse_streams(text) == (one, other)
