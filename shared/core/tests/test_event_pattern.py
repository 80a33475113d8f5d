"""Event patterns refuse what no engine could match, at its place, and know how far they reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core import predicate
from graphtide_core.any_pattern import subgraphs_alone
from graphtide_core.edge import Edge
from graphtide_core.errors import InvalidPatternError, Location
from graphtide_core.event import Event
from graphtide_core.event_expression import And, Not, Or, Part, QueryEvent, Repeat, Seq
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.ids import EdgeId, PatternName, StreamName, VertexId
from graphtide_core.one_per import OnePer
from graphtide_core.pattern import QueryEdge, QueryVertex, Report, SubgraphPattern
from graphtide_core.predicate import (
    Aggregate,
    Aggregation,
    Attribute,
    Compare,
    Comparison,
    Expression,
    Literal,
    aggregates,
    plain_attributes,
    rename,
    variables,
)
from graphtide_core.returns import Field, Returns
from graphtide_core.time import Duration, EventTime, TimeUnit

if TYPE_CHECKING:
    from graphtide_core.event_expression import Group

HERE = Location(3, 7)
A, B, C, D = (QueryEvent(name, name.upper()) for name in "abcd")
MANY = QueryEvent("m", "M", Repeat(1))
NO_C = Not((C,), HERE)


def read(variable: str, name: str = "x") -> Attribute:
    return Attribute(variable, name, HERE)


def total(variable: str, name: str = "x") -> Aggregate:
    return Aggregate(Aggregation.SUM, read(variable, name))


def less(left: Expression, right: Expression) -> Expression:
    return Compare(Comparison.LESS, left, right)


def pattern(
    root: Group,
    *predicates: Expression,
    within: Duration = Duration(10),  # noqa: B008 - a frozen value
    report: Report = Report.ALL,
    selection: Selection = Selection.ANY,
    partition: tuple[str, ...] = (),
    emits_timeouts: bool = False,
    one_per: OnePer | None = None,
    returns: Returns | None = None,
) -> EventPattern:
    return EventPattern(
        name=PatternName("p"),
        root=root,
        within=within,
        stream=StreamName("s"),
        predicates=predicates,
        report=report,
        selection=selection,
        partition=partition,
        emits_timeouts=emits_timeouts,
        one_per=one_per,
        returns=returns,
    )


def deep(levels: int) -> Group:
    root: Group = Seq((A,))
    for _ in range(levels - 1):
        root = And((root,))
    return root


@pytest.mark.parametrize(
    ("root", "reason"),
    [
        (Seq(()), "at least one event"),
        (Seq((A, And(()))), "need at least one part"),
        (Seq((NO_C,)), "a NOT needs another part beside it"),
        (Seq((A, And((NO_C, Not((D,)))))), "a NOT needs another part beside it"),
        (Or((A, NO_C)), "cannot stand inside OR"),
        (Or((A, Seq((B, NO_C)))), "cannot stand inside OR"),
        (Seq((A, Not(()))), "names at least one event"),
        (Seq((A, Not((MANY,)))), "cannot be repeated"),
        (Seq((A, B, A)), "'a' names two events"),
        (Seq((A, Not((A,)))), "'a' names two events"),
        (Seq((QueryEvent("a", "A", Repeat(0)),)), "at least one event"),
        (Seq((QueryEvent("a", "A", Repeat(5, 2)),)), "at least 5 cannot have at most 2"),
        (And(tuple(QueryEvent(f"a{number}") for number in range(65))), "at most 64 events"),
        (deep(66), "more than 64 levels deep"),
        (deep(5_000), "more than 64 levels deep"),
    ],
)
def test_event_expressions_that_nothing_could_match_are_refused(root: Group, reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason):
        pattern(root)


def test_event_expressions_up_to_the_bounds_are_taken() -> None:
    assert len(pattern(And(tuple(QueryEvent(f"a{number}") for number in range(64)))).events) == 64
    assert pattern(deep(64)).events == (A,)


@pytest.mark.parametrize(
    ("root", "predicate", "reason"),
    [
        (Seq((A, B)), less(read("a"), read("z")), "has no event 'z'"),
        (Seq((A, NO_C, B, Not((D,)))), less(read("c"), read("d")), "cannot relate 'c' to 'd'"),
        (Seq((A, Not((C, D)), B)), less(read("c"), read("d")), "no event is both 'c' and 'd'"),
        (
            Seq((A, Or((B, D)))),
            predicate.Disjunction((less(read("b"), Literal(1)), less(read("d"), Literal(1)))),
            "two branches of an OR",
        ),
        (Seq((A, B)), less(total("a"), Literal(1)), "'a' is one event"),
        (Seq((A, NO_C)), less(total("c"), Literal(1)), "'c' must not come"),
    ],
)
def test_predicates_that_say_nothing_of_a_match_are_refused_at_their_place(
    root: Group, predicate: Expression, reason: str
) -> None:
    with pytest.raises(InvalidPatternError, match=reason) as caught:
        pattern(root, predicate)
    assert caught.value.location == HERE


def test_predicates_of_each_kind_are_taken() -> None:
    related = less(read("c"), read("a"))
    listed = less(read("m"), total("m"))
    assert pattern(Seq((A, NO_C, MANY)), related, listed).predicates == (related, listed)
    both = predicate.Conjunction((less(read("b"), read("a")), less(read("m"), read("m", "y"))))
    assert pattern(Seq((A, Or((B, D)), MANY)), both).predicates == (both,)


def test_a_time_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidPatternError, match="WITHIN must be longer than 0"):
        pattern(Seq((A, B)), within=Duration(0, "m"))


@pytest.mark.parametrize("report", [Report.MAXIMAL, Report.INSTANCES, Report.CHANGES])
def test_reports_of_other_families_are_refused(report: Report) -> None:
    with pytest.raises(InvalidPatternError, match="is not for event patterns"):
        pattern(Seq((A, B)), report=report)


def test_skipping_is_about_iterations() -> None:
    assert pattern(Seq((A, MANY)), selection=Selection.NEXT).selection is Selection.NEXT
    with pytest.raises(InvalidPatternError, match="the pattern has none"):
        pattern(Seq((A, B)), selection=Selection.NEXT)


def test_an_attribute_parts_the_stream_once() -> None:
    with pytest.raises(InvalidPatternError, match="names 'user' twice"):
        pattern(Seq((A, B)), partition=("user", "host", "user"))


@pytest.mark.parametrize("root", [And((A, B)), Or((A, B)), Seq((A, And((B, D)))), Seq((A, Or((B, Seq((D,))))))])
def test_timeouts_are_of_plain_sequences(root: Group) -> None:
    with pytest.raises(InvalidPatternError, match="ON TIMEOUT is for"):
        pattern(root, emits_timeouts=True)


def test_a_plain_sequence_may_have_every_kind_of_event() -> None:
    assert pattern(Seq((MANY, NO_C, Or((A, B)), D)), emits_timeouts=True).emits_timeouts


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ((), "at least one field"),
        ((Field("x", read("a")), Field("x", read("b"))), "two fields called 'x'"),
        ((Field("x", read("z")),), "has no event 'z'"),
        ((Field("x", read("c")),), "'c' must not come"),
        ((Field("x", less(read("m"), Literal(1))),), "'m' is an iteration"),
    ],
)
def test_fields_that_no_match_has_are_refused(fields: tuple[Field, ...], reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason):
        pattern(Seq((A, NO_C, B, MANY)), returns=Returns(fields))


def test_a_field_may_list_an_iteration_or_compute_over_it() -> None:
    returns = Returns((Field("each", read("m")), Field("all", total("m"))), everything=True)
    assert pattern(Seq((A, MANY)), returns=returns).returns == returns


@pytest.mark.parametrize(
    ("keys", "every", "reason"),
    [
        ((), 10, "at least one key"),
        ((read("a"),), 0, "EVERY must be longer than 0"),
        ((read("m"),), 10, "'m' is an iteration"),
        ((read("c"),), 10, "'c' must not come"),
    ],
)
def test_keys_that_a_match_has_none_of_are_refused(keys: tuple[Expression, ...], every: int, reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason):
        pattern(Seq((A, NO_C, MANY)), one_per=OnePer(keys, Duration(every)))


def test_what_all_matches_of_an_event_share_is_a_key_if_one_of_them_is_reported() -> None:
    keys = OnePer((read("a", "user"),), Duration(10))
    assert pattern(Seq((A, B)), report=Report.EXISTS, partition=("user",), one_per=keys).one_per == keys
    with pytest.raises(InvalidPatternError, match="which all matches of an event share"):
        pattern(Seq((A, B)), report=Report.EXISTS, one_per=keys)


@pytest.mark.parametrize(
    ("root", "lookback"),
    [
        (Seq((A, B)), 11),
        (Seq((NO_C, A)), 11),
        (Seq((A, NO_C)), 11),
        (Seq((A, And((B, NO_C)))), 11),
        (Seq((D, Seq((A, NO_C, B)))), 11),
        (Seq((D, Seq((NO_C, B)))), 21),
        (And((D, And((A, Seq((B, NO_C)))))), 21),
    ],
)
def test_the_lookback_covers_what_a_not_looks_at(root: Group, lookback: int) -> None:
    assert pattern(root).lookback(TimeUnit.MILLISECOND) == lookback


@pytest.mark.parametrize(
    ("root", "report", "match_lookback"),
    [
        (Seq((A, B)), Report.ALL, 11),
        (Seq((A, NO_C)), Report.ALL, 11),
        (Seq((NO_C, A)), Report.ALL, 21),
        (And((A, Seq((B, NO_C)))), Report.ALL, 21),
        (And((A, Seq((NO_C, B)))), Report.ALL, 31),
        (Seq((A, B)), Report.EXISTS, 21),
        (Seq((NO_C, A)), Report.EXISTS, 31),
    ],
)
def test_relevant_events_lie_beyond_the_lookback_with_a_leading_not_and_with_counted_matches(
    root: Group, report: Report, match_lookback: int
) -> None:
    assert pattern(root, report=report).match_lookback(TimeUnit.MILLISECOND) == match_lookback


def test_the_lookback_counts_whole_ticks() -> None:
    assert pattern(Seq((A, B)), within=Duration(1_500, "ms")).lookback(TimeUnit.SECOND) == 2


def test_events_stand_in_the_order_of_the_text() -> None:
    parts: tuple[Part, ...] = (A, Not((C, D)), Or((B, And((MANY,)))))
    assert [event.name for event in pattern(Seq(parts)).events] == ["a", "c", "d", "b", "m"]
    assert pattern(Seq(parts)).has_absences
    assert not pattern(Seq((A, B))).has_absences


def test_an_aggregate_is_renamed_and_read_like_what_it_computes_over() -> None:
    expression = less(total("m"), read("a"))
    assert variables(expression) == {"m", "a"}
    assert list(aggregates(expression)) == [total("m")]
    assert list(plain_attributes(expression)) == [read("a")]
    assert rename(expression, {"m": "n", "a": "b"}) == less(total("n"), read("b"))


def test_edges_are_not_computed_over() -> None:
    with pytest.raises(InvalidPatternError, match="edges are not repeated") as caught:
        SubgraphPattern(
            name=PatternName("p"),
            vertices=(QueryVertex("v"), QueryVertex("w")),
            edges=(QueryEdge("a", "v", "w"),),
            window=Duration(10),
            stream=StreamName("s"),
            predicates=(less(total("a"), Literal(1)),),
        )
    assert caught.value.location == HERE


def test_what_works_on_subgraphs_refuses_event_patterns() -> None:
    with pytest.raises(InvalidPatternError, match="'p' is an event pattern") as caught:
        subgraphs_alone([pattern(Seq((QueryEvent("a", "A", location=HERE), B)))])
    assert caught.value.location == HERE


def test_an_edge_is_an_event_of_its_label() -> None:
    edge = Edge(EdgeId("7"), EventTime(5), VertexId("v"), VertexId("w"), "pay", "person", None, {"amount": 3})
    event = Event.of_edge(edge)
    assert (event.id, event.ts, event.type) == ("7", 5, "pay")
    assert event.attributes == {
        "amount": 3,
        "src": "v",
        "dst": "w",
        "label": "pay",
        "src_label": "person",
        "dst_label": None,
    }
    assert event.shares_id(Event(EdgeId("7"), EventTime(9), "other"))
    assert not event.shares_id(Event(EdgeId("7"), EventTime(9), "other", made=True))
