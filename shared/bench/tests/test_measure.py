"""Every case is measured and checked, and the summaries of the measurements are right."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide_bench.frame.compare import compare
from graphtide_bench.frame.machine import Machine
from graphtide_bench.frame.report import Report, read
from graphtide_bench.frame.table import Table, rate, ratio, size
from graphtide_bench.subgraphs import known, many, memory, peak
from graphtide_bench.subgraphs import single as subgraph
from graphtide_bench.subgraphs.measurement import Measurement
from graphtide_bench.subgraphs.summary import by_pattern, by_storage, by_stream, by_threads, growth
from graphtide_bench.workloads.cache import csv_file, texts
from graphtide_bench.workloads.passes import SOURCES, load, run_repeatedly
from graphtide_bench.workloads.workload import MANY_LABELS, WORKLOADS
from graphtide_core.errors import FatalError
from graphtide_core.plans import Storage
from graphtide_core.statistics import EdgeType, StatisticsSnapshot, to_json
from graphtide_native.spec import Concurrency
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan

if TYPE_CHECKING:
    from pathlib import Path

SMALL = WORKLOADS["T"].of_length(4_000)

TIMED = Measurement(
    workload="B",
    window=20_000,
    drawn_from=20_000,
    pattern="path4_empty",
    engine="timing",
    variant="ms-dag",
    source="memory",
    threads=1,
    locking=None,
    edges=200_000,
    seconds=(0.02, 0.01, 0.04),
    matches=598,
    peak_partial_matches=5,
    peak_state_bytes=1_500,
)
MACHINE = Machine("a processor", 2, "a system", "3.11", "2026-01-02", 1.0, "0a1b2c3d")


def test_every_case_is_measured_in_every_way_and_all_agree(tmp_path: Path) -> None:
    found = subgraph.run(
        subgraph.RunMatrix(
            workloads=(SMALL,),
            cache=tmp_path,
            storages=tuple(Storage),
            sources=SOURCES,
            concurrency=(Concurrency(), Concurrency(2)),
            pattern=("path4", "star4_total"),
            repeats=2,
        )
    )
    assert {each.pattern for each in found} == {"path4_empty", "path4_partial", "path4_total", "star4_total"}
    ways = {(each.engine, each.variant) for each in found}
    assert {storage for engine, storage in ways if engine == "timing"} == {"independent", "ms-tree", "ms-dag"}
    assert {engine for engine, _ in ways} == set(FAMILIES["isomorphism"].names)
    assert len(found) == 4 * len(ways) * len(SOURCES) * 2
    assert all(len(each.seconds) == 2 and each.edges == 4_000 and each.matches for each in found)
    assert known.check(found).startswith("Matches checked: 4 patterns, 0 of them equal to known counts, 4 equal")


def test_a_stream_that_is_not_the_generated_one_is_refused(tmp_path: Path) -> None:
    path = csv_file(SMALL, tmp_path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(FatalError, match="3999 edges in place of 4000"):
        load(SMALL, tmp_path)


def test_a_count_that_is_not_the_known_one_fails() -> None:
    assert "1 of them equal to known counts" in known.check([TIMED])
    with pytest.raises(FatalError, match="597 matches in place of 598"):
        known.check([replace(TIMED, matches=597)])


def test_ways_that_differ_fail_where_no_count_is_known() -> None:
    unknown = replace(TIMED, drawn_from=123)
    known.check([unknown, replace(unknown, engine="re-search", variant=None)])
    with pytest.raises(FatalError, match=r"re-search, finds 1 matches, timing, ms-dag finds 598"):
        known.check([unknown, replace(unknown, engine="re-search", variant=None, matches=1)])


def test_rates_come_from_the_median_and_the_extremes() -> None:
    assert (TIMED.rate, TIMED.slowest, TIMED.fastest) == pytest.approx((10e6, 5e6, 20e6))
    assert TIMED.spread == pytest.approx(1.5)
    assert TIMED.way == "timing, ms-dag"
    assert replace(TIMED, source="csv", threads=2, locking="all").way == "timing, ms-dag, from csv, 2 threads, locking all"


def test_a_summary_holds_geometric_means() -> None:
    fast = replace(TIMED, pattern="star4_empty", seconds=(0.005,) * 3, peak_state_bytes=2_000)
    total = replace(TIMED, pattern="star4_total", seconds=(0.0025,) * 3)
    assert by_stream([TIMED, fast, total]).rows == (
        ("B", "20,000", "timing, ms-dag", "20.0M", "", "80.0M", "31.7M", "10.0M", "0%", "2.00 KB"),
    )
    assert by_pattern([TIMED]).rows == (
        ("B", "20,000", "path4_empty", "timing, ms-dag", "10.0M", "5.00M..20.0M", "598", "5", "1.50 KB"),
    )


def test_growth_compares_the_same_patterns_in_two_windows() -> None:
    wide = replace(TIMED, window=50_000, seconds=(0.06,))
    (table,) = growth([TIMED, wide])
    assert table.rows == (("B", "20,000 to 50,000", "timing, ms-dag", "3.00x", "", "", "3.00x", "3.00x"),)
    assert growth([TIMED]) == ()


def test_storages_and_threads_stand_beside_each_other() -> None:
    tree = replace(TIMED, variant="ms-tree", peak_state_bytes=3_000)
    assert [row[3:6] for row in by_storage([TIMED, tree]).rows] == [
        ("ms-dag", "1.50 KB", "50%"),
        ("ms-tree", "3.00 KB", "100%"),
    ]
    two = replace(TIMED, threads=2, locking="fine", seconds=(0.01,))
    assert [row[3:8:2] for row in by_threads([TIMED, two]).rows] == [("1", "10.0M", "1.00x"), ("2", "20.0M", "2.00x")]


def test_many_patterns_are_checked_and_compared_with_the_fewest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "MANY_LABELS", MANY_LABELS.of_length(30_000))
    runs = many.run((1, 20), FAMILIES["isomorphism"].names, 1, tmp_path)
    assert [each.patterns for each in runs] == [1, 20] * len(FAMILIES["isomorphism"].names)
    assert all(each.matches >= each.patterns for each in runs)
    assert many.check(runs).startswith("Matches checked")
    assert many.by_number(runs).rows[0][5] == "1.00x"
    with pytest.raises(FatalError, match="engines differ on 20 patterns"):
        many.check([*runs[:-1], replace(runs[-1], matches=999)])
    with pytest.raises(FatalError, match="have only 0 matches"):
        many.check([replace(runs[0], matches=0)])


def test_a_process_of_its_own_says_what_memory_it_took(tmp_path: Path) -> None:
    drawn = texts(SMALL.patterns(1_000), 1_000)
    known = to_json(StatisticsSnapshot(edges=100, vertices=50, types={EdgeType("L0", "E0", "L1"): 40}))
    request = peak.PeakRequest(str(csv_file(SMALL, tmp_path)), drawn["path4_empty"], "timing", Storage.MS_DAG, known)
    ballast = bytearray(200_000_000)
    answer = memory.ask(request)
    assert len(ballast) > answer.before > 10_000_000, "the memory of the process that asks does not count"
    assert answer.after >= answer.before
    stream = load(SMALL, tmp_path)
    (pattern,) = parse_subgraphs(drawn["path4_empty"])
    (run,) = run_repeatedly([plan(pattern, "timing", statistics=StatisticsSnapshot())], stream, 1)
    assert (answer.edges, answer.matches) == (4_000, run.matches)
    with pytest.raises(FatalError, match="no-such-file"):
        memory.ask(replace(request, stream="no-such-file.csv"))


def test_reports_survive_their_files_and_can_be_compared(tmp_path: Path) -> None:
    use = memory.Resident("E", 50_000, "all", "timing", peak.PeakAnswer(80_000_000, 90_000_000, 200_000, 5, 1_000))
    run = many.ManyRun("L", "timing", 10, 200, 3, (0.5, 0.25, 1.0), 12, 4_000, 0.5)
    before = Report("subgraph", MACHINE, "checked", {"patterns": (TIMED,), "resident": (use,), "many": (run,)})
    before.write(tmp_path / "before.json")
    assert read(tmp_path / "before.json") == before
    changed = {"patterns": (replace(TIMED, seconds=(0.01,)),), "many": (replace(run, seconds=(1.0,)),)}
    after = replace(before, results=before.results | changed)
    assert [row[:3] for row in compare(before, after).rows] == [
        ("edges/s, B 20,000 timing, ms-dag", "1", "2.00x"),
        ("peak state, B 20,000 timing, ms-dag", "1", "1.00x"),
        ("memory added, E timing", "1", "1.00x"),
        ("edges/s, many patterns, timing", "1", "0.50x"),
    ]
    assert "| B | 20,000 | path4_empty | timing, ms-dag | 10.0M |" in before.to_markdown()
    with pytest.raises(FatalError, match="no case in common"):
        compare(before, replace(before, results={}))


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), (b"{}", "not a report")])
def test_what_is_no_report_is_refused(content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "report.json").write_bytes(content)
    with pytest.raises(FatalError, match=message):
        read(tmp_path / "report.json")


def test_numbers_have_three_digits() -> None:
    assert [rate(value) for value in (12, 1_234, 99_960, 21_640_000)] == ["12.0", "1.23K", "100K", "21.6M"]
    assert [size(value) for value in (120, 3_456_000)] == ["0.12 KB", "3.46 MB"]
    assert [ratio(value) for value in (0.5, 9.999, 1_234.5)] == ["0.50x", "10.0x", "1,234x"]
    table = Table("Title", ("a", "b"), (("x", "1"),))
    assert table.to_markdown() == "**Title**\n\n| a | b |\n| --- | ---: |\n| x | 1 |\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux measures a peak that counts the parent")
def test_peak_memory_is_of_this_process() -> None:
    assert peak.peak_resident_bytes() > 10_000_000
