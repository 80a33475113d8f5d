"""EMIT clauses of a definition that is not made from a text are checked, too; windows of a stream say what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_core.ids import StreamName
from graphtide_core.predicate import Aggregation, Compare, Comparison, Literal
from graphtide_core.record_expression import FieldPath
from graphtide_core.stream_definition import EventClause, StreamDefinition
from graphtide_core.stream_emissions import MOST_EMISSIONS, MOST_SUMMARIES, Emission, EmittedEnd, EmittedKey, Summary
from graphtide_core.stream_features import MOST_KEYS, Feature
from graphtide_core.stream_windows import StreamWindows
from graphtide_core.time import MAX_EVENT_TIME, Duration, TimeUnit

if TYPE_CHECKING:
    from collections.abc import Callable

MINUTE = Duration(1, "m")
COUNT = Summary("n", Aggregation.COUNT)
BURST = Emission(
    "burst",
    MINUTE,
    (EmittedEnd("src"), EmittedEnd("host")),
    (EmittedKey("port", "port"),),
    (COUNT, Summary("b", Aggregation.SUM, "bytes")),
)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Emission("", MINUTE), "EMIT needs a label"),
        (
            lambda: Emission("x", MINUTE, keys=tuple(EmittedKey(each, each) for each in "abcdefghi")),
            f"PER lists at most {MOST_KEYS} names",
        ),
        (
            lambda: Emission("x", MINUTE, sets=tuple(Summary(f"s{n}", Aggregation.COUNT) for n in range(MOST_SUMMARIES + 1))),
            f"at most {MOST_SUMMARIES} attributes",
        ),
        (lambda: Summary("", Aggregation.COUNT), "the name is empty"),
        (lambda: Summary("x", Aggregation.FIRST, "a"), "first is not a function of windows"),
        (lambda: Emission("x", MINUTE, keys=(EmittedKey("a", "n"),), sets=(COUNT,)), "SET states 'n' twice"),
        (
            lambda: Emission("x", MINUTE, having=Compare(Comparison.GREATER, FieldPath(("a", "b")), Literal(1))),
            "'a.b' is in a record",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason):
        make()


@pytest.mark.parametrize(
    ("emissions", "reason"),
    [
        ([Emission(f"e{n}", MINUTE) for n in range(MOST_EMISSIONS + 1)], f"at most {MOST_EMISSIONS} EMIT clauses"),
        ([Emission("x", MINUTE), Emission("x", MINUTE)], "'x' is the label or type of another clause"),
        ([Emission("login", MINUTE)], "'login' is the label or type of another clause"),
        ([Emission("x", MINUTE, keys=(EmittedKey("sent", "s"),))], "EMIT reads the feature 'sent'"),
        ([Emission("x", Duration(1, "us"))], "EVERY 1us is not a number of whole ticks"),
        ([Emission("x", Duration(MAX_EVENT_TIME + 1))], "is longer than times can be apart"),
    ],
)
def test_what_contradicts_the_stream_is_refused(emissions: list[Emission], reason: str) -> None:
    with pytest.raises(InvalidPatternError, match=reason):
        StreamDefinition(
            StreamName("s"),
            clauses=(EventClause(Literal("login")),),
            features=(Feature("sent", Aggregation.COUNT, MINUTE),),
            emissions=tuple(emissions),
        )


def test_windows_say_what_they_read_and_give() -> None:
    hour = Feature("calls", Aggregation.COUNT, Duration(1, "h"), keys=("user",))
    windows = StreamWindows((hour,), (BURST,))
    assert windows.inputs == ("user", "host", "port", "bytes")
    assert windows.names == ("calls", "port", "n", "b")
    assert (windows.longest(TimeUnit.SECOND), windows.read_by(()).longest(TimeUnit.SECOND)) == (3_600, 60)
    assert windows.read_by({"calls"}) == windows
    assert (bool(windows), bool(StreamWindows()), StreamWindows().longest(TimeUnit.SECOND)) == (True, False, 0)
    with pytest.raises(InvalidPatternError, match="EMIT 'burst': the stream has no attribute 'port'"):
        windows.refuse_unknown_inputs(["user", "host", "bytes"])
    with pytest.raises(InvalidPatternError, match="feature 'calls': the stream has no attribute 'user'") as refused:
        windows.refuse_unknown_inputs(["users"])
    assert refused.value.hint == "did you mean users?"
