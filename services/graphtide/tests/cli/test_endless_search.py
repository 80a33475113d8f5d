"""A search that would never end: it is interrupted at once, bounded on request, and what was found before it is kept."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import graphtide
import pytest
from graphtide import Concurrency, LimitExceededError, Limits, MatchOptions, StreamWarning
from graphtide_testing.waiting import wait_until

CHAIN = "PATTERN chain MATCH (a)-[f:y]->(b)-[g:y]->(c) ON s WINDOW 10m\n"
STAR = "PATTERN star MATCH " + ", ".join(f"(h)-[e{number}:x]->(v{number})" for number in range(1, 9))
ENDLESS = f"{STAR} WHERE e1.ts + e8.ts < 0 ON s WINDOW 10m\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rows = ["1,a,b,y", "2,b,c,y", *(f"{ts},hub,v{ts},x" for ts in range(3, 3_003)), "4000,c,d,y"]
    (tmp_path / "p.gtp").write_text(CHAIN + ENDLESS)
    (tmp_path / "s.csv").write_text("ts,src,dst,label\n" + "\n".join(rows) + "\n")
    return tmp_path / "p.gtp", tmp_path / "s.csv"


@pytest.mark.parametrize(
    "engine",
    [
        ("--engine", "re-search"),
        ("--engine", "filtering"),
        ("--engine", "timing"),
        ("--engine", "timing", "--threads", "2"),
        ("--engine", "sj-tree"),
    ],
    ids=" ".join,
)
def test_an_interrupt_ends_it_at_once(files: tuple[Path, Path], tmp_path: Path, engine: tuple[str, ...]) -> None:
    written = ["--output", tmp_path / "found.jsonl", "--summary", tmp_path / "summary.json"]
    assert interrupt_search("match", *files, *engine, *written) == 130
    found = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [match["edges"] for match in found if match["query"] == "chain"] == [{"f": "0", "g": "1"}]
    assert (summary["outcome"], summary["matches"]) == ("interrupted", len(found))


EVENTS = ", ".join(f"e{number}:x" for number in range(8))


@pytest.mark.parametrize("operator", ["SEQ", "AND"])
def test_an_interrupt_ends_a_search_of_events_at_once(tmp_path: Path, operator: str) -> None:
    # About 4,000^8 / 8! sequences, and no match.
    (tmp_path / "p.gtp").write_text(f"PATTERN p {operator}({EVENTS}) WHERE e0.v + e7.v < 0 ON s WITHIN 10m\n")
    (tmp_path / "s.csv").write_text("ts,type,v\n" + "".join(f"{ts},x,1\n" for ts in range(4_000)))
    status, _, said = end_with_words("match", tmp_path / "p.gtp", tmp_path / "s.csv", "--output", tmp_path / "found.jsonl")
    assert (status, said) == (130, "graphtide: interrupted: 4,000 records, 0 matches\n")


def test_an_interrupt_ends_a_closure_of_paths_at_once(tmp_path: Path) -> None:
    # Each edge of a dense graph closes millions of pairs of vertices anew.
    (tmp_path / "p.gtp").write_text("QUERY reach SELECT u, v MATCH (u)-/p<:x+>/->(v) ON s WINDOW(1h)\n")
    edges = (f"{number},v{number % 3_001},v{number * 7_919 % 3_001},x\n" for number in range(200_000))
    (tmp_path / "s.csv").write_text("ts,src,dst,label\n" + "".join(edges))
    status, _, said = end_with_words("match", tmp_path / "p.gtp", tmp_path / "s.csv", "--output", tmp_path / "found.jsonl")
    assert status == 130
    assert said.startswith("graphtide: interrupted: ")


@pytest.mark.skipif(shutil.which("java") is None, reason="missing: Java, for Spark")
def test_an_interrupt_ends_a_search_on_spark_and_its_workers(files: tuple[Path, Path], tmp_path: Path) -> None:
    written = ["--output", tmp_path / "found.jsonl", "--master", "local[1]"]
    command = [sys.executable, "-m", "graphtide", "backfill", *files, *written]
    process = subprocess.Popen([str(each) for each in command], stderr=subprocess.PIPE, start_new_session=True)
    try:
        # The search itself is in a worker of Spark, which works when the driver waits.
        wait_until(lambda: any(cpu_seconds(each) > 2 * start_seconds() for each in workers(process.pid)), seconds=200)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        wait_until(lambda: not workers(process.pid), seconds=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert b"interrupted: " in said
    assert b"--resume" in said


def workers(session: int) -> list[int]:
    """Return the Python workers of Spark in a session of processes."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"pyspark.daemon" in (each / "cmdline").read_bytes() and os.getsid(int(each.name)) == session:
                found.append(int(each.name))
    return found


def test_an_interrupt_shows_what_was_seen_so_far(files: tuple[Path, Path]) -> None:
    patterns, stream = files
    status, shown = end("explain", patterns, "--engine", "re-search", "--analyze", stream)
    assert status == 130
    assert "chain: engine re-search" in shown
    assert "star: engine re-search" in shown


def test_sigterm_ends_it_as_an_interrupt_does_and_says_which_it_was(files: tuple[Path, Path], tmp_path: Path) -> None:
    written = ["--output", tmp_path / "found.jsonl", "--summary", tmp_path / "summary.json"]
    status, _ = end("match", *files, *written, number=signal.SIGTERM)
    assert status == 143
    assert json.loads((tmp_path / "summary.json").read_text())["outcome"] == "interrupted"
    assert (tmp_path / "found.jsonl").read_text().count("\n") >= 1


