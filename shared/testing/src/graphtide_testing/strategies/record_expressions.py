"""Expressions over flat records that mostly have a value, with hostile values: to compare programs with the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.functions import DATE_PARTS
from graphtide_core.portable_regex import check_regex, count_groups
from graphtide_core.predicate import (
    Arithmetic,
    Compare,
    Comparison,
    Compute,
    Conjunction,
    Disjunction,
    FunctionCall,
    In,
    IsNull,
    Literal,
    Negate,
    Negation,
    StartsWith,
)
from graphtide_core.record_expression import FieldPath
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.edge import Value
    from graphtide_core.record_expression import RecordExpression
    from hypothesis.strategies import DrawFn, SearchStrategy

    _Expressions = SearchStrategy[RecordExpression]

ZONES: Final = ("UTC", "+05:30", "-00:01", "-23:59", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Africa/Monrovia")
"""Zones that the expressions name: with clocks that change, that skipped a day, and that were odd seconds ahead."""

_KNOWN_TEXTS: Final = (
    *(
        "",
        "a",
        "Ab c",
        "aaa",
        "a,b,,c",
        "ÄΣß İ ŉ",
        "e\u0301\u0323",
        "\x00",
        "\U0001f469\u200d\U0001f680",
        "\u212a\u017f",
        "ΐ" * 20,
    ),
    *("\u0264\U00010d70\ua7d3", "\x1c\x85 x\u3000\u200b", "a\nb\n", "\u0665", "[]{}()^$-", "x" * 100_000, "ab" * 50_000),
    *("7", "+42", " -7.50 ", "1e3", ".5", "5.", "1e999", "0x10", "inf", "NaN", "9223372036854775808", "-9223372036854775808"),
    *("0" * 399 + "1", "0" * 400 + "1", "1_0", "true"),
    *(
        "10.0.0.1",
        "10.0.0.01",
        "172.16.0.1",
        "256.1.1.1",
        "1.2.3",
        "fd00::1",
        "::ffff:10.0.0.1",
        "1::2:3:4:5:6:7",
        "1:2:3:4:5:6:7::",
    ),
    *("fe80::1%eth0", "::", "::1", ":::", "12345::", "2001:DB8::1"),
    *(
        "https://ann:pw@Example.org:8443/a?b#c",
        "http://[2001:DB8::1]:80/",
        "10.0.0.1:53",
        "file:///etc",
        "a@b@C:1\\x",
        "[x",
        "://",
    ),
    *("2024-02-29T12:34:56.789Z", "2024-10-27 02:30", "2024-03-31T02:30:00+05:30", "1899-12-31T23:59:59Z", "2100-01-01"),
    *(
        "0001-01-01",
        "9999-12-31T23:59:59-00:01",
        "1972-01-07T00:44:30Z",
        "2011-12-30T10:00:00Z",
        "2024-01-31T24:00",
        "2023-02-29",
    ),
)
TEXTS: Final = st.sampled_from(_KNOWN_TEXTS) | st.text(st.characters(codec="utf-8"), max_size=12)
INTEGERS: Final = (
    st.sampled_from(
        [0, 1, -1, 2, 7, 2**53 + 1, 2**63 - 1, -(2**63), 1_706_704_496_789, -62_135_596_800_001, 253_402_300_799_999]
    )
    | st.integers(-9, 9)
    | st.integers(-(2**63), 2**63 - 1)
)
FLOATS: Final = st.sampled_from(
    [0.0, -0.0, 0.5, -2.5, 2.675, 1e15, 1e16, 1e-5, 1.5e-7, 5e-324, 1e300, 2.0**53, 2.0**63, -(2.0**63), 0.1 + 0.2, 5e-16]
) | st.floats(allow_nan=False, allow_infinity=False)
CONSTANTS: Final[SearchStrategy[Value]] = TEXTS | INTEGERS | FLOATS | st.booleans() | st.none()

FIELDS: Final = ("t", "u", "i", "f", "b", "n")
"""Names of fields of the records: two texts, an integer, a floating-point number, a truth value, and one of any kind."""

_VALUES: Final[tuple[st.SearchStrategy[Value], ...]] = (TEXTS, TEXTS, INTEGERS, FLOATS, st.booleans(), CONSTANTS)


@st.composite
def flat_records(draw: DrawFn) -> dict[str, Value]:
    """A record of scalars, some of them missing or of another kind."""
    kinds = zip(FIELDS, _VALUES, strict=True)
    return {name: draw(kind if draw(st.integers(0, 9)) else CONSTANTS) for name, kind in kinds if draw(st.integers(0, 9))}


_ATOMS: Final = st.sampled_from(
    [
        *("a", "b", "1", ".", "^", "$", "-", "ä", "\u0301", "\n", "k", "s", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"),
        *(r"\b", r"\B", r"\A", r"\.", r"\x41", r"\u00e4", "[a-c]", "[^a]", r"[\d.-]", r"[^\W_]", "[]b]", "[^]b]"),
        *(r"[X-c\]]", "[Ä-ü]", r"[\x00-\x1f]"),
    ]
)


def _larger_regexes(part: SearchStrategy[str]) -> SearchStrategy[str]:
    group = st.builds("{}{})".format, st.sampled_from(["(", "(?:", "(?i:", "(?m:", "(?s:"]), part)
    repeat = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{1,2}?"])
    several = st.lists(part, min_size=1, max_size=3)
    return (
        several.map("".join)
        | several.map("|".join)
        | group
        | st.builds("(?:{}){}".format, part, repeat)
        | group.flatmap(lambda text: repeat.map(text.__add__))
    )


def _is_portable(pattern: str) -> bool:
    try:
        check_regex(pattern)
    except InvalidPatternError:
        return False
    return True


REGEXES: Final = st.builds(
    str.__add__, st.sampled_from(["", "", "(?i)", "(?m)", "(?is)"]), st.recursive(_ATOMS, _larger_regexes, max_leaves=6)
).filter(_is_portable)
"""Regular expressions that streams may use."""


def _call(function: str, *arguments: _Expressions) -> _Expressions:
    return st.tuples(*arguments).map(lambda values: FunctionCall(function, values))


def _constants(values: SearchStrategy[Any]) -> _Expressions:
    return st.builds(Literal, values)


def _field(name: str) -> _Expressions:
    return st.just(FieldPath((name,)))


@st.composite
def _extractions(draw: DrawFn, text: _Expressions) -> FunctionCall[RecordExpression]:
    pattern = draw(REGEXES)
    group = draw(st.none() | st.integers(0, count_groups(pattern)))
    others = () if group is None else (Literal(group),)
    return FunctionCall("regexp_extract", (draw(text), Literal(pattern), *others))


def _several(function: str, part: _Expressions) -> _Expressions:
    return st.lists(part, min_size=1, max_size=4).map(lambda values: FunctionCall(function, tuple(values)))


def _texts(levels: int) -> _Expressions:
    leaves = _constants(TEXTS) | _field("t") | _field("u") | _field("n")
    if not levels:
        return leaves
    text, number, any_ = _texts(levels - 1), _numbers(levels - 1), _any(levels - 1)
    place = _constants(st.integers(-4, 12)) | number
    return st.one_of(
        leaves,
        *(_call(name, text) for name in ("lower", "upper", "trim", "host_of")),
        _call("substring", text, place),
        _call("substring", text, place, place),
        _call("split", text, _constants(st.sampled_from([",", "a", "aa", " ", ":", ""])) | text, place),
        _call("replace", text, _constants(st.sampled_from(["a", "aa", ",", ""])) | text, text),
        _several("concat", any_),
        _several("coalesce", any_),
        _several("greatest", text),
        _several("least", text),
        _extractions(text),
        _call("hash", any_),
    )


def _numbers(levels: int) -> _Expressions:
    leaves = _constants(INTEGERS | FLOATS) | _field("i") | _field("f") | _field("n")
    if not levels:
        return leaves
    text, number = _texts(levels - 1), _numbers(levels - 1)
    part, zone = _constants(st.sampled_from(DATE_PARTS)), _constants(st.sampled_from(ZONES))
    return st.one_of(
        leaves,
        st.builds(Compute, st.sampled_from(Arithmetic), number, number),
        st.builds(Negate, number),
        _call("length", text),
        _call("to_number", text),
        _call("to_number", number),
        _call("abs", number),
        _call("round", number),
        _call("round", number, _constants(st.integers(0, 15))),
        _several("greatest", number),
        _several("least", number),
        _call("date_part", part, text | number),
        _call("date_part", part, text | number, zone),
    )


def _truths(levels: int) -> _Expressions:
    leaves = _constants(st.booleans()) | _field("b")
    if not levels:
        return leaves
    text, number, truth, any_ = _texts(levels - 1), _numbers(levels - 1), _truths(levels - 1), _any(levels - 1)
    several = st.lists(truth, min_size=2, max_size=3).map(tuple)
    network = st.sampled_from(["10.0.0.0/8", "10.0.0.1", "0.0.0.0/0", "::/0", "2001:db8::/32", "fe80::1/10", "172.16.0.0/012"])
    return st.one_of(
        leaves,
        *(st.builds(Compare, st.sampled_from(Comparison), kind, kind) for kind in (text, number, truth, any_)),
        st.builds(Conjunction, several),
        st.builds(Disjunction, several),
        st.builds(Negation, truth),
        st.builds(In, any_, st.lists(CONSTANTS, max_size=3).map(tuple)),
        st.builds(StartsWith, text, TEXTS),
        st.builds(IsNull, any_),
        _call("cidr_contains", _constants(network), text),
        _call("is_private_ip", text),
    )


def _any(levels: int) -> _Expressions:
    return st.one_of(_texts(levels), _numbers(levels), _truths(levels))


RECORD_EXPRESSIONS: Final = _any(3)
"""Expressions of up to three functions or operators inside each other."""
