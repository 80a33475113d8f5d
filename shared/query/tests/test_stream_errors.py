"""Every file of fixtures/stream_errors is refused with exactly the text beside it."""

from __future__ import annotations

from pathlib import Path

import graphtide_query
import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_query.language import known_zones
from graphtide_testing.hostile_texts import check_written_errors

ERRORS = sorted((Path(__file__).parent / "fixtures" / "stream_errors").glob("*.gts"))
STATEMENT = "STREAM flows EDGE (a)-[k]->(b) AT ts\n"
PATTERN = "PATTERN p MATCH (a)-[e]->(b) ON flows WINDOW 10m\n"


def test_errors_say_where_and_what_to_do(subtests: pytest.Subtests) -> None:
    check_written_errors(ERRORS, graphtide_query.parse_streams, subtests)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [(STATEMENT + PATTERN, 1, 1), (PATTERN + STATEMENT, 2, 1), ("stream flows", 1, 1)],
    ids=["before", "behind", "alone"],
)
def test_a_statement_where_patterns_are_read_says_who_reads_it(text: str, line: int, column: int) -> None:
    with pytest.raises(InvalidPatternError, match="a STREAM statement is not a pattern") as caught:
        graphtide_query.parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert "parse_streams" in caught.value.hint


def test_without_a_database_every_name_of_a_zone_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "STREAM s AT ts ZONE 'Mars/Base'"
    with pytest.raises(InvalidPatternError, match="there is no zone 'Mars/Base'"):
        graphtide_query.parse_streams(text)
    monkeypatch.setattr(known_zones, "available_timezones", set)
    (stream,) = graphtide_query.parse_streams(text)
    assert stream.time.zone == "Mars/Base"


def test_a_rule_may_have_a_head_named_stream() -> None:
    rule = "stream(x, y) <- follows(x, y). ON s WINDOW(1h)\n"
    assert graphtide_query.parse_streams_and_patterns(rule) == ((), graphtide_query.parse(rule))
