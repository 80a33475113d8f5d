"""Templates of messages: what is literal, what is filled, and what cannot be read."""

from __future__ import annotations

import pytest
from graphtide_core.annotations import MOST_TAGS, Annotations, Severity
from graphtide_core.errors import InvalidPatternError
from graphtide_core.message_template import MOST_VALUE, TemplateError, fill_template, parse_template
from hypothesis import given
from hypothesis import strategies as st

MATCH = {
    "query": "p",
    "edges": {"e": "f1", "i": ["f1", "f2", "f3", "f4", "f5", "f6", "f7"]},
    "vertices": {"v": "10.0.0.1"},
    "src": "a",
    "fields": {"e.bytes": 12, "ok": True, "none": None, "long": "x" * 1000, "w.id": "field"},
}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("by {v.id}: {e.bytes} bytes", "by 10.0.0.1: 12 bytes"),
        ("{{{v.id}}}", "{10.0.0.1}"),
        ("{ v.id }{e.id}", "10.0.0.1f1"),
        ("{i.id}", "f1, f2, f3, f4, f5 and 2 more"),
        ("{ok} {none} {unknown} {query.id}", "true ? ? ?"),
        ("{src.id} {w.id}", "a field"),
        ("{long}", "x" * (MOST_VALUE - 1) + "…"),
    ],
)
def test_a_template_is_filled_from_the_record(template: str, message: str) -> None:
    assert fill_template(parse_template(template), MATCH) == message


@pytest.mark.parametrize(("template", "offset"), [("a {", 2), ("}", 0), ("{{ {v", 3), ("{}", 0), ("{v}{ }", 3), ("{a{b}}", 0)])
def test_a_template_that_cannot_be_read_says_where(template: str, offset: int) -> None:
    with pytest.raises(TemplateError) as caught:
        parse_template(template)
    assert caught.value.offset == offset
    assert caught.value.hint


@given(st.text())
def test_doubled_braces_give_the_text_back(text: str) -> None:
    template = text.replace("{", "{{").replace("}", "}}")
    assert fill_template(parse_template(template), {}) == text


def test_severities_have_an_order() -> None:
    assert sorted(Severity, key=lambda each: each.rank) == list(Severity)
    assert Severity.CRITICAL.rank > Severity.HIGH.rank > Severity.INFO.rank == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Annotations(description=" "),
        lambda: Annotations(message="x" * 1_001),
        lambda: Annotations(message="{"),
        lambda: Annotations(tags=("a", "a")),
        lambda: Annotations(tags=("",)),
        lambda: Annotations(tags=tuple(map(str, range(MOST_TAGS + 1)))),
    ],
)
def test_annotations_have_bounds(make: type[Annotations]) -> None:
    with pytest.raises(InvalidPatternError):
        make()
