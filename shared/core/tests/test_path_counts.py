"""Path counts held as numbers answer as their definition does, and with work that does not grow with the types of paths."""

from __future__ import annotations

import pickle
from array import array
from typing import TYPE_CHECKING

import pytest
from graphtide_core.statistics import Direction, EdgeEnd, EdgeType, PathCounts, PathType
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.statistics.kinds import AskedEnd

VERTEX_LABELS = [None, "u", "v"]
LABELS = [f"l{number}" for number in range(12)]
KINDS = st.builds(
    EdgeType, st.sampled_from(VERTEX_LABELS), st.sampled_from(LABELS), st.sampled_from(VERTEX_LABELS), st.integers(0, 1)
)
ENDS = st.builds(EdgeEnd, KINDS, st.sampled_from(Direction))
PATHS = st.dictionaries(st.builds(PathType.of, ENDS, ENDS), st.integers(1, 2**70), max_size=120)
ASKED = st.tuples(
    st.tuples(*[st.sampled_from(labels) for labels in (VERTEX_LABELS, [*LABELS[:2], None], VERTEX_LABELS)]),
    st.sampled_from(Direction),
)


def fits(asked: AskedEnd, end: EdgeEnd) -> bool:
    (source, label, target), direction = asked
    kind = end.kind
    given = (kind.source_label, kind.label, kind.target_label)
    return direction is end.direction and all(
        wanted in (None, there) for wanted, there in zip((source, label, target), given, strict=True)
    )


@given(PATHS, st.lists(st.tuples(ASKED, ASKED), max_size=8))
def test_meetings_and_paths_are_what_their_definitions_say(
    paths: dict[PathType, int], asked: list[tuple[AskedEnd, AskedEnd]]
) -> None:
    counts = PathCounts.of(paths)
    for one, other in asked:
        ways = [
            (count, fits(one, path.first) and fits(other, path.second), fits(one, path.second) and fits(other, path.first))
            for path, count in paths.items()
        ]
        assert counts.meetings(one, other) == sum(count * (first + second) for count, first, second in ways)
        assert counts.paths(one, other) == sum(count for count, first, second in ways if first or second)
    assert counts == paths
    assert (len(counts), counts.total()) == (len(paths), sum(paths.values()))
    assert pickle.loads(pickle.dumps(counts)) == paths  # noqa: S301 - of our own


@given(st.lists(KINDS, min_size=1, max_size=6), st.data())
def test_counts_of_kinds_that_look_alike_are_added(kinds: list[EdgeType], data: st.DataObject) -> None:
    last = 2 * len(kinds) - 1
    drawn = st.dictionaries(st.tuples(st.integers(0, last), st.integers(0, last)), st.integers(1, 2**63), max_size=12)
    rows = sorted((min(pair), max(pair), count) for pair, count in data.draw(drawn).items())
    keys = {one << 32 | other: count for one, other, count in rows}
    found = PathCounts.of_sorted(kinds, array("Q", keys).tobytes(), array("Q", keys.values()).tobytes())
    expected: dict[PathType, int] = {}
    ends = [EdgeEnd(kind, way) for kind in kinds for way in (Direction.OUT, Direction.IN)]
    for key, count in keys.items():
        path = PathType.of(ends[key >> 32], ends[key & 0xFFFFFFFF])
        expected[path] = expected.get(path, 0) + count
    assert found == expected


def everything_meets(labels: int) -> PathCounts:
    kinds = [EdgeType("u", f"l{number}", "v") for number in range(labels)]
    ends = range(2 * labels)
    return PathCounts.of_rows(kinds, [(one, other, 1) for one in ends for other in ends if one <= other])


@pytest.mark.parametrize(("label", "most"), [("l1", 1), (None, 400)])
def test_paths_of_labels_are_found_without_a_look_at_those_of_others(label: str | None, most: int) -> None:
    steps = []
    for labels in (100, 200):
        counts = everything_meets(labels)
        # What is put together once is there.
        counts.paths((("u", "l3", "v"), Direction.OUT), (("u", None, None), Direction.IN))
        before = counts.steps
        for number in range(4, 10):
            one, other = (("u", f"l{number}", "v"), Direction.OUT), (("u", label, "v"), Direction.IN)
            assert counts.paths(one, other) == (1 if label is not None else labels)
            assert counts.paths(other, one) == counts.paths(one, other)
        steps.append((counts.steps - before) / 12)
    # By their labels: one look. Where one is left open: at the paths of the other.
    assert max(steps) <= most
    assert steps[1] <= 2 * steps[0]


def test_paths_of_no_labels_are_put_together_once() -> None:
    counts = everything_meets(60)
    asked = [((source, None, target), way) for source in ("u", None) for target in ("v", None) for way in Direction]
    counts.paths(asked[0], asked[1])
    assert counts.steps <= len(counts) + 64
    before = counts.steps
    for one in asked:
        for other in asked:
            counts.paths(one, other)
    assert counts.steps - before <= len(asked) ** 2


@given(PATHS, PATHS)
def test_two_counts_beside_each_other_have_each_path_once(one: dict[PathType, int], other: dict[PathType, int]) -> None:
    wanted = sorted((one.get(path, 0), other.get(path, 0)) for path in {*one, *other})
    assert sorted(PathCounts.of(one).beside(PathCounts.of(other))) == wanted
