"""Definitions of streams over records that mostly have what these read: most give edges and events, some are dead letters.

Records are nested; flat ones have fields alone, as CSV does. Names are few, so that paths meet, also with and without dots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from graphtide_core.ids import StreamName
from graphtide_core.predicate import Arithmetic, Compare, Comparison, Compute, FunctionCall, IsNull, Literal, Negation
from graphtide_core.record_expression import FieldPath
from graphtide_core.record_time import EpochUnit, RecordTime
from graphtide_core.stream_definition import EdgeClause, EventClause, LabelledEnd, SetAttribute, StreamDefinition
from graphtide_core.time import TimeUnit
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.record_expression import RecordExpression
    from hypothesis.strategies import DrawFn, SearchStrategy

ATTRIBUTES: Final = ("n", "m", "b", "in", "in.x", "in.list[0]", "in.list[1].y", "src", "label", "type", "other", "x.y.z")
"""Attributes that a decoder is asked for: stated ones, paths, fields with dots, and what no record has."""

FIELDS: Final = ("ts", "a", "b", "k", "n", "in.x", "src", "dst", "label", "type", "id", "uid", "op", "in.list[0]", "in")
"""The fields of flat records."""

_NAMES: Final = st.sampled_from(
    ["a", "b", "k", "n", "a", "b", "k", "n", "in.x", "src", "dst", "label", "type", "id", "uid", "op"]
)
_NESTED: Final = st.sampled_from(
    [("in", "x"), ("in", "list", 0), ("in", "list", 1, "y"), ("in",), ("in", "list", 7), ("in.list",)]
)
PATHS: Final = st.builds(FieldPath, _NAMES.map(lambda name: (name,)) | _NESTED)
"""Paths that records mostly have."""

_TEXTS: Final = st.sampled_from(["u", "v", "d", "x y", "", "-", "007", "7", "1.50", "true", '\u00fc"\\\n\t', "1e3", "#1"])
_NUMBERS: Final = st.sampled_from([0, 1, -1, 7, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 10**30, 0.5, 1.0, -0.0, 1e16, 1.5e-7])
VALUES: Final = st.one_of(_TEXTS, _TEXTS, _TEXTS, _NUMBERS, _NUMBERS, st.booleans(), st.none())
"""What fields hold."""

_GOOD_TEXTS: Final = st.sampled_from(["u", "v", "d", "007", 7, "x y"])

_ODD_TIMES: Final = st.one_of(
    st.sampled_from([-1.5, 1521911721.258458, 1e11, 1e14, 10**17, 1e300, 2**63, "soon", True, None, "2024-03-31 02:30"]),
    st.sampled_from(["1521911721.258458123", "31/01/2024 12:00", "20240131", "1 Feb 2024 00:00 GMT", 20240131, "1e3"]),
    st.sampled_from(["Wed, 31 Jan 2024 12:00:00 +0100", "2024-01-31 12:00:00.25+02:00", "2024-01-31"]),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
_GOOD_TIMES: Final = st.sampled_from([0, 1700000000, 1700000000123, 1700000000.25, "1700000000"])
TIMES: Final = st.integers(0, 4).flatmap(lambda odd: _ODD_TIMES if odd == 4 else _GOOD_TIMES)
"""What states a time, or rarely fails to."""


def _small(part: SearchStrategy[RecordExpression]) -> SearchStrategy[RecordExpression]:
    return st.one_of(
        st.builds(Compare, st.sampled_from(Comparison), part, part),
        st.builds(Compute, st.sampled_from(Arithmetic), part, part),
        st.builds(Negation, st.builds(IsNull, part)),
        st.builds(IsNull, part),
        st.builds(lambda *parts: FunctionCall("coalesce", parts), part, part),
        st.builds(lambda *parts: FunctionCall("concat", parts), part, part),
    )


_LITERALS: Final = st.builds(Literal, _TEXTS | st.sampled_from([1, 0.5, True, None]))
EXPRESSIONS: Final[SearchStrategy[RecordExpression]] = st.one_of(PATHS, PATHS, _LITERALS, _small(PATHS | _LITERALS))
"""Expressions that mostly have a value."""

_GOOD: Final = st.sampled_from([FieldPath((name,)) for name in ("a", "b", "k")])
_OF_FIELDS: Final = st.one_of(_GOOD, _GOOD, _GOOD, PATHS, _small(_GOOD))
_ENDS: Final = st.one_of(_GOOD, _GOOD, _GOOD, EXPRESSIONS)
_CONDITIONS: Final = _small(PATHS | _LITERALS)
_SETS: Final = st.lists(
    st.builds(SetAttribute, st.sampled_from(["n", "m", "in.x", "other"]), EXPRESSIONS),
    max_size=3,
    unique_by=lambda each: each.name,
).map(tuple)
_TS: Final = FieldPath(("ts",))
_AT: Final = FieldPath(("in", "at"))
_TIMES: Final = st.one_of(
    *[st.builds(RecordTime, st.just(_TS), st.none() | st.sampled_from(EpochUnit))] * 7,
    st.builds(
        RecordTime, st.just(_AT), st.none(), st.none() | st.just("iso"), st.sampled_from(["UTC", "Europe/Berlin", "-03:30"])
    ),
    st.builds(RecordTime, st.just(_TS), st.none(), st.sampled_from(["%d/%m/%Y %H:%M", "%Y%m%d", "rfc2822"])),
    st.builds(RecordTime, st.just(FunctionCall("coalesce", (_TS, _AT))), st.none() | st.sampled_from(EpochUnit)),
)


def _rarely(draw: DrawFn, strategy: SearchStrategy[Any]) -> Any:
    return draw(strategy) if draw(st.integers(0, 3)) == 3 else None


@st.composite
def _clauses(draw: DrawFn) -> EdgeClause | EventClause:
    where, sets, identity = _rarely(draw, _CONDITIONS), draw(_SETS), _rarely(draw, _OF_FIELDS)
    if draw(st.booleans()):
        return EventClause(draw(_ENDS), where, sets, identity)
    source, target = (
        LabelledEnd(draw(_OF_FIELDS), _rarely(draw, EXPRESSIONS)),
        LabelledEnd(draw(_ENDS), _rarely(draw, EXPRESSIONS)),
    )
    return EdgeClause(source, target, _rarely(draw, EXPRESSIONS), where, sets, identity)


@st.composite
def reading_definitions(draw: DrawFn) -> StreamDefinition:
    """A definition that reads fields which records mostly have."""
    identity = draw(st.none() | _OF_FIELDS)
    return StreamDefinition(
        StreamName("s"),
        None,
        tuple(draw(st.lists(_clauses(), min_size=min(1, draw(st.integers(0, 7))), max_size=3))),
        draw(_TIMES),
        draw(st.sampled_from(TimeUnit)),
        identity,
        draw(_SETS),
        _rarely(draw, _CONDITIONS),
        None if identity is None else _rarely(draw, _CONDITIONS),
        None if identity is None else _rarely(draw, _CONDITIONS),
        tuple(draw(st.lists(_TEXTS, max_size=2, unique=True))),
    )


@st.composite
def flat_records(draw: DrawFn) -> dict[str, object]:
    """A record of fields alone, with all of these names."""
    good = st.integers(0, 7).flatmap(lambda rarely: VALUES if rarely == 7 else _GOOD_TEXTS)
    kept = {
        "ts": TIMES,
        "a": good,
        "b": good,
        "k": good,
        "src": good,
        "dst": good,
        "op": st.none() | st.sampled_from(["insert", "delete", "u"]),
    }
    return {name: draw(kept.get(name, VALUES)) for name in FIELDS}


@st.composite
def nested_records(draw: DrawFn) -> object:
    """A record with objects and lists in it, some of whose fields are missing; rarely it is not one."""
    if not draw(st.integers(0, 29)):
        return draw(st.sampled_from([1, "text", [], [1], True]))
    flat = {name: value for name, value in draw(flat_records()).items() if draw(st.integers(0, 5))}
    item = VALUES | st.fixed_dictionaries({"y": VALUES})
    inner = {"x": draw(VALUES), "list": draw(st.lists(item, max_size=3)), "at": draw(TIMES), "deep": {"a": [[{}], {"b": 1}]}}
    if draw(st.integers(0, 4)):
        flat["in"] = draw(st.sampled_from([inner, [inner], inner, inner]))
    return dict(draw(st.permutations(list(flat.items()))))
