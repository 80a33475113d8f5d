"""STREAM statements: what each clause states, alone and together, and with patterns in one text."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import graphtide_query
import pytest
from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_pattern import EventPattern
from graphtide_core.predicate import Arithmetic as Sign
from graphtide_core.predicate import Compare, Comparison, Compute, FunctionCall, IsNull, Literal, Negation
from graphtide_core.record_expression import FieldPath, field_paths
from graphtide_core.record_format import OPTIONS, RecordFormat
from graphtide_core.record_time import EpochUnit, RecordTime
from graphtide_core.stream_definition import (
    EdgeClause,
    EventClause,
    LabelledEnd,
    SetAttribute,
    StreamClock,
    StreamDefinition,
)
from graphtide_core.stream_partition import Partition
from graphtide_core.time import Duration, TimeUnit
from graphtide_query.language import stream_hints
from graphtide_query.language.builder import Builder
from graphtide_query.language.stream_builder import StreamRules
from lark import Transformer

STREAMS = Path(__file__).parent / "fixtures" / "streams"
PATTERN = "PATTERN p MATCH (a)-[e]->(b) ON flows WINDOW 10m\n"


def field(*steps: str | int) -> FieldPath:
    return FieldPath(steps)


def read(name: str) -> str:
    return (STREAMS / f"{name}.gts").read_text("utf-8")


def only(text: str) -> StreamDefinition:
    (stream,) = graphtide_query.parse_streams(text)
    return stream


def test_a_log_of_connections() -> None:
    assert only(read("flows")) == StreamDefinition(
        name=only("STREAM flows").name,
        format=RecordFormat("zeek"),
        clauses=(
            EdgeClause(
                LabelledEnd(field("id.orig_h"), Literal("ip")), LabelledEnd(field("id.resp_h"), Literal("ip")), field("proto")
            ),
        ),
        time=RecordTime(field("ts"), EpochUnit.SECOND),
        id=field("uid"),
        sets=(
            SetAttribute("bytes", Compute(Sign.ADD, field("orig_bytes"), field("resp_bytes"))),
            SetAttribute("state", field("conn_state")),
            SetAttribute("port", field("id.resp_p")),
        ),
        where=Compare(Comparison.NOT_EQUAL, field("proto"), Literal("icmp")),
        nulls=("-", "(empty)"),
        lateness=Duration(30, "s"),
        duplicates=DuplicatePolicy.REJECT,
        clock=StreamClock.DATA,
    )


def test_several_edges_and_an_event_of_a_record() -> None:
    role = field("requestParameters", "roleArn")
    arn = LabelledEnd(field("userIdentity", "arn"), Literal("principal"))
    assert only(read("trail")) == StreamDefinition(
        name=only("STREAM trail").name,
        format=RecordFormat("json", unnest=field("Records")),
        clauses=(
            EdgeClause(arn, LabelledEnd(role, Literal("role")), field("eventName"), where=Negation(IsNull(role))),
            EdgeClause(arn, LabelledEnd(field("sourceIPAddress"), Literal("ip")), Literal("from")),
            EventClause(
                field("eventName"),
                sets=(
                    SetAttribute("user", field("userIdentity", "arn")),
                    SetAttribute("ok", IsNull(field("errorCode"))),
                ),
            ),
        ),
        time=RecordTime(field("eventTime")),
        id=field("eventID"),
    )


def test_clauses_come_in_any_order_and_keywords_in_any_case() -> None:
    night, plain, log = graphtide_query.parse_streams(read("several"))
    assert (night.name, plain.name, log.name) == ("night shift", "plain", "log")
    assert night.format == RecordFormat(
        "csv",
        delimiter="whitespace",
        header=False,
        columns=("ts", "id.orig_h", "op"),
        comment="#",
        quote="",
        decimal=",",
        encoding="latin-1",
    )
    pay, linked, tick = night.clauses
    assert isinstance(pay, EdgeClause)
    assert isinstance(linked, EdgeClause)
    assert isinstance(tick, EventClause)
    assert (pay.label, pay.source.label, pay.target.label) == (Literal("pay"), field("kind"), Literal("big shop"))
    assert (linked.label, linked.source.label, linked.id) == (None, None, field("other"))
    assert [each.name for each in (*linked.sets, *night.sets)] == ["n", "order", "h", "ok", "tenant"]
    assert night.time == RecordTime(field("day"), format="%d/%m/%Y %H:%M", zone="Europe/Berlin")
    assert (night.unit, night.lateness, night.nulls) == (TimeUnit.MICROSECOND, Duration(0), ("",))
    assert (night.clock, night.duplicates) == (StreamClock.LIVE, DuplicatePolicy.UPDATE)
    assert night.partition == Partition(FunctionCall("host_of", (field("url"),)), 4)
    assert night.where is not None
    assert night.delete_where is not None
    assert list(field_paths(night.where)) == [field("line"), field("src")]
    assert night.id is not None
    assert list(field_paths(night.id)) == [field("a", "b", 0, "c"), field("x y")]
    assert plain == StreamDefinition(plain.name)
    assert log.time == RecordTime(FunctionCall("coalesce", (field("a"), field("b"))), EpochUnit.AUTO)


@pytest.mark.parametrize("name", ["flows", "trail", "several"])
def test_what_is_printed_is_parsed_again(name: str) -> None:
    streams = graphtide_query.parse_streams(read(name))
    printed = "".join(map(graphtide_query.print_stream, streams))
    assert graphtide_query.parse_streams(printed) == streams
    assert "".join(map(graphtide_query.print_stream, graphtide_query.parse_streams(printed))) == printed


def test_statements_and_patterns_stand_in_one_text_in_any_order() -> None:
    rule = "near(x, y) <- follows(x, y). ON s WINDOW(1h)\n"
    text = read("flows") + PATTERN + read("trail") + rule
    streams, patterns = graphtide_query.parse_streams_and_patterns(text)
    assert streams == graphtide_query.parse_streams(read("flows") + read("trail"))
    assert patterns == graphtide_query.parse(PATTERN + rule)


def test_a_stream_and_a_pattern_may_have_one_name() -> None:
    streams, patterns = graphtide_query.parse_streams_and_patterns("STREAM p\n" + PATTERN)
    assert (streams[0].name, patterns[0].name) == ("p", "p")


def test_where_set_and_id_belong_to_the_edge_that_they_follow() -> None:
    before = only("STREAM s WHERE x = 1 SET n = y ID u EDGE (a)-->(b)")
    after = only("STREAM s EDGE (a)-->(b) WHERE x = 1 SET n = y ID u")
    behind_another = only("STREAM s EDGE (a)-->(b) AT ts WHERE x = 1 SET n = y ID u")
    assert before == behind_another
    assert (after.where, after.sets, after.id) == (None, (), None)
    (edge,) = after.clauses
    assert (edge.where, edge.sets, edge.id) == (before.where, before.sets, before.id)


def test_words_of_clauses_are_names_where_a_name_stands() -> None:
    text = (
        "STREAM format FORMAT csv (COLUMNS (id, at, set)) EDGE (id:edge)-[set]->(at.event) SET format = unit, zone = at AT id"
    )
    stream = only(text)
    assert stream.name == "format"
    assert stream.time == RecordTime(field("id"))
    assert only(graphtide_query.print_stream(stream)) == stream


def test_functions_are_written_in_any_case() -> None:
    assert only("STREAM s ID LOWER(uid)").id == FunctionCall("lower", (field("uid"),))


def test_a_text_of_patterns_alone_reads_the_same() -> None:
    assert graphtide_query.parse_streams_and_patterns(PATTERN) == ((), graphtide_query.parse(PATTERN))


def test_hints_and_the_grammar_know_every_option_of_a_format() -> None:
    options = {each.upper() for each in OPTIONS if each != "pattern"}
    grammar = resources.files("graphtide_query.language").joinpath("streams.lark").read_text("utf-8")
    (words,) = re.findall(r"^OPTION\.2: /\(\?:([a-z|]+)\)", grammar, re.MULTILINE)
    assert {each.upper() for each in words.split("|")} == options
    assert options == stream_hints._OPTION_NAMES  # noqa: SLF001 - a copy, which spares texts of patterns the model
    assert {option: hint for option in options if not (hint := refusal(f"STREAM s {option} x").hint).startswith(option)} == {}


def refusal(text: str) -> InvalidPatternError:
    with pytest.raises(InvalidPatternError) as caught:
        graphtide_query.parse_streams(text)
    return caught.value


def test_rules_of_statements_replace_none_of_patterns() -> None:
    own, patterns = ({name for name in dir(each) if name not in dir(Transformer)} for each in (StreamRules, Builder))
    assert {name for name in own & patterns if not name.startswith("_")} == {"start"}
    (_, (found,)) = graphtide_query.parse_streams_and_patterns(
        "STREAM s EMIT EVENT 'n' EVERY 1m SET n = count(*)\n"
        "PATTERN p SEQ(a:A+) WHERE count(a) > 1 AND sum(a.x) > 2 ON s WITHIN 1m"
    )
    assert isinstance(found, EventPattern)
    assert len(found.predicates) == 2
