"""The experiments of dual simulation are the paper's, every way finds the same, and the planner chooses what is least work."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide.readers import ReaderOptions
from graphtide.readers.memory import from_edges
from graphtide_bench.cli import app
from graphtide_bench.frame.report import read
from graphtide_bench.planning.selectivity import count
from graphtide_bench.simulation import queries, tables
from graphtide_bench.simulation import runs as measure
from graphtide_bench.simulation.experiments import BY_NAME, EXPERIMENTS, STREAMS, edges_of
from graphtide_bench.simulation.runs import SimulationRun
from graphtide_bench.simulation.weights import fit
from graphtide_core.errors import FatalError
from graphtide_core.plans import BaselinePlan, ColoringPlan, SignaturePlan
from graphtide_query import parse_subgraphs
from graphtide_query.families.simulation.baseline import TAKE
from graphtide_query.families.simulation.coloring import COLOR
from graphtide_query.families.simulation.costs import LOOK
from graphtide_query.families.simulation.signature import SIGN
from graphtide_query.planner import plan
from graphtide_testing.oracles.simulation import SimulationOracle
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

RUN = SimulationRun(
    experiment="10",
    value="24",
    at=24.0,
    query="community_4",
    query_edges=4,
    way="baseline",
    window_edges=500,
    held=50,
    edges=10_000,
    seconds=(0.02, 0.01, 0.04),
    probed_seconds=0.04,
    verifying_seconds=0.03,
    matches=7,
    taken=1_000,
    whole_ends=0,
    signature_checks=0,
    signature_passed=0,
    signature_false=0,
    verified=1_000,
    fixpoints=1_000,
    steps=2_000_000,
    verifying_steps=1_500_000,
    stretches=(200.0, 200.0),
)


@pytest.mark.parametrize(
    ("text", "edges", "vertices"),
    [
        *((queries.road(edges, "5m"), edges, edges + 1) for edges in (3, 5, 11)),
        (queries.community(4, "1h"), 4, 3),
        (queries.community(8, "1h"), 8, 4),
        (queries.community(20, "1h"), 20, 9),
        (queries.urgent(8, "1h"), 8, 3),
        (queries.star(3, "1d"), 3, 4),
        *((queries.tree(fan_out, "1d"), fan_out + fan_out**2, 1 + fan_out + fan_out**2) for fan_out in range(1, 6)),
        (queries.influence(3, 2, "1h"), 9, 10),
        (queries.influence(8, 4, "1h"), 40, 41),
    ],
)
def test_queries_have_the_sizes_of_the_paper(text: str, edges: int, vertices: int) -> None:
    (pattern,) = parse_subgraphs(text)
    assert (len(pattern.edges), len(pattern.vertices)) == (edges, vertices)
    assert pattern.morphism.family == "simulation"


def test_the_road_has_the_order_of_figure_1() -> None:
    (pattern,) = parse_subgraphs(queries.road(5, "5m"))
    assert set(pattern.order.before) >= {("ab", "l_0"), ("l_0", "l_1"), ("ab", "r_0"), ("r_0", "r_1")}


def test_figures_9_to_20_are_there_and_each_value_has_its_query() -> None:
    assert [each.name for each in EXPERIMENTS if each.name.isdecimal()] == [str(number) for number in range(9, 21)]
    for each in EXPERIMENTS:
        assert each.stream in STREAMS
        assert len({case.at for case in each.cases}) == len(each.cases) > 1
        assert all(parse_subgraphs(case.text) for case in each.cases)


def test_every_way_finds_the_same_and_what_it_did_adds_up(tmp_path: Path) -> None:
    output, plot = tmp_path / "report.json", tmp_path / "charts.svg"
    arguments = ["simulation", "--experiment", "10,12,15", "--records", "6000", "--repeats", "1", "--patience", "0.05"]
    ended = CliRunner().invoke(app, [*arguments, "--output", str(output), "--plot", str(plot)])
    assert ended.exit_code == 0, ended.output
    assert "Matches checked: 14 cases" in ended.output
    runs = read(output).of_kind(tables.SIMULATION)
    assert {each.way for each in runs} == {
        "baseline",
        "signature",
        "coloring",
        "signature, recomputed",
        "coloring, recomputed",
    }
    for each in runs:
        assert each.verifying_steps <= each.steps
        assert each.verified <= each.taken <= each.edges
        assert each.signature_false <= each.signature_passed <= each.signature_checks <= each.taken
        assert (each.signature_checks > 0) == each.way.startswith("signature")
        assert 0 <= each.verifying <= 1
    texts = {text.text for text in ET.parse(plot).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314 - our own text
    assert {"Figure 10: Window, Phone", "Figure 15: Edges, Twitter: filter and verification"} <= texts


def test_the_matches_are_the_oracles() -> None:
    chosen = replace(BY_NAME["rush"], cases=BY_NAME["rush"].cases[:1])
    (first, *_) = chosen.cases
    runs = measure.run([chosen], records=700, repeats=1, patience=9.0)
    (pattern,) = parse_subgraphs(first.text)
    oracle = SimulationOracle(pattern)
    # What the pattern does not ask for would only take the oracle's time.
    reported = [len(oracle.push(edge)) if edge.label == "bad" else 0 for edge in edges_of("rush", 700)]
    assert {each.matches for each in runs} == {sum(reported[runs[0].window_edges :])}
    assert runs[0].matches > 0


def test_ways_that_find_different_matches_fail() -> None:
    assert measure._compare(((0, 64), (0, 3)), ((0, 64, 192), (0, 3, 5)), "p") == ((0, 64, 192), (0, 3, 5))  # noqa: SLF001
    with pytest.raises(FatalError, match="p: "):
        measure._compare(((0, 64), (0, 3)), ((0, 64, 192), (0, 4, 5)), "p")  # noqa: SLF001


def test_a_row_says_what_a_way_did() -> None:
    signature = replace(
        RUN, way="signature", seconds=(0.001,), signature_checks=100, signature_passed=50, signature_false=10, verified=50
    )
    (table,) = tables.by_experiment([RUN, signature])
    assert table.title == "Figure 10. Window, Phone"
    assert table.rows[0][:9] == ("24", "500", "baseline", "500K", "150%", "1.00x", "7.0", "75%", "10%")
    assert table.rows[1][3:6] == ("10.0M", "0%", "20.0x")
    assert table.rows[1][10:12] == ("0.50%, 0.10%", "0.50%")


def test_weights_are_the_medians_of_what_was_measured() -> None:
    fits = {each.name: each for each in fit([RUN, replace(RUN, way="coloring", verifying_seconds=0.01)])}
    # Of 2 us a record, 1.5 us are for 150 steps; then 0.5 us, and what is left is for each tenth record.
    assert fits["LOOK"].fitted == pytest.approx(20 / 3)
    assert fits["COLOR"].fitted == pytest.approx(15_000)
    assert set(fits) == {"LOOK", "COLOR"}


@pytest.mark.parametrize(
    ("experiment", "place", "best"),
    [
        ("10", 0, "ddst-signature"),
        ("17", 3, "ddst-signature"),
        ("14", 0, "ddst-coloring"),
        ("14", 2, "ddst-coloring"),
    ],
)
def test_the_planner_chooses_what_is_least_work_in_clear_cases(experiment: str, place: int, best: str) -> None:
    chosen = BY_NAME[experiment]
    case = chosen.cases[place]
    edges = edges_of(chosen.stream, 20_000)
    runs = measure.run([replace(chosen, cases=(case,))], records=20_000, repeats=1, patience=0.2)
    work = {f"ddst-{each.way}": _work(each) for each in runs}
    assert min(work, key=work.__getitem__) == best
    options = ReaderOptions()
    batches = tuple(from_edges(edges, options).batches())
    (pattern,) = parse_subgraphs(case.text)
    assert plan(pattern, "auto", statistics=count(batches, options.symbols)).engine == best


def _work(run: SimulationRun) -> float:
    """Return what the counted work of a run takes by the planner's weights, for each record."""
    each = {"coloring": COLOR, "signature": SIGN, "baseline": TAKE}[run.way]
    return (run.taken * each + run.verifying_steps * LOOK) / run.edges


def test_no_engine_is_estimated_cheaper_than_taking_its_edges() -> None:
    options = ReaderOptions()
    batches = tuple(from_edges(edges_of("calls", 5_000), options).batches())
    (pattern,) = parse_subgraphs(queries.community(8, "48h"))
    considered = plan(pattern, "auto", statistics=count(batches, options.symbols)).considered
    assert {type(each.physical) for each in considered} == {BaselinePlan, SignaturePlan, ColoringPlan}
    assert all(each.nanoseconds > 0 for each in considered)
