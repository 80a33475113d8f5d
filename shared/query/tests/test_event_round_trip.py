"""Printing an event pattern and parsing the text gives the pattern back, whatever its names, expression and clauses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import graphtide_query
from graphtide_core import predicate
from graphtide_core.event_expression import And, Not, Or, QueryEvent, Repeat, Seq, positive_events
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.one_per import OnePer
from graphtide_core.pattern import Report
from graphtide_core.predicate import (
    Aggregate,
    Aggregation,
    Arithmetic,
    Attribute,
    Compare,
    Comparison,
    Compute,
    Expression,
    Literal,
    rename,
)
from graphtide_core.returns import Field, Returns
from graphtide_core.time import DURATION_UNITS, Duration
from graphtide_testing.strategies import event_patterns
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.event_expression import Part
    from hypothesis.strategies import DrawFn

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
NAMES = TEXT | st.sampled_from(["seq", "NOT", "or", "count", "first", "timeout", "next", "as", "every", "x y", "`", "e1", "1"])
DURATIONS = st.builds(Duration, st.integers(1, 2**63 - 1), st.sampled_from([None, *DURATION_UNITS]))


def values(name: str, *, repeats: bool) -> st.SearchStrategy[Expression]:
    read = st.builds(Attribute, st.just(name), NAMES)
    one: st.SearchStrategy[Expression] = st.builds(Aggregate, st.sampled_from(Aggregation), read) if repeats else read
    return one | st.builds(Compute, st.sampled_from(Arithmetic), one, one | st.builds(Literal, st.integers(-5, 5)))


def with_new_names(part: Part, names: dict[str, str], kinds: dict[str, str | None]) -> Part:
    match part:
        case QueryEvent(name, _, repeat):
            return QueryEvent(names[name], kinds[name], repeat)
        case Not(events):
            return Not(tuple(QueryEvent(names[each.name], kinds[each.name]) for each in events))
        case Seq(parts) | And(parts) | Or(parts):
            return type(part)(tuple(with_new_names(each, names, kinds) for each in parts))


@st.composite
def patterns(draw: DrawFn) -> EventPattern:
    """A generated pattern under other names, with every clause that a text may have."""
    plain = draw(event_patterns())
    known = [event.name for event in plain.events]
    given_names = draw(st.lists(NAMES, min_size=len(known), max_size=len(known), unique=True))
    names = dict(zip(known, given_names, strict=True))
    root = with_new_names(plain.root, names, {name: draw(st.none() | NAMES) for name in known})
    assert isinstance(root, Seq | And | Or)
    event = draw(st.sampled_from(positive_events(root)))
    value = values(event.name, repeats=event.repeat is not None)
    fields = draw(st.lists(st.builds(Field, NAMES, value), max_size=3, unique_by=lambda field: field.name))
    more: tuple[Expression, ...] = ()
    if draw(st.booleans()):
        more = (predicate.Negation(Compare(draw(st.sampled_from(Comparison)), draw(value), Literal(draw(st.integers(-9, 9))))),)
    everything = draw(st.booleans())
    keys: tuple[Expression, ...] = ()
    if plain.report is Report.ALL:
        keys = tuple(draw(st.lists(value, max_size=2)))
    elif plain.partition == ("k",) and event.repeat is None and draw(st.booleans()):
        keys = (Attribute(event.name, "k"),)
    return replace(
        plain,
        name=PatternName(draw(NAMES)),
        root=root,
        within=draw(DURATIONS),
        stream=StreamName(draw(NAMES)),
        predicates=(*(rename(predicate, names) for predicate in plain.predicates), *more),
        one_per=OnePer(keys, draw(DURATIONS)) if keys else None,
        returns=Returns(tuple(fields), everything=everything) if fields or everything else None,
    )


@given(patterns())
def test_parsing_what_is_printed_gives_the_event_pattern_back(pattern: EventPattern) -> None:
    printed = graphtide_query.print_pattern(pattern)
    parsed = graphtide_query.parse(printed)
    assert parsed == (pattern,)
    assert repr(parsed[0].predicates) == repr(pattern.predicates)
    assert graphtide_query.print_pattern(parsed[0]) == printed


def test_iterations_are_printed_as_they_are_said() -> None:
    repeats = [Repeat(1), Repeat(2), Repeat(2, 2), Repeat(1, 3)]
    root = Seq(tuple(QueryEvent(f"m{number}", "M", repeat) for number, repeat in enumerate(repeats)))
    pattern = EventPattern(PatternName("p"), root, Duration(5), StreamName("s"))
    printed = "PATTERN p\nSEQ(m0:M+, m1:M{2,}, m2:M{2}, m3:M{1,3})\nON s WITHIN 5\n"
    assert graphtide_query.print_pattern(pattern) == printed