def cpu_seconds(process: int) -> float:
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@cache
def start_seconds() -> float:
    """Return the seconds of processor time that the program takes to start, match a record and end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with TemporaryDirectory() as folder:
        pattern, stream = Path(folder) / "p.gtp", Path(folder) / "s.csv"
        pattern.write_text(CHAIN)
        stream.write_text("ts,src,dst,label\n1,a,b,y\n")
        subprocess.run([sys.executable, "-m", "graphtide", "match", pattern, stream], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def interrupt_search(*arguments: object) -> int:
    """Run the program, interrupt it in its search, and return how it ended."""
    return end(*arguments)[0]


def end(*arguments: object, number: int = signal.SIGINT) -> tuple[int, str]:
    """Run the program, send a signal in its search, and return its status and what it wrote."""
    status, shown, _ = end_with_words(*arguments, number=number)
    return status, shown


def end_with_words(*arguments: object, number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Run the program, send a signal in its search, and return its status, what it wrote and what it said."""
    command = [sys.executable, "-m", "graphtide", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        # To start takes less; the search itself takes longer than anyone lives.
        wait_until(lambda: cpu_seconds(process.pid) > 2 * start_seconds(), seconds=100)
        os.kill(process.pid, number)
        shown, errors = process.communicate(timeout=15)
    finally:
        process.kill()
        process.communicate()
    assert b"Traceback" not in errors
    return process.returncode, shown.decode(), errors.decode()


def test_a_bound_on_work_lets_the_others_continue(files: tuple[Path, Path], tmp_path: Path) -> None:
    arguments = ["--engine", "re-search", "--limit-work", "1000", "--on-limit", "pause", "--summary", tmp_path / "summary.json"]
    command = [sys.executable, "-m", "graphtide", "match", *files, *arguments]
    ended = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0
    assert [json.loads(line)["edges"] for line in ended.stdout.splitlines()] == [{"f": "0", "g": "1"}, {"f": "1", "g": "3002"}]
    chain, star = json.loads((tmp_path / "summary.json").read_text())["patterns"]
    assert (chain["paused"], star["paused"]) == (False, True)


def test_it_fails_where_it_is_to_fail(files: tuple[Path, Path]) -> None:
    command = [sys.executable, "-m", "graphtide", "match", *files, "--engine", "filtering", "--limit-work", "1000"]
    ended = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 4
    assert "pattern 'star' reached its limit of 1000 steps of work a record" in ended.stderr


def test_python_bounds_work_too() -> None:
    edges = [{"ts": ts, "src": "hub", "dst": f"v{ts}", "label": "x"} for ts in range(3_000)]
    options = MatchOptions(engine="re-search", limits=Limits(work=1_000, policy="shed"))
    with pytest.warns(StreamWarning, match="its limit of 1000 steps of work .* MatchOptions.limit_work=…. raises it"):
        assert list(graphtide.match(ENDLESS, edges, options)) == []


EXPLODING = "PATTERN fan MATCH " + ", ".join(f"(v{number})-[e{number}:x]->(h)" for number in range(10)) + " ON s WINDOW 10m\n"


@pytest.mark.parametrize("engine", ["timing", "re-search", "filtering", "sj-tree"])
def test_a_record_of_billions_of_matches_is_written_as_it_goes_and_ended_at_once(tmp_path: Path, engine: str) -> None:
    (tmp_path / "p.gtp").write_text(EXPLODING)
    (tmp_path / "s.csv").write_text("ts,src,dst,label\n" + "".join(f"{ts},v{ts},hub,x\n" for ts in range(14)))
    found, summary = tmp_path / "found.jsonl", tmp_path / "summary.json"
    arguments = [tmp_path / "p.gtp", tmp_path / "s.csv", "--engine", engine, "--output", found, "--summary", summary]
    command = [sys.executable, "-m", "graphtide", "match", *map(str, arguments)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        # 400,000 matches, of 3,628,800 that the tenth record completes.
        wait_until(lambda: found.exists() and found.stat().st_size > 100_000_000, seconds=100)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=15)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 143
    with found.open() as lines:
        written = sum(1 for _ in lines)
    emitted = json.loads(summary.read_text())
    assert emitted["outcome"] == "interrupted"
    # A signal within a write leaves it open whether that was done: one piece, of 3,000 lines.
    assert abs(written - emitted["matches"]) < 5_000


@pytest.mark.parametrize("limit", [{"partial_matches": 2_000}, {"state_bytes": 200_000}])
def test_matches_that_wait_in_several_threads_are_under_the_limits(limit: dict[str, int]) -> None:
    fan = "PATTERN fan MATCH " + ", ".join(f"(v{number})-[e{number}:x]->(h)" for number in range(7)) + " ON s WINDOW 10m"
    edges = [{"ts": ts, "src": f"v{ts}", "dst": "hub", "label": "x"} for ts in range(7)]
    # 7! = 5,040 matches, all by the last record.
    whole = MatchOptions(engine="timing", concurrency=Concurrency(2))
    assert len(list(graphtide.match(fan, edges, whole))) == 5_040
    shed = MatchOptions(engine="timing", concurrency=Concurrency(2), limits=Limits(**limit, policy="shed"))
    with pytest.warns(StreamWarning, match="pattern 'fan' gave up .* at its limit of "):
        some = list(graphtide.match(fan, edges, shed))
    assert len(some) < 5_040
    with pytest.raises(LimitExceededError):
        list(graphtide.match(fan, edges, replace(shed, limits=Limits(**limit, policy="fail"))))
