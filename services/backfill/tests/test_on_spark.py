"""On Spark a backfill finds what `graphtide match` finds, if an executor dies, and if the driver dies and continues later."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from graphtide_backfill.adapters.files import Files
from graphtide_backfill.adapters.named_streams import NamedStreams
from graphtide_backfill.adapters.result_folder import ResultFolder
from graphtide_backfill.adapters.spark_cluster import SparkCluster
from graphtide_backfill.application.backfill import Asked, Backfill
from graphtide_backfill.application.ports import CancelledError
from graphtide_backfill.domain.division import SliceKey
from graphtide_backfill.domain.task import Task
from graphtide_core.errors import FatalError
from graphtide_core.part_key import PartKey
from graphtide_core.time import TimeUnit
from graphtide_native.spec import Limits
from graphtide_query import parse, parse_subgraphs
from graphtide_testing.data import stream_or_stand_in
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.parsing import parse_matched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from graphtide_testing.found import Found

# One worker runs all: a session takes seconds and half a gigabyte.
pytestmark = pytest.mark.timeout(600)
MEMORY = 2 << 30
PATTERNS = """
PATTERN beacon MATCH (v:ip)-[a:http]->(w:ip), (w)-[b:http]->(v) ORDER a < b ON flows WINDOW 1m
PATTERN exfiltration
MATCH (v:ip)-[a:http]->(w:ip), (w)-[b:http]->(v), (v)-[c:tcp]->(s:ip), (s)-[d:tcp]->(v), (v)-[e:tcp]->(s)
WHERE e.bytes > 1000000
ORDER a < b < c < d < e
ON flows WINDOW 10m
"""
LOGINS = """
PATTERN brute_force SEQ(NOT before:failed, f:failed{3,}, s:success) PARTITION BY user SKIP TILL NEXT ON logins WITHIN 10m
PATTERN given_up SEQ(f:failed, s:success) PARTITION BY user ON TIMEOUT ON logins WITHIN 1m
"""
REACHED = """
QUERY reached near(x, y) <- /(:http | :tcp)+/(x, y) AS way. ON flows WINDOW(2s) RETURN way
QUERY asked answer(x, z) <- http(x, y), http+(y, z). ON flows WINDOW(1m) SLIDE(10s)
"""
ACROSS = """
QUERY q CONSTRUCT (u)-[:r]->(w) MATCH (u)-[:http]->(v) ON one WINDOW(10m) MATCH (v)-[:tcp]->(w) ON other WINDOW(10m)
"""
QUESTIONS = """
PATTERN help_chain
MATCH (a:user)-[x:a2q]->(b:user), (b)-[y:a2q]->(c:user), (c)-[z:c2a]->(a)
ORDER x < y < z
ON mathoverflow WINDOW 30d
"""


def run(*command: str) -> None:
    """Call the command line; only success is expected."""
    subprocess.run([sys.executable, "-m", "graphtide", *command], check=True)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkCluster]:
    """A Spark on two cores."""
    cluster = SparkCluster("local[2]", MEMORY, {})
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flows")
    run("generate", "network", "--output", str(folder / "flows.parquet"), "--records", "30000", "--planted", "20")
    (folder / "patterns.gtp").write_text(PATTERNS)
    run("match", str(folder / "patterns.gtp"), str(folder / "flows.parquet"), "--output", str(folder / "live.jsonl"))
    return folder


def live(folder: Path) -> list[Found]:
    return keys_in_json_lines((folder / "live.jsonl").read_bytes())


def on(spark: SparkCluster, task: Task, history: Files, folder: Path, asked: Asked) -> list[Found]:
    return wanted_for(spark, task, history, folder, asked, is_wanted=lambda: True)


def wanted_for(
    spark: SparkCluster, task: Task, history: Files, folder: Path, asked: Asked, *, is_wanted: Callable[[], bool]
) -> list[Found]:
    results = ResultFolder(folder)
    made = Backfill(task, history, spark, results, asked, on_progress=lambda _: None, is_wanted=is_wanted)
    made.run(made.prepare())
    return keys_in_json_lines(b"\n".join(each.record for n in results.finished() for each in results.records(n)))


@pytest.mark.parametrize(("engine", "slice_length"), [("auto", None), ("sj-tree", 3_600_000)])
def test_spark_finds_what_one_pass_finds(
    flows: Path, spark: SparkCluster, tmp_path: Path, engine: str, slice_length: int | None
) -> None:
    task = Task(parse_subgraphs(PATTERNS), engine)
    found = on(spark, task, Files(str(flows / "flows.parquet"), "parquet"), tmp_path, Asked(slice_length=slice_length))
    assert found == live(flows)
    assert found


def test_spark_finds_in_parts_of_a_key_what_one_pass_finds(spark: SparkCluster, tmp_path: Path) -> None:
    history, patterns, output = tmp_path / "logins.parquet", tmp_path / "logins.gtp", tmp_path / "live.jsonl"
    patterns.write_text(LOGINS)
    run("generate", "logins", "--output", str(history), "--records", "20000", "--planted", "20")
    run("match", str(patterns), str(history), "--output", str(output))
    results = ResultFolder(tmp_path / "run")
    made = Backfill(
        Task(parse_matched(LOGINS)), Files(str(history), "parquet"), spark, results, Asked(by=SliceKey(PartKey("user"), 3)),
        on_progress=lambda _: None, is_wanted=lambda: True,
    )  # fmt: skip
    made.run(made.prepare())
    found = [each.record for number in results.finished() for each in results.records(number)]
    assert sorted(found) == sorted(output.read_bytes().splitlines())
    assert found


def test_spark_finds_over_two_streams_what_one_pass_finds(spark: SparkCluster, tmp_path: Path) -> None:
    names = ("one", "other")
    for name in names:
        run("generate", "network", "--output", str(tmp_path / f"{name}.parquet"), "--records", "5000", "--planted", "5")
    (tmp_path / "query.gtp").write_text(ACROSS)
    inputs = [part for name in names for part in ("--input", f"{name}={tmp_path / name}.parquet")]
    run("match", str(tmp_path / "query.gtp"), *inputs, "--output", str(tmp_path / "live.jsonl"))
    history = NamedStreams({name: Files(str(tmp_path / f"{name}.parquet"), "parquet") for name in names})
    results = ResultFolder(tmp_path / "run")
    task = Task(parse(ACROSS), streams=frozenset(names))
    made = Backfill(task, history, spark, results, Asked(), on_progress=lambda _: None, is_wanted=lambda: True)
    made.run(made.prepare())
    found = [each.record for number in results.finished() for each in results.records(number)]
    assert sorted(found) == sorted((tmp_path / "live.jsonl").read_bytes().splitlines())
    assert found


@pytest.mark.slow
def test_spark_finds_of_events_what_one_pass_finds(spark: SparkCluster, tmp_path: Path) -> None:
    history, patterns, output = tmp_path / "logins.parquet", tmp_path / "logins.gtp", tmp_path / "live.jsonl"
    patterns.write_text(LOGINS)
    run("generate", "logins", "--output", str(history), "--records", "20000", "--planted", "20")
    run("match", str(patterns), str(history), "--output", str(output))
    results = ResultFolder(tmp_path / "run")
    task = Task(parse_matched(LOGINS))
    made = Backfill(
        task, Files(str(history), "parquet"), spark, results, Asked(), on_progress=lambda _: None, is_wanted=lambda: True
    )
    totals = made.run(made.prepare())
    found = (each.record for number in results.finished() for each in results.records(number))
    assert sorted(found) == sorted(output.read_bytes().splitlines())
    assert min(totals.matches, totals.timeouts) > 0
    assert totals.slices > 1


def test_spark_finds_of_graph_queries_what_one_pass_finds(flows: Path, spark: SparkCluster, tmp_path: Path) -> None:
    (tmp_path / "queries.gtp").write_text(REACHED)
    run("match", str(tmp_path / "queries.gtp"), str(flows / "flows.parquet"), "--output", str(tmp_path / "live.jsonl"))
    results = ResultFolder(tmp_path / "run")
    history = Files(str(flows / "flows.parquet"), "parquet")
    made = Backfill(Task(parse(REACHED)), history, spark, results, Asked(), on_progress=lambda _: None, is_wanted=lambda: True)
    totals = made.run(made.prepare())
    found = (each.record for number in results.finished() for each in results.records(number))
    assert reports_of(found) == reports_of((tmp_path / "live.jsonl").read_bytes().splitlines())
    assert min(totals.matches, totals.extensions) > 0
    assert totals.slices > 1


def reports_of(records: Iterable[bytes]) -> list[tuple[object, ...]]:
    """Return the reports of results, sorted, without their paths: any of several is right."""
    read = map(json.loads, records)
    return sorted(
        (each["query"], each["detected_at"], each["kind"], each["src"], each["dst"], each["valid"][1], "path" in each)
        for each in read
    )


def test_duplicates_are_found_across_pieces_and_slices(spark: SparkCluster, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    folder.mkdir()
    head = "ts,src,dst,label,id\n"
    # Each insertion of e2 is within a window of the one before: the chain holds at 2 and again at 12, not at 7.
    (folder / "0.csv").write_text(head + "1,a,b,x,e1\n2,b,c,x,e2\n7,b,d,x,e2\n")
    (folder / "1.csv").write_text(head + "11,a,b,x,e3\n12,b,e,x,e2\n")
    (pattern,) = parse_subgraphs("PATTERN chain MATCH (a)-[p]->(b)-[q]->(c) ORDER p < q ON s WINDOW 8")
    asked = Asked(slice_length=3)
    found = on(spark, Task((pattern,)), Files(str(folder), "csv"), tmp_path / "run", asked)
    assert [dict(each.vertices)["c"] for each in found] == ["c", "e"]


def test_a_limit_ends_the_run_with_its_name(flows: Path, spark: SparkCluster, tmp_path: Path) -> None:
    task = Task(parse_subgraphs(PATTERNS), "timing", limits=Limits(1))
    with pytest.raises(FatalError, match="reached its limit of 1 partial match"):
        on(spark, task, Files(str(flows / "flows.parquet"), "parquet"), tmp_path, Asked(unique_ids=True))


def test_a_run_that_is_not_wanted_ends_and_spark_is_there_for_the_next(
    flows: Path, spark: SparkCluster, tmp_path: Path
) -> None:
    task = Task(parse_subgraphs(PATTERNS), "timing")
    history = Files(str(flows / "flows.parquet"), "parquet")
    with pytest.raises(CancelledError):
        wanted_for(spark, task, history, tmp_path, Asked(unique_ids=True), is_wanted=lambda: False)
    assert on(spark, task, history, tmp_path, Asked(unique_ids=True)) == live(flows)


def command_line(flows: Path, output: Path, *more: str) -> list[str]:
    history = str(flows / "flows.parquet")
    where = ["--output", str(output), "--unique-ids", "--executor-memory", "1g"]
    return [sys.executable, "-m", "graphtide", "backfill", str(flows / "patterns.gtp"), history, *where, *more]


def until(folder: Path, slices: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until so many slices are finished."""
    deadline = time.monotonic() + 120
    while len(list(folder.glob("slices/[0-9]*.parquet"))) < slices:
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_run_that_was_ended_continues_from_its_finished_slices(flows: Path, tmp_path: Path, number: int, status: int) -> None:
    run_folder, output = tmp_path / "run", tmp_path / "matches.jsonl"
    more = ["--resume", str(run_folder), "--slice", "5m", "--master", "local[1]"]
    first = subprocess.Popen(command_line(flows, output, *more), start_new_session=True)
    until(run_folder, 3, first)
    first.send_signal(number)
    assert first.wait(60) == status
    kept = {path: path.stat().st_mtime_ns for path in run_folder.glob("slices/[0-9]*.parquet")}
    subprocess.run(command_line(flows, output, *more), check=True)
    assert keys_in_json_lines(output.read_bytes()) == live(flows)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


