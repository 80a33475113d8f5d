"""Streams and patterns of the workloads are always the same, and the same as those of the script they were first made with."""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from graphtide_bench.workloads import cache
from graphtide_bench.workloads.passes import load
from graphtide_bench.workloads.queries import ORDERS, SHAPES
from graphtide_bench.workloads.stream import generate
from graphtide_bench.workloads.workload import FLOWS, MANY_LABELS, SWAPPING, TYPED, WORKLOADS
from graphtide_query import parse_subgraphs

if TYPE_CHECKING:
    from types import ModuleType

    from graphtide_bench.workloads.workload import Workload

ORIGINAL = Path(__file__).parents[3].parent / "shared" / "bench" / "workload.py"
EDGES, WINDOW = 12_000, 10_000

GOLDEN = {
    "B": "83f241594cb7ddee",
    "E": "7391b51606ca40c0",
    "F": "c4ab329cac3dd894",
    "T": "84682889cc75cdcf",
    "L": "730aedce3c0f8ec2",
    "N": "52ff21ccdf993a35",
    "M": "5ead442de8a4c3fe",
    "S": "4174bb7596113613",
}


@pytest.fixture(scope="module")
def original() -> ModuleType:
    if not ORIGINAL.exists():
        pytest.skip("the original script is not beside this checkout")
    spec = importlib.util.spec_from_file_location("original_workload", ORIGINAL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(name: str, out: Path) -> argparse.Namespace:
    recipe = WORKLOADS[name].recipe
    return argparse.Namespace(
        seed=recipe.seed,
        n=EDGES,
        V=recipe.vertices,
        lv=recipe.vertex_labels,
        le=recipe.edge_labels,
        alpha=recipe.alpha,
        lskew=recipe.label_skew,
        close=recipe.closing,
        simple=0,
        per_ts=recipe.edges_per_tick,
        out=str(out),
    )


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # the script's files
@pytest.mark.parametrize("name", WORKLOADS)
def test_streams_and_patterns_are_those_of_the_original_script(name: str, original: ModuleType, tmp_path: Path) -> None:
    raw, drawn = tmp_path / "stream.raw", tmp_path / "drawn"
    original.gen(arguments(name, raw))
    original.graphtide(argparse.Namespace(stream=str(raw), query=None, out=str(tmp_path / "original.csv")))
    workload = WORKLOADS[name].of_length(EDGES)
    assert cache.csv_file(workload, tmp_path).read_bytes() == (tmp_path / "original.csv").read_bytes()

    original.queries(argparse.Namespace(seed=workload.recipe.seed, stream=str(raw), window=WINDOW, out=str(drawn)))
    theirs = {}
    for query in drawn.iterdir():
        out = tmp_path / "pattern.gtp"
        original.graphtide(argparse.Namespace(stream=None, query=str(query), window=WINDOW, out=str(out)))
        theirs[json.loads(query.read_bytes())["name"]] = out.read_text()
    assert len(theirs) >= 18
    assert cache.texts(workload.patterns(WINDOW), WINDOW) == theirs


@pytest.mark.parametrize(
    "workload", [*WORKLOADS.values(), MANY_LABELS, FLOWS, TYPED, SWAPPING], ids=lambda workload: workload.name
)
def test_the_first_edges_and_patterns_never_change(workload: Workload) -> None:
    text = repr(list(islice(generate(workload.recipe), 1_000))) + repr(workload.of_length(1_000).patterns(1_000))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == GOLDEN[workload.name]


def test_the_table_of_workloads_is_what_published_numbers_refer_to() -> None:
    assert {
        name: (each.recipe.seed, each.recipe.edges, each.recipe.vertices, each.windows) for name, each in WORKLOADS.items()
    } == {
        "B": (8, 200_000, 20_000, (10_000, 20_000, 50_000)),
        "E": (11, 1_000_000, 50_000, (50_000,)),
        "F": (13, 100_000, 20_000, (10_000,)),
        "T": (17, 60_000, 3_000, (1_000,)),
    }


@pytest.mark.parametrize(("name", "lost"), [("B", set()), ("F", set()), ("T", {"tri2_5"})])
def test_every_shape_is_drawn_in_every_order_unless_it_is_not_found(name: str, lost: set[str]) -> None:
    workload = WORKLOADS[name]
    drawn = {pattern.name for pattern in workload.patterns(workload.windows[0])}
    assert drawn == {f"{shape}_{order}" for shape in SHAPES if shape not in lost for order in ORDERS}


def test_a_shorter_stream_is_a_prefix() -> None:
    longer, shorter = WORKLOADS["T"].recipe, WORKLOADS["T"].of_length(500).recipe
    assert list(generate(shorter)) == list(islice(generate(longer), 500))


def test_many_patterns_are_named_in_order_and_fewer_are_a_prefix() -> None:
    many = MANY_LABELS.many_patterns(5_000, 40)
    assert [pattern.name for pattern in many] == [f"p{number}" for number in range(40)]
    assert MANY_LABELS.many_patterns(5_000, 10) == many[:10]
    assert len({pattern.edges for pattern in many}) > 30


def test_the_texts_of_drawn_patterns_are_patterns() -> None:
    for pattern in WORKLOADS["T"].patterns(1_000):
        (parsed,) = parse_subgraphs(pattern.text(1_000))
        assert parsed.name == pattern.name
        assert [(e.source, e.target, e.label) for e in parsed.edges] == [
            (f"v{s}", f"v{t}", f"E{x}") for s, t, x in pattern.edges
        ]
        assert [vertex.label for vertex in sorted(parsed.vertices, key=lambda v: v.name)] == [
            f"L{label}" for label in pattern.vertex_labels
        ]
        assert {(f"e{a}", f"e{b}") for a, b in pattern.order} <= parsed.order.before


def test_statistics_for_a_planner_are_counted_over_the_stream(tmp_path: Path) -> None:
    workload = WORKLOADS["T"].of_length(400)
    edges = list(generate(workload.recipe))
    known = cache.statistics_of(cache.csv_file(workload, tmp_path))
    assert (known.edges, known.span) == (400, edges[-1].ts - edges[0].ts)
    assert known.vertices == len({end for edge in edges for end in (edge.source, edge.target)})
    assert sum(known.types.values()) == 400
    assert {(k.source_label, k.label, k.target_label) for k in known.types} == {
        (f"L{e.source_label}", f"E{e.label}", f"L{e.target_label}") for e in edges
    }


def test_paths_are_counted_however_many_labels_there_are(tmp_path: Path) -> None:
    stream = load(MANY_LABELS.of_length(2_000), tmp_path)
    assert len({kind.label for kind in stream.statistics.types}) > 1_000
    assert stream.statistics.paths is not None
    assert stream.statistics.paths_in_all >= len(stream.statistics.paths) > 500


def test_labels_swap_frequencies_where_asked_and_nothing_else_changes() -> None:
    recipe = replace(SWAPPING.recipe, edges=4_000, swap_after=2_500)
    edges, plain = list(generate(recipe)), list(generate(replace(recipe, swap_after=None)))
    assert edges[:2_500] == plain[:2_500]
    assert edges[2_500:] == [edge._replace(label=5 - edge.label) for edge in plain[2_500:]]
    before, after = (Counter(edge.label for edge in part) for part in (edges[:2_500], edges[2_500:]))
    assert before.most_common(1)[0][0] == 0
    assert after.most_common(1)[0][0] == 5
