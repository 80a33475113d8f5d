"""The commands that measure what the papers claim check their matches, on streams of a few thousand edges."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from graphtide_bench.cli import app
from graphtide_bench.frame.report import read
from graphtide_bench.planning import adaptation, selectivity
from graphtide_bench.planning.contrast import CONTRASTS
from graphtide_bench.statistics import counting
from graphtide_bench.subgraphs import from_scratch
from graphtide_bench.workloads.passes import load
from graphtide_bench.workloads.typed import draw_group, template
from graphtide_bench.workloads.workload import FLOWS, TYPED, WORKLOADS
from graphtide_core.errors import FatalError
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_every_way_finds_the_same_matches_on_a_stream_that_changes(cache: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.json"
    arguments = ["adaptation", "--edges", "24000", "--window", "12000", "--repeats", "1", "--cache", str(cache)]
    ended = RUNNER.invoke(app, [*arguments, "--output", str(output)])
    assert ended.exit_code == 0, ended.output
    assert "the same sets, by match id, in 6 ways for each of 5 patterns" in ended.output
    runs = read(output).of_kind(adaptation.ADAPTATION)
    assert sum(each.matches for each in runs) > 0
    assert {(each.before.edges, each.after.edges, each.settled.edges) for each in runs} == {(12_000, 12_000, 6_000)}


def test_rates_of_a_stretch_come_from_the_median_and_compare_with_the_best_fixed_plan() -> None:
    stretch = adaptation.Stretch(100, (1.0, 2.0, 4.0))
    assert stretch.rate == 50.0
    fixed = adaptation.AdaptationRun("p", "timing", ((0, "timing e0"),), stretch, stretch, stretch, (9.0,), 3)
    slower = replace(stretch, seconds=(2.5,))
    adapted = replace(fixed, way="auto", plans=((0, "timing e0"), (70, "filtering")), settled=slower)
    table = adaptation.by_way([adapted, fixed])
    assert table.rows[0] == ("p", "auto", "timing e0 → filtering at 70", "50.0", "50.0", "40.0", "80%", "3")
    assert "80% to 80% of the best fixed plan's rate" in adaptation.check([adapted, fixed])


def test_plans_are_described_by_what_they_join() -> None:
    (pattern,) = parse_subgraphs(adaptation.path("p", (0, 1, 2), 10))
    assert adaptation.describe(plan(pattern, "timing")).startswith("timing e")
    assert adaptation.describe(plan(pattern, "sj-tree")).split()[0] in {"single-lazy", "path-lazy"}
    assert adaptation.describe(plan(pattern, "filtering")) == "filtering"


def test_strategies_are_compared_and_drawn(cache: Path, tmp_path: Path) -> None:
    plot, output = tmp_path / "charts.svg", tmp_path / "report.json"
    arguments = ["selectivity", "--edges", "3000", "--size", "3", "--patterns", "2", "--repeats", "1", "--cache", str(cache)]
    ended = RUNNER.invoke(app, [*arguments, "--plot", str(plot), "--output", str(output)])
    assert ended.exit_code == 0, ended.output
    assert "equally many in each of 7 ways" in ended.output
    report = read(output)
    assert {each.way for each in report.of_kind(selectivity.SELECTIVITY)} == {*selectivity.STRATEGIES, *selectivity.OTHERS}
    assert {each.name for each in report.of_kind(CONTRASTS)} > {"stars without an order", "frequent path to a rare edge"}
    texts = {text.text for text in ET.parse(plot).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314 - our own text
    assert {
        "Run time of paths on stream N",
        "Run time of trees on stream M",
        "Relative Selectivity of paths of four edges",
    } <= texts


def test_ways_that_find_different_matches_fail() -> None:
    one = selectivity.SelectivityRun("N", "path", 3, "path3_0", 0.1, "single", (1.0,), 5, 8, 4, 100)
    selectivity.check([one, replace(one, way="path")])
    with pytest.raises(FatalError, match="path finds 6 matches, another way 5"):
        selectivity.check([one, replace(one, way="path", matches=6)])


def test_gains_are_of_an_eager_strategy_over_its_lazy_one() -> None:
    lazy = selectivity.SelectivityRun("N", "path", 3, "path3_0", 0.1, "single-lazy", (1.0,), 5, 2, 0, 100)
    eager = replace(lazy, way="single", cpu_seconds=(3.0,), created=8, peak=7)
    paths = [replace(lazy, way="path"), replace(lazy, way="path-lazy")]
    assert selectivity.gains([eager, lazy, *paths]).rows[0] == (
        "N",
        "single : single-lazy",
        "3.00x, 3.00x",
        "4.00x, 4.00x",
        "7.00x, 7.00x",
        "1.00x, 1.00x",
    )


@pytest.mark.parametrize("workload", [FLOWS, TYPED], ids=lambda workload: workload.name)
@pytest.mark.parametrize("shape", ["path", "tree"])
def test_drawn_patterns_have_paths_that_occur_and_spread_over_selectivities(cache: Path, workload: object, shape: str) -> None:
    assert workload in (FLOWS, TYPED)
    chosen = FLOWS if workload is FLOWS else TYPED
    stream = load(chosen.of_length(3_000), cache)
    known = selectivity.count(stream.batches, stream.symbols)
    group = draw_group(known, shape, 4, 1_000, drawn=30, taken=3, seed=1)
    assert group == draw_group(known, shape, 4, 1_000, drawn=30, taken=3, seed=1)
    assert [len(each.pattern.edges) for each in group] == [4] * len(group)
    assert all(one.expected < other.expected for one, other in pairwise(group))
    assert group[0].expected > 0


def test_trees_are_binary() -> None:
    assert template("path", 3) == ((0, 1), (1, 2), (2, 3))
    assert template("tree", 5) == ((0, 1), (0, 2), (1, 3), (1, 4), (2, 5))


def test_vf2_run_anew_finds_the_same_matches(cache: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.json"
    arguments = ["from-scratch", "--edges", "150", "--window", "40", "--size", "3", "--repeats", "1", "--cache", str(cache)]
    ended = RUNNER.invoke(app, [*arguments, "--output", str(output)])
    assert ended.exit_code == 0, ended.output
    assert "2 patterns, the same sets by match id as VF2 anew" in ended.output
    assert sum(each.matches for each in read(output).of_kind(from_scratch.FROM_SCRATCH)) > 0


def test_vf2_that_finds_other_matches_fails(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_scratch, "vf2_anew", lambda pattern, records: iter(["another"]))
    with pytest.raises(FatalError, match="VF2 anew 1 or others"):
        from_scratch.run(from_scratch.small(100, 40), (3,), 1, cache)


def test_statistics_are_counted_over_every_kind_of_window(cache: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.json"
    arguments = ["statistics", "--workload", "B,T", "--edges", "9000", "--repeats", "2", "--cache", str(cache)]
    ended = RUNNER.invoke(app, [*arguments, "--output", str(output)])
    assert ended.exit_code == 0, ended.output
    runs = read(output).of_kind(counting.COUNTING)
    assert [(each.workload, each.kind) for each in runs] == [(name, kind) for name in "BT" for kind in counting.KINDS]
    assert all(each.edges == 9_000 and each.paths > 100 and len(each.cpu_seconds) == 2 for each in runs)
    with pytest.raises(FatalError, match="everything: 8999 edges counted of 9000"):
        counting.check([replace(runs[0], counted=8_999)])


def test_streams_of_statistics_are_known_ones() -> None:
    ended = RUNNER.invoke(app, ["statistics", "--workload", "Z"])
    assert ended.exit_code == 2
    assert f"'Z' is not one of {', '.join(WORKLOADS)}" in " ".join(ended.output.replace("│", " ").split())