@pytest.fixture
def standalone() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Spark cluster of a master and two workers, each a process that a test may kill."""
    home = Path(pyspark.__file__).parent
    env = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    spark_class, package = str(home / "bin" / "spark-class"), "org.apache.spark.deploy"
    url = f"spark://127.0.0.1:{17000 + os.getpid() % 1000}"
    address = ["--host", "127.0.0.1"]
    commands = [[f"{package}.master.Master", *address, "--port", url.rpartition(":")[2], "--webui-port", "0"]]
    commands += [[f"{package}.worker.Worker", *address, "--cores", "1", "--memory", "1g", "--webui-port", "0", url]] * 2
    running = []
    for command in commands:
        running.append(subprocess.Popen([spark_class, *command], env=env, start_new_session=True, stderr=subprocess.DEVNULL))
        time.sleep(3)
    yield url, running[1:]
    for process in running:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_executor_that_is_killed_costs_no_match(
    flows: Path, tmp_path: Path, standalone: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    url, workers = standalone
    run_folder, output = tmp_path / "run", tmp_path / "matches.jsonl"
    more = ["--resume", str(run_folder), "--slice", "5m", "--master", url, "--spark", "spark.executor.cores=1"]
    driver = subprocess.Popen(command_line(flows, output, *more), start_new_session=True)
    until(run_folder, 3, driver)
    executors = children(workers[0].pid)
    assert executors
    for executor in executors:
        os.kill(executor, signal.SIGKILL)
    assert driver.wait(300) == 0
    assert keys_in_json_lines(output.read_bytes()) == live(flows)


def children(parent: int) -> list[int]:
    """Return the processes that a process started, and theirs."""
    below = [int(each) for path in Path(f"/proc/{parent}/task").glob("*/children") for each in path.read_text().split()]
    return [*below, *(each for child in below for each in children(child))]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_real_stream_gives_what_one_pass_gives(spark: SparkCluster, tmp_path: Path) -> None:
    path = stream_or_stand_in("mathoverflow.csv.gz")
    (tmp_path / "questions.gtp").write_text(QUESTIONS)
    output = tmp_path / "live.jsonl"
    run("match", str(tmp_path / "questions.gtp"), str(path), "--time-unit", "s", "--output", str(output))
    task = Task(parse_subgraphs(QUESTIONS), "timing", TimeUnit.SECOND)
    found = on(spark, task, Files(str(path), "csv"), tmp_path / "run", Asked())
    assert found == live(tmp_path)
    assert found


@pytest.mark.parametrize("report", ["INSTANCES", "CHANGES"])
def test_spark_reports_of_components_in_one_slice_what_one_pass_reports(
    flows: Path, spark: SparkCluster, tmp_path: Path, report: str
) -> None:
    text = (
        f"PATTERN parts MATCH (v:ip)-[a:http]->(w:ip), (w)-[b:tcp]->(u:ip) UNDER DUAL SIMULATION REPORT {report} "
        "ON flows WINDOW 2s"
    )
    (tmp_path / "parts.gtp").write_text(text)
    run("match", str(tmp_path / "parts.gtp"), str(flows / "flows.parquet"), "--output", str(tmp_path / "live.jsonl"))
    results, history = ResultFolder(tmp_path / "run"), Files(str(flows / "flows.parquet"), "parquet")
    task = Task(parse_subgraphs(text))
    made = Backfill(task, history, spark, results, Asked(), on_progress=lambda _: None, is_wanted=lambda: True)
    totals = made.run(made.prepare())
    found = [each.record for number in results.finished() for each in results.records(number)]
    assert sorted(found) == sorted((tmp_path / "live.jsonl").read_bytes().splitlines())
    assert totals.slices == 1
    kinds = {json.loads(line)["kind"] for line in found}
    assert kinds == ({"match", "retract"} if report == "CHANGES" else {"match"})
