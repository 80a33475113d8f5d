"""What Python gives the wrong thing to says so at the door, and no match vanishes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import graphtide
import pytest
from graphtide import MatchOptions
from graphtide.server import Access, Server
from graphtide_core.errors import FatalError
from graphtide_core.graph_query import GraphQuery
from graphtide_core.plans import GraphPlan, Plan, SearchPlan
from graphtide_core.returns import MatchLayout
from graphtide_native.match_batch import MatchBatch
from graphtide_query import parse

if TYPE_CHECKING:
    from graphtide_core.plans import AnyPlan

PATTERNS = {
    "isomorphism": "PATTERN p MATCH (a)-[x:k]->(b) ON s WINDOW 10",
    "simulation": "PATTERN p MATCH (a)-[x:k]->(b) UNDER DUAL SIMULATION ON s WINDOW 10",
    "events": "PATTERN p SEQ(a:A, b:B) ON s WITHIN 10",
    "algebra": "QUERY p Answer(x, y) <- k(x, y). ON s WINDOW(10)",
}


PARTS: dict[str, tuple[object, ...]] = {
    "isomorphism": (["1"], [], ["a", "b"]),
    "simulation": ([[("1", False)]], [["a"], ["b"]], "0" * 32, None, None),
    "events": ("0" * 32, [0, 1], [("1", False), ("2", False)], None),
    "algebra": ("0" * 32, 0, ["a", "b"], 1, None, 0, None),
}
"""The parts of a match of each family, as the extension gives them."""


def plan_of(pattern: Any) -> AnyPlan:
    """Return what stands for the plan of a pattern: no engine runs."""
    if isinstance(pattern, GraphQuery):
        return GraphPlan(pattern, cast("Any", None))
    return Plan(pattern, SearchPlan(()))


class Rows:
    """An extension of another version, whose matches have another form."""

    def __init__(self, parts: tuple[object, ...]) -> None:
        self._parts = parts

    def rows(self) -> list[object]:
        return [((0, "match", False, 1, 1, 1), self._parts, ())]


@pytest.mark.parametrize("family", PATTERNS)
@pytest.mark.parametrize("parts", [(), (1,), tuple(range(17))], ids=len)
def test_a_match_of_an_unknown_form_is_an_error_and_does_not_vanish(family: str, parts: tuple[object, ...]) -> None:
    (pattern,) = parse(PATTERNS[family])
    batch = MatchBatch(cast("Any", Rows(parts)), [plan_of(pattern)])
    with pytest.raises(FatalError, match=f"a match of 'p' has {len(parts)} parts, .* another version"):
        list(batch)


def test_each_layout_is_that_of_one_family() -> None:
    layouts = [plan_of(pattern).native.pattern.match_layout for text in PATTERNS.values() for pattern in parse(text)]
    assert (len(layouts), {*layouts}) == (len(MatchLayout), {*MatchLayout})


@pytest.mark.parametrize("other", PARTS)
@pytest.mark.parametrize("family", PATTERNS)
def test_a_match_in_the_layout_of_another_family_is_an_error(family: str, other: str) -> None:
    (pattern,) = parse(PATTERNS[family])
    batch = MatchBatch(cast("Any", Rows(PARTS[other])), [plan_of(pattern)])
    if family == other:
        assert len(list(batch)) == 1
        return
    with pytest.raises(FatalError, match=r"a match of 'p' has \d parts, which no match of its kind has"):
        list(batch)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"limits": {"partial_matches": 3}}, r"limits is a Limits, not a dict: write limits=Limits\(\*\*limits\)"),
        ({"limits": 3}, r"limits is a Limits, not a int: write limits=Limits\(…\)"),
        ({"limits": graphtide.Limits(partial_matches=cast("int", "3"))}, "limits.partial_matches is an integer, not a str"),
        ({"limits": graphtide.Limits(work=cast("int", 0.5))}, "limits.work is an integer, not a float"),
        ({"concurrency": 2}, "concurrency is a Concurrency, not a int"),
        ({"concurrency": {"threads": 2}}, r"write concurrency=Concurrency\(\*\*concurrency\)"),
        ({"statistics": {}}, "statistics is a StatisticsSnapshot, not a dict"),
        ({"adaptation": {}}, "adaptation is a AdaptationPolicy, not a dict"),
        ({"max_pending": "many"}, "max_pending is an integer, not a str"),
        ({"types": "string"}, "types is a Mapping, not a str"),
    ],
    ids=str,
)
def test_an_option_of_another_type_is_named_with_what_to_write(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        MatchOptions(**wrong)


class Answer:
    def __init__(self, status: int) -> None:
        self.status_code = status


@pytest.mark.parametrize("name", ["x:pause", "x:resume", "x:backfill", "a b:pause"])
def test_a_name_whose_address_is_that_of_an_action_is_of_no_pattern(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """So that to register it says what is wrong with the name."""
    monkeypatch.setattr(Server, "_request", lambda *_: Answer(405))
    assert Server(Access("http://localhost:1", None, None)).pattern(name) is None
