"""Expressions over a record have natively the value that the oracle gives them, whatever they are and whatever they read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide_core.functions import FUNCTIONS, LONGEST_TEXT
from graphtide_core.ids import StreamName
from graphtide_core.portable_regex import count_groups
from graphtide_core.predicate import FunctionCall, Literal, Negate
from graphtide_core.record_expression import MOST_LEVELS, FieldPath
from graphtide_core.record_time import RecordTime
from graphtide_core.stream_definition import EventClause, SetAttribute, StreamDefinition
from graphtide_core.time import TimeUnit
from graphtide_native.record_form import clocks_of_zones
from graphtide_native.records import StatementDecoder, Symbols
from graphtide_testing.oracles.stream_records import evaluate_record
from graphtide_testing.strategies.record_expressions import RECORD_EXPRESSIONS, REGEXES, ZONES, flat_records
from graphtide_wire.stream_definition import encode_definition
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.record_expression import RecordExpression

UNIT = TimeUnit.MILLISECOND
SPARE = st.text(st.sampled_from("abAB1. \nä\u0301-]_kK\u212asS\u017fXZc"), max_size=10)
quickly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def read_natively(expressions: Sequence[RecordExpression], record: Mapping[str, Value]) -> list[Value]:
    """Return the values of expressions: the attributes of an event that a statement makes of the record."""
    names = [f"x{number}" for number in range(len(expressions))]
    sets = tuple(map(SetAttribute, names, expressions))
    definition = StreamDefinition(
        StreamName("s"), None, (EventClause(Literal("e")),), RecordTime(FieldPath(("ts",))), UNIT, sets=sets
    )
    decoder = StatementDecoder(
        Symbols(), names, encode_definition(definition), format="jsonl", zones=clocks_of_zones(frozenset(ZONES))
    )
    line = json.dumps({**record, "ts": 1}, ensure_ascii=False).encode()
    (row,) = decoder.decode(line).to_records() + decoder.finish().to_records()
    assert decoder.take_dead_letters() == []
    return [row["attributes"][name] for name in names]


def show(value: Value) -> tuple[str, str]:
    """Return a form that differs for 1, 1.0 and true, and for 0.0 and -0.0."""
    return type(value).__name__, repr(value)


@quickly
@given(RECORD_EXPRESSIONS, flat_records())
def test_expressions(expression: RecordExpression, record: dict[str, Value]) -> None:
    (found,) = read_natively([expression], record)
    expected = evaluate_record(expression, record, UNIT)
    event(f"a {type(expected).__name__}")
    assert show(found) == show(expected)


@quickly
@given(REGEXES, SPARE, st.integers(0, 3))
def test_regular_expressions(pattern: str, text: str, group: int) -> None:
    call: RecordExpression = FunctionCall(
        "regexp_extract", (FieldPath(("t",)), Literal(pattern), Literal(min(group, count_groups(pattern))))
    )
    (found,) = read_natively([call], {"t": text})
    expected = evaluate_record(call, {"t": text}, UNIT)
    event(f"found: {expected is not None}")
    assert found == expected


def test_letters_of_every_character() -> None:
    text = FieldPath(("t",))
    calls = [FunctionCall(name, (text,)) for name in ("lower", "upper", "length", "hash")]
    for first in range(0, 0x110000, 0x4000):
        characters = "".join(chr(point) for point in range(first, first + 0x4000) if not 0xD800 <= point < 0xE000)
        record: dict[str, Value] = {"t": characters}
        assert read_natively(calls, record) == [evaluate_record(call, record, UNIT) for call in calls]


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize(
    "make",
    [
        lambda text: FunctionCall("concat", (text, text)),
        lambda text: FunctionCall("concat", (FunctionCall("substring", (text, Literal(0))), text)),
        lambda text: FunctionCall("replace", (text, Literal("b"), Literal("bbb"))),
        lambda text: FunctionCall("replace", (text, Literal("ab"), Literal("äß"))),
    ],
)
def test_a_text_that_is_made_is_at_most_so_long(make: object, extra: int) -> None:
    assert callable(make)
    call = make(FieldPath(("t",)))
    record: dict[str, Value] = {"t": "ab" * (LONGEST_TEXT // 4) + "c" * extra}
    expected = evaluate_record(call, record, UNIT)
    assert read_natively([call], record) == [expected]
    assert (expected is None) == (extra == 1)


@pytest.mark.parametrize(
    ("function", "text"), [("lower", "A"), ("lower", "ä"), ("upper", "a"), ("upper", "ä"), ("host_of", "A"), ("host_of", "1")]
)
def test_letters_of_a_long_text_are_unknown(function: str, text: str) -> None:
    call = FunctionCall(function, (FieldPath(("t",)),))
    longest = LONGEST_TEXT // len(text.encode())
    for length in (longest, longest + 1):
        record: dict[str, Value] = {"t": text * length}
        expected = evaluate_record(call, record, UNIT)
        assert read_natively([call], record) == [expected]
        assert (expected is None) == (length > longest)


def test_an_expression_of_the_most_levels_is_read() -> None:
    negated: RecordExpression = FieldPath(("i",))
    called: RecordExpression = FieldPath(("t",))
    for _ in range(MOST_LEVELS - 1):
        negated, called = Negate(negated), FunctionCall("trim", (called,))
    assert read_natively([negated, called], {"i": 7, "t": " x"}) == [-7, "x"]


def test_every_function_is_native() -> None:
    arguments: dict[str, tuple[RecordExpression, ...]] = {
        "regexp_extract": (FieldPath(("t",)), Literal("a")),
        "date_part": (Literal("year"), FieldPath(("i",))),
        "cidr_contains": (Literal("10.0.0.0/8"), FieldPath(("t",))),
    }
    calls = [
        FunctionCall(name, arguments.get(name, (FieldPath(("t",)),) * function.least)) for name, function in FUNCTIONS.items()
    ]
    record: dict[str, Value] = {"t": "a", "i": 0}
    assert read_natively(calls, record) == [evaluate_record(call, record, UNIT) for call in calls]


@pytest.mark.parametrize("pattern", ["(?:.{100}){100}", "[^a]{255}" * 9, "(?:[a-z_]{25}){50}", "(?i)" + "[^k-m]{20}" * 60])
def test_the_largest_regular_expressions_can_be_compiled(pattern: str) -> None:
    call: RecordExpression = FunctionCall("regexp_extract", (FieldPath(("t",)), Literal(pattern)))
    record: dict[str, Value] = {"t": "é" * 10_000}
    assert read_natively([call], record) == [evaluate_record(call, record, UNIT)]


@pytest.mark.parametrize("pattern", ["(?:a+)+b", "(?:a|aa)+b", "(?:(?:a+)+)+b", "(a*a*a*a*)b"])
def test_a_search_that_backtracking_never_ends_ends(pattern: str) -> None:
    call: RecordExpression = FunctionCall("regexp_extract", (FieldPath(("t",)), Literal(pattern)))
    assert read_natively([call], {"t": "a" * 100_000}) == [None]
