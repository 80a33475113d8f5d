"""Errors carry what is needed to act on them, and render it."""

from __future__ import annotations

import pytest
from graphtide_core.errors import (
    CollidingTopicError,
    CutShortError,
    FatalError,
    FencedError,
    GraphtideError,
    InvalidPatternError,
    InvalidQueryError,
    LimitExceededError,
    Location,
    PoisonRecordError,
    TransientError,
    UnreadableStreamError,
)


@pytest.mark.parametrize(
    ("error", "base", "text"),
    [
        (TransientError("later"), GraphtideError, "later"),
        (PoisonRecordError("no ts"), GraphtideError, "no ts"),
        (PoisonRecordError("no ts", b"x,y", 7), GraphtideError, "line 7: no ts"),
        (InvalidQueryError("no"), GraphtideError, "no"),
        (InvalidPatternError("no"), InvalidQueryError, "no"),
        (CutShortError(7, 90), GraphtideError, "matching was ended after 7 records and 90 steps of work"),
        (
            CollidingTopicError("a.b", "a_b"),
            InvalidQueryError,
            "the topic a.b cannot be made beside a_b: Kafka treats dots and underscores in names alike; "
            "choose another name, or delete what is in the other",
        ),
        (FatalError("stop"), GraphtideError, "stop"),
        (FencedError("id taken"), FatalError, "id taken"),
        (UnreadableStreamError("no header"), FatalError, "no header"),
        (LimitExceededError("p", "100 partial matches"), FatalError, "pattern 'p' reached its limit of 100 partial matches"),
    ],
)
def test_errors_by_what_to_do_next(error: GraphtideError, base: type[GraphtideError], text: str) -> None:
    assert isinstance(error, base)
    assert str(error) == text


def test_every_error_is_tested_here() -> None:
    def below(kind: type[GraphtideError]) -> set[str]:
        return {kind.__name__}.union(*(below(each) for each in kind.__subclasses__() if each.__module__ == kind.__module__))

    assert below(GraphtideError) <= set(globals())


def test_a_poisoned_record_is_kept() -> None:
    error = PoisonRecordError("no ts", b"x,y", 7)
    assert (error.reason, error.raw, error.line) == ("no ts", b"x,y", 7)


def test_an_error_without_a_place_has_no_line() -> None:
    error = InvalidPatternError("no", hint="write less")
    assert (error.line, error.column) == (None, None)
    assert error.in_text("a\nb") is error
    assert str(error) == "no\nhint: write less"


def test_an_error_in_a_text_points_at_the_place() -> None:
    error = InvalidPatternError("no b", Location(2, 3, 2), expected=("c", "d"), hint="write c")
    assert (error.line, error.column) == (2, 3)
    assert str(error.in_text("aa\n\tabbc\r\nc")) == "\n".join(
        ["line 2, column 3: no b", "  \tabbc", "  \t ^^", "expected: c, d", "hint: write c"]
    )
    assert str(error) == "line 2, column 3: no b\nexpected: c, d\nhint: write c"


@pytest.mark.parametrize("line", [0, 3])
def test_a_place_outside_the_text_is_left_alone(line: int) -> None:
    error = InvalidPatternError("no", Location(line, 1))
    assert error.in_text("a\nb") is error


def test_lines_end_at_line_feeds_alone() -> None:
    error = InvalidPatternError("no", Location(2, 1)).in_text("a\u2028\x0b\rb\nhere")
    assert error.source_line == "here"


def test_a_caret_covers_no_more_than_the_line() -> None:
    assert str(InvalidPatternError("no", Location(1, 2, 50)).in_text("abc")).endswith("  abc\n   ^^")
    assert str(InvalidPatternError("no", Location(1, 4, 50)).in_text("abc")).endswith("  abc\n     ^")


def test_long_lines_are_cut_around_the_place() -> None:
    text = "a" * 1000 + "b" + "c" * 1000
    _, line, caret = str(InvalidPatternError("no", Location(1, 1001)).in_text(text)).split("\n")
    assert line == "  …" + "a" * 80 + "b" + "c" * 59 + "…"
    assert line[caret.index("^")] == "b"


def test_characters_that_move_the_cursor_are_replaced() -> None:
    error = InvalidPatternError("no", Location(1, 4)).in_text("\x00\u2028\x1bx")
    assert str(error) == "line 1, column 4: no\n  \ufffd \ufffdx\n     ^"
