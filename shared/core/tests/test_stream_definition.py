"""Definitions of streams refuse what contradicts itself, also where no text of the language made them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.errors import InvalidPatternError
from graphtide_core.functions import FUNCTIONS
from graphtide_core.ids import StreamName
from graphtide_core.portable_regex import check_regex, count_groups, group_names
from graphtide_core.predicate import FunctionCall, Literal
from graphtide_core.record_expression import FieldPath
from graphtide_core.record_format import RECORD_FORMATS, RecordFormat
from graphtide_core.record_time import EpochUnit, RecordTime
from graphtide_core.stream_definition import (
    EdgeClause,
    EventClause,
    LabelledEnd,
    SetAttribute,
    StreamDefinition,
)
from graphtide_core.time import Duration, TimeUnit
from graphtide_core.zones import check_zone, offset_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.edge import Value

NAME = StreamName("s")
A = FieldPath(("a",))
EDGE = EdgeClause(LabelledEnd(A), LabelledEnd(A))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: StreamDefinition(StreamName("")), "the name is empty"),
        (lambda: StreamDefinition(NAME, clauses=(EDGE,) * 65), "at most 64 edges and events"),
        (lambda: StreamDefinition(NAME, sets=(SetAttribute("src", A),)), "'src' is a field of every record"),
        (lambda: StreamDefinition(NAME, sets=(SetAttribute("", A),)), "the name is empty"),
        (lambda: StreamDefinition(NAME, sets=(SetAttribute("x", A),) * 2), "SET states 'x' twice"),
        (lambda: StreamDefinition(NAME, sets=tuple(SetAttribute(f"x{n}", A) for n in range(1_001))), "at most 1,000"),
        (lambda: StreamDefinition(NAME, clauses=(EDGE,), delete_where=A), "DELETE WHERE needs ID"),
        (lambda: StreamDefinition(NAME, clauses=(EDGE,), duplicates=DuplicatePolicy.UPDATE), "DUPLICATES needs ID"),
        (lambda: StreamDefinition(NAME, nulls=("-", "-")), "NULL lists '-' twice"),
        (lambda: StreamDefinition(NAME, nulls=tuple(map(str, range(1_001)))), "at most 1,000 texts"),
        (lambda: StreamDefinition(NAME, unit=TimeUnit.SECOND, lateness=Duration(1, "ms")), "shorter than a tick"),
        (lambda: StreamDefinition(NAME, lateness=Duration(2**63)), "longer than times can be apart"),
        (lambda: FieldPath(()), "a path begins with the name of a field"),
        (lambda: FieldPath((0,)), "a path begins with the name of a field"),
        (lambda: FieldPath(("a", -1)), "a position in a list is from 0"),
        (lambda: FieldPath(("a", "")), "the name of a field is empty"),
        (lambda: FunctionCall("now", ()), "there is no function 'now'"),
        (lambda: FunctionCall("concat", (A,) * 65), "concat takes 1 to 64 arguments, not 65"),
        (lambda: FunctionCall("regexp_extract", (A, Literal("(a"))), "cannot be read"),
        (lambda: FunctionCall("cidr_contains", (Literal("10.0.0.0/255.0.0.0"), A)), "is not a network"),
        (lambda: RecordTime(A, EpochUnit.SECOND, "%Y-%m-%d"), "IN is for times that are numbers"),
        (lambda: RecordTime(Literal("ts")), "AT has a constant, 'ts', which is not a time"),
        (lambda: RecordTime(Literal(None)), "AT has a constant, NULL, which is not a time"),
        (lambda: EdgeClause(LabelledEnd(Literal("a")), LabelledEnd(Literal("b"))), "both ends of EDGE are constants"),
        (lambda: EdgeClause(LabelledEnd(A), LabelledEnd(A), id=Literal("a")), "ID is a constant"),
        (lambda: EventClause(A, id=Literal("a")), "ID is a constant"),
        (lambda: StreamDefinition(NAME, id=Literal("a")), "ID is a constant"),
        (lambda: RecordTime(A, format="%F %j"), "the format has a day of the year (%j) and a day of a month"),
        (lambda: RecordTime(A, format="%F %d"), "the format has %d twice"),
        (lambda: RecordTime(A, format="%F %T %Z", zone="UTC"), "the format states the zone itself"),
        (lambda: RecordTime(A, format="%Y-%m-%dü" + "ü" * 124), "at most 256 bytes"),
        (lambda: RecordTime(A, zone=""), "'' is not a zone of time"),
        (lambda: RecordFormat("xml", row=""), "ROW is a text of 1 to 2,000 characters"),
        (lambda: RecordFormat("csv", columns=tuple(map(str, range(10_001)))), "at most 10,000 columns"),
        (lambda: RecordFormat("xlsx"), "there is no format 'xlsx'"),
        (lambda: RecordFormat("json", delimiter=";"), "the format json has no option DELIMITER"),
    ],
)
def test_what_contradicts_itself_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidPatternError, match=re.escape(said)):
        make()


def test_records_with_fields_of_their_own_have_an_id() -> None:
    assert StreamDefinition(NAME, delete_where=A, duplicates=DuplicatePolicy.ERROR).id is None


def test_a_name_reserved_for_edges_is_one_of_events() -> None:
    sets = (SetAttribute("src", A),)
    assert StreamDefinition(NAME, clauses=(EventClause(A),), sets=sets).sets == sets
    assert EventClause(A, sets=sets).sets == sets


@pytest.mark.parametrize("value", [0, 1.5, "2024-01-31", "1706702400"])
def test_a_constant_may_be_a_time(value: Value) -> None:
    assert RecordTime(Literal(value)).value == Literal(value)


def test_a_path_names_the_attribute_that_it_is() -> None:
    assert str(FieldPath(("a", "b.c", 0, 1, "d"))) == "a.b.c[0][1].d"


def test_every_option_belongs_to_a_format() -> None:
    options = set(RecordFormat.__dataclass_fields__) - {"name"}
    assert set().union(*RECORD_FORMATS.values()) == options


def test_usages_of_functions_begin_with_their_names() -> None:
    assert [name for name, each in FUNCTIONS.items() if not each.usage.startswith(f"{name}(")] == []


@pytest.mark.parametrize(
    "zone", ["UTC", "+0000", "+00:00", "-23:59", "Europe/Berlin", "America/Argentina/Ushuaia", "Etc/GMT+5"]
)
def test_zones(zone: str) -> None:
    try:
        check_zone(zone)
    except InvalidPatternError as error:
        pytest.fail(str(error))


@pytest.mark.parametrize("zone", ["", "+24:00", "+2:00", "+02", "../etc/passwd", "Europe/", "a" * 65, "Europe Berlin"])
def test_what_is_no_zone(zone: str) -> None:
    with pytest.raises(InvalidPatternError, match="is not a zone of time"):
        check_zone(zone)
    assert offset_of(zone) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a|b",
        "(a)(?:b)",
        "(?P<x>a)",
        r"\d+\.\w*?\s{1,3}[^\]a-z\-]$",
        "[]a]",
        "[^]a]",
        "(?i)a",
        "(?im:a)",
        r"\x41\u00e9\[",
        "a{2}",
    ],
)
def test_regular_expressions_that_all_libraries_read(pattern: str) -> None:
    try:
        check_regex(pattern)
    except InvalidPatternError as error:
        pytest.fail(str(error))


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?P=x)", "(?<x>a)", "(?>a)", "(?#a)", "(?a)b", "(?(1)a)", r"(a)\1", r"\Z", r"\z",
        r"\p{L}", r"\Q", "a*+", "a++", "a?+", "a{1}+", "a**", "a{", "a{,3}", "a{1,256}", "[[:alpha:]]", "[a&&b]", "[a--b]",
        r"[\b]", "(a", "a)", "[a", "a{3,1}", "*a", "a" * 1_001, r"\ ", "(" * 500 + ")" * 500,
    ],
)  # fmt: skip
def test_regular_expressions_that_some_library_reads_otherwise(pattern: str) -> None:
    with pytest.raises(InvalidPatternError, match="regular expression"):
        check_regex(pattern)


def test_groups_of_a_regular_expression() -> None:
    assert group_names("(?P<a>x)(y)(?P<b>z)") == ("a", "b")
    assert count_groups("(?P<a>x)(y)(?:z)") == 2
