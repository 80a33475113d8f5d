"""What the command line does with what is wrong: each case ends in words and a status, and loses nothing."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10\n"
HEADER = "ts,src,dst,label,amount\n"
ROWS = "1,a,b,pays,5\n2,b,c,pays,6\n"


def graphtide(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphtide", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def run(tmp_path: Path, pattern: str, stream: str | bytes, *arguments: object) -> subprocess.CompletedProcess[str]:
    pattern_file, stream_file = tmp_path / "p.gtp", tmp_path / "s.csv"
    pattern_file.write_text(pattern)
    stream_file.write_bytes(stream.encode() if isinstance(stream, str) else stream)
    return graphtide("match", pattern_file, stream_file, "--summary", tmp_path / "summary.json", *arguments)


def summary(tmp_path: Path) -> dict[str, object]:
    loaded: dict[str, object] = json.loads((tmp_path / "summary.json").read_text())
    return loaded


def test_unknown_attribute_names_its_place_and_the_nearest_column(tmp_path: Path) -> None:
    pattern = GOOD.replace("ORDER", "WHERE x.amonut > 3 ORDER")
    ended = run(tmp_path, pattern, HEADER + ROWS)
    assert ended.returncode == 2
    assert "the stream has no attribute 'amonut'" in ended.stderr
    assert "line 1, column" in ended.stderr
    caret = next(line for line in ended.stderr.splitlines() if line.strip() == "^")
    assert ended.stderr.splitlines()[1][caret.index("^") :].startswith("x.amonut")
    assert "did you mean 'amount'?" in ended.stderr


def test_a_condition_that_holds_without_the_attribute_is_not_an_error(tmp_path: Path) -> None:
    ended = run(tmp_path, GOOD.replace("ORDER", "WHERE x.note IS NULL ORDER"), HEADER + ROWS)
    assert ended.returncode == 0
    assert len(ended.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (GOOD.replace("x < y", "x < y, y < x"), "the order has a cycle: x < y < x"),
        ("PATTERN p MATCH (a)-[x]->(b), (c)-[y]->(d) ON s WINDOW 10", "not connected"),
        (GOOD.replace("WINDOW 10", "WINDOW 0"), "window"),
        ("PATTERN p MATCH (a)-[x->(b) ON s WINDOW 10", "expected"),
        ("", "the text holds no pattern"),
    ],
)
def test_an_invalid_pattern_is_status_2_with_a_caret(tmp_path: Path, pattern: str, said: str) -> None:
    ended = run(tmp_path, pattern, HEADER + ROWS)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_label_never_seen_matches_nothing_and_is_named(tmp_path: Path) -> None:
    ended = run(tmp_path, GOOD.replace("y:pays", "y:payz"), HEADER + ROWS)
    assert ended.returncode == 0
    assert ended.stdout == ""
    assert "no record could be edge 'y'" in ended.stderr
    assert summary(tmp_path)["patterns"][0]["unmatched_edges"] == ["y"]  # type: ignore[index] # plain JSON


def test_malformed_rows_are_rejected_and_the_rest_is_read(tmp_path: Path) -> None:
    rows = "1,a,b,pays,5\nsoon,b,c,pays,6\n1,b\n2,b,c,pays,6\n"
    ended = run(tmp_path, GOOD, HEADER + rows, "--dead-letters", tmp_path / "dead.jsonl")
    assert ended.returncode == 5
    assert [json.loads(line)["vertices"] for line in ended.stdout.splitlines()] == [{"a": "a", "b": "b", "c": "c"}]
    letters = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert [(letter["line"], letter["raw"]) for letter in letters] == [(3, "soon,b,c,pays,6"), (4, "1,b")]
    assert summary(tmp_path)["dead_letters"] == 2


def test_a_negative_timestamp_is_an_instant_before_the_epoch(tmp_path: Path) -> None:
    ended = run(tmp_path, GOOD, HEADER + "-5,a,b,pays,5\n-4,b,c,pays,6\n")
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["first_ts"] == -5


def test_records_later_than_the_lateness_are_rejected_and_others_put_in_order(tmp_path: Path) -> None:
    rows = "10,a,b,pays,5\n12,x,y,pays,1\n11,b,c,pays,6\n2,c,d,pays,7\n"
    ended = run(tmp_path, GOOD, HEADER + rows, "--lateness", "3", "--dead-letters", tmp_path / "dead.jsonl")
    assert [json.loads(line)["edges"] for line in ended.stdout.splitlines()] == [{"x": "0", "y": "2"}]
    letter = json.loads((tmp_path / "dead.jsonl").read_text())
    assert (letter["line"], letter["raw"]) == (5, "2,c,d,pays,7")


@pytest.mark.parametrize("rows", [1, 200_000])
@pytest.mark.parametrize("header", ["ts,src,dst,label", '"ts",src,dst,label'])
def test_lines_that_end_in_carriage_returns_are_refused_however_many_there_are(tmp_path: Path, header: str, rows: int) -> None:
    ended = run(tmp_path, GOOD, "\r".join([header, *["1,a,b,pays"] * rows]))
    assert ended.returncode == 3
    assert "its lines end in carriage returns alone" in ended.stderr


MEASURED = """
import resource, subprocess, sys
ended = subprocess.run([sys.executable, "-m", "graphtide", *sys.argv[1:]], capture_output=True, text=True)
print(ended.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, ended.stderr, sep="|")
"""


def mebibytes(tmp_path: Path, stream: Path, status: int, said: str) -> int:
    """Run a match that ends so; return its greatest resident memory."""
    (tmp_path / "p.gtp").write_text(GOOD)
    letters = tmp_path / "dead.jsonl"
    command = [sys.executable, "-c", MEASURED, "match", str(tmp_path / "p.gtp"), str(stream), "--dead-letters", str(letters)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found, most, errors = ended.strip().split("|", 2)
    assert (found, errors.splitlines()[0]) == (str(status), f"graphtide: {said}; they are in {letters}")
    return int(most)


def test_memory_does_not_grow_with_bad_records(tmp_path: Path) -> None:
    few, many = tmp_path / "few.csv", tmp_path / "many.csv"
    few.write_text(HEADER + "a,\n" * 500_000)
    many.write_text(HEADER + "a,\n" * 2_000_000)

    first = "the first at line 2 (expected 5 fields, found 2)"
    of_many = mebibytes(tmp_path, many, 3, f"2,000,000 of 2,000,000 records were rejected, {first}")
    assert of_many < mebibytes(tmp_path, few, 3, f"500,000 of 500,000 records were rejected, {first}") + 80
    assert (tmp_path / "dead.jsonl").read_bytes().count(b"\n") == 500_000


def test_a_field_without_an_end_is_rejected_with_its_beginning_and_what_follows_is_read(tmp_path: Path) -> None:
    stream = tmp_path / "s.csv"
    with stream.open("w") as file:
        file.write(HEADER + '1,a,b,pays,"')
        for _ in range(300):
            file.write("x" * (1 << 20))
        file.write('"\n2,a,b,pays,5\n')

    # A record has a bound of 16 MiB, and there are a few copies of its beginning at once.
    said = (
        "1 of 2 records was rejected, the first at line 2 (the record is longer than 16777216 bytes; its first 65536 are kept)"
    )
    assert mebibytes(tmp_path, stream, 5, said) < 350

    (letter,) = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert (letter["line"], letter["raw"][:20], len(letter["raw"])) == (2, '1,a,b,pays,"xxxxxxxx', 64 << 10)
    assert letter["reason"] == "the record is longer than 16777216 bytes; its first 65536 are kept"


def test_letters_are_there_while_the_stream_continues(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text(GOOD)
    letters = tmp_path / "dead.jsonl"
    command = [sys.executable, "-m", "graphtide", "match", str(tmp_path / "p.gtp"), "-", "--dead-letters", str(letters)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(b"nothing\n")
            process.stdin.flush()

            wait_until(lambda: letters.exists() and letters.read_text().endswith("\n"), 60)

            assert json.loads(letters.read_text())["raw"] == "nothing"
        finally:
            process.kill()


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01\x01" + bytes(200), b"{}\n", b"", b"a,b,c\n1,2,3\n", b"\x00" * 5000])
def test_a_file_that_is_not_csv_is_status_3(tmp_path: Path, content: bytes) -> None:
    ended = run(tmp_path, GOOD, content)
    assert ended.returncode == 3, ended.stderr
    assert ended.stderr.startswith("graphtide: ")
    assert "Traceback" not in ended.stderr


def test_a_missing_file_is_status_3(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text(GOOD)
    ended = graphtide("match", tmp_path / "p.gtp", tmp_path / "none.csv")
    assert ended.returncode == 3
    assert "none.csv" in ended.stderr


def test_a_truncated_gzip_gives_what_it_held_then_status_3(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = "".join(f"{ts},v{rng.random()},w{rng.random()},pays,1\n" for ts in range(3, 20_000))
    packed = gzip.compress((HEADER + ROWS + rows).encode())
    (tmp_path / "p.gtp").write_text(GOOD)
    (tmp_path / "s.csv.gz").write_bytes(packed[: len(packed) // 2])
    ended = graphtide("match", tmp_path / "p.gtp", tmp_path / "s.csv.gz", "--summary", tmp_path / "summary.json")
    assert ended.returncode == 3
    assert len(ended.stdout.splitlines()) == 1
    assert summary(tmp_path)["outcome"] == "unreadable"


@pytest.mark.parametrize(("policy", "status"), [("fail", 4), ("pause", 0), ("shed", 0)])
def test_at_a_limit_the_policy_decides(tmp_path: Path, policy: str, status: int) -> None:
    fans = "".join(f"{ts},a{ts},b,pays,1\n" for ts in range(1, 9)) + "9,b,c,pays,1\n"
    arguments = ("--engine", "timing", "--limit-partial-matches", "5", "--on-limit", policy)
    ended = run(tmp_path, GOOD.replace("WINDOW 10", "WINDOW 100"), HEADER + fans, *arguments)
    assert ended.returncode == status, ended.stderr
    matches = [json.loads(line) for line in ended.stdout.splitlines()]
    if policy == "fail":
        assert "limit of 5 partial matches" in ended.stderr
        assert summary(tmp_path)["outcome"] == "limit reached"
    elif policy == "pause":
        assert matches == []
        assert summary(tmp_path)["patterns"][0]["paused"] is True  # type: ignore[index] # plain JSON
    else:
        assert 0 < len(matches) <= 5
        assert {match["completeness"] for match in matches} == {"SHED"}


def test_a_reader_that_goes_away_ends_the_run_quietly(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text("PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 10")
    (tmp_path / "s.csv").write_text(HEADER + "".join(f"{ts},a,b,pays,1\n" for ts in range(100_000)))
    arguments = ["match", tmp_path / "p.gtp", tmp_path / "s.csv", "--summary", tmp_path / "summary.json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "graphtide", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b'{"match_id"')
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert errors == b""
    assert summary(tmp_path)["outcome"] == "output closed"


def test_an_interrupt_flushes_matches_and_writes_the_summary(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text(GOOD)
    arguments = ["match", tmp_path / "p.gtp", "-", "--summary", tmp_path / "summary.json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "graphtide", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    lines = [{"ts": 1, "src": "a", "dst": "b", "label": "pays"}, {"ts": 2, "src": "b", "dst": "c", "label": "pays"}]
    process.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    process.stdin.flush()
    # The match comes while the stream is still open: nothing waits for more input.
    assert json.loads(process.stdout.readline())["edges"] == {"x": "0", "y": "1"}
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 130
    assert b"Traceback" not in process.stderr.read()
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()
    assert summary(tmp_path) | {"outcome": "interrupted", "records": 2, "matches": 1} == summary(tmp_path)


def test_a_full_disk_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text(GOOD)
    (tmp_path / "s.csv").write_text(HEADER + ROWS)
    ended = graphtide("match", tmp_path / "p.gtp", tmp_path / "s.csv", "--output", "/dev/full")
    assert ended.returncode == 1
    assert "/dev/full cannot be written: No space left on device" in ended.stderr


@pytest.mark.parametrize("arguments", [("match",), ("match", "--nonsense"), ("explain", "x", "--format", "xml"), ("nonsense",)])
def test_a_wrong_call_is_answered_with_how_to_call(arguments: tuple[str, ...]) -> None:
    ended = graphtide(*arguments)
    assert ended.returncode in (1, 2)
    assert "Traceback" not in ended.stderr


def test_analyzing_what_cannot_be_read_or_matched_says_so(tmp_path: Path) -> None:
    pattern_file, stream_file = tmp_path / "p.gtp", tmp_path / "s.csv"
    pattern_file.write_text(GOOD.replace("ORDER", "WHERE x.amonut > 3 ORDER"))
    stream_file.write_text(HEADER + ROWS)
    unknown = graphtide("explain", pattern_file, "--analyze", stream_file)
    missing = graphtide("explain", pattern_file, "--analyze", tmp_path / "none.csv")
    assert (unknown.returncode, missing.returncode) == (2, 3)
    assert "the stream has no attribute 'amonut'" in unknown.stderr
    assert any(line.strip() == "^" for line in unknown.stderr.splitlines())
    assert "no such file" in missing.stderr
    assert "Traceback" not in unknown.stderr + missing.stderr


@pytest.mark.parametrize("arguments", [(), ("--max-ahead", "1h")])
def test_a_file_may_hold_any_time_unless_it_is_bounded(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    letters = tmp_path / "letters.jsonl"
    ended = run(tmp_path, GOOD, HEADER + ROWS + f"{2**63 - 1},c,d,pays,7\n", *arguments, "--dead-letters", letters)
    assert ended.returncode == (5 if arguments else 0)
    assert len(ended.stdout.splitlines()) == 1
    found = [json.loads(line) for line in letters.read_text().splitlines()] if letters.exists() else []
    assert [each["line"] for each in found] == ([4] if arguments else [])
    assert all("is in the future" in each["reason"] for each in found)


def test_a_query_over_several_streams_is_refused_of_history(tmp_path: Path) -> None:
    query, stream = tmp_path / "q.gtp", tmp_path / "s.csv"
    query.write_text("CONSTRUCT (u)-[:r]->(w)\nMATCH (u)-[:a]->(v) ON s WINDOW(9)\nMATCH (v)-[:b]->(w) ON t WINDOW(9)\n")
    stream.write_text(HEADER + ROWS)
    ended = graphtide("backfill", query, stream, "--from", "0", "--to", "10", "--output", tmp_path / "out.parquet")
    assert ended.returncode == 2
    assert "history is of one stream, and query 'r' reads 2: s, t; give the history of each by --input" in ended.stderr
