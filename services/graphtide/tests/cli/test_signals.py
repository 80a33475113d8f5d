"""SIGINT and SIGTERM: every verb ends with the status of its signal, and a start shows no traceback."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from graphtide.cli.signals import Ending, InterruptedBySignal, status_of_interrupt
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BOTH = pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])

PAUSED = """
import os, sys, time
from importlib.abc import MetaPathFinder

class Paused(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == paused:
            os.write(1, b"importing")
            # In short sleeps: a signal just before a sleep waits for its end.
            for _ in range(6000):
                time.sleep(0.01)

paused = sys.argv[1]
sys.meta_path.insert(0, Paused())
sys.argv = ["graphtide", "match", os.devnull, os.devnull]
from graphtide.__main__ import main
main()
"""
"""The program, which stops for long where it imports a module."""

UNHEARD = """
import signal, sys, threading, time
from graphtide.cli.signals import end_at_once, starting, status_of_interrupt
from graphtide.readers.source import open_source

end_at_once()
with starting():
    pass
# Another thread takes the signals, so none ends a read of this one.
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
source = open_source(sys.argv[1])
try:
    print("reading", flush=True)
    for block in source.blocks(100):
        pass
except KeyboardInterrupt as signalled:
    print("ended with", status_of_interrupt(signalled), flush=True)
"""
"""A program that reads while a signal comes of which its read does not hear, as if it came just before the read."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "p.gtp").write_text("PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10\n")
    return tmp_path


@contextmanager
def start(*line: object, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run Python with a line of arguments; it ends with the test."""
    process = subprocess.Popen(
        [sys.executable, *map(str, line)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def end(process: subprocess.Popen[bytes], number: int) -> tuple[int, str]:
    """Send a signal; return the status and what was said."""
    process.send_signal(number)
    # A command that waits for input keeps waiting: it stays open.
    assert process.stderr is not None
    status = process.wait(60)
    return status, process.stderr.read().decode()


@BOTH
def test_match_reports_which_signal_ended_it_and_writes_what_it_has(files: Path, number: int, status: int) -> None:
    with start("-m", "graphtide", "match", files / "p.gtp", "-", "--summary", files / "summary.json") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        edges = [{"ts": 1, "src": "a", "dst": "b", "label": "pays"}, {"ts": 2, "src": "b", "dst": "c", "label": "pays"}]
        process.stdin.write("".join(json.dumps(edge) + "\n" for edge in edges).encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["edges"] == {"x": "0", "y": "1"}
        assert end(process, number) == (status, "graphtide: interrupted: 2 records, 1 match\n")
    summary = json.loads((files / "summary.json").read_text())
    assert (summary["outcome"], summary["matches"]) == ("interrupted", 1)


@BOTH
@pytest.mark.parametrize("is_named", [False, True])
def test_a_signal_just_before_a_read_ends_it(tmp_path: Path, number: int, status: int, *, is_named: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    holder = os.open(pipe, os.O_RDWR)
    try:
        os.write(holder, b"ts,src,dst,label\n")
        with start("-c", UNHEARD, pipe if is_named else "-") as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"reading\n"
            process.send_signal(number)
            assert process.stdout.readline() == b"ended with %d\n" % status
    finally:
        os.close(holder)


@BOTH
def test_a_verb_that_waits_for_a_server_ends(number: int, status: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with start("-m", "graphtide", "wait", "p", "--server", url) as process:
            connection, _ = server.accept()
            # The server takes a request and never answers.
            with connection:
                connection.settimeout(60)
                assert connection.recv(1)
                assert end(process, number) == (status, "graphtide: interrupted: waiting for p\n")


@BOTH
@pytest.mark.parametrize(
    ("verb", "words"),
    [
        (("statistics", "-"), ": counting"),
        (("validate", "P", "--stream", "-"), ""),
        (("explain", "P", "--analyze", "-"), ": 0 records, 0 matches"),
        (("streams", "check", "S", "-"), ": reading"),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_a_verb_that_reads_ends(files: Path, verb: tuple[str, ...], words: str, number: int, status: int) -> None:
    (files / "s.gts").write_text("STREAM s EDGE (src)-[pays]->(dst) AT ts")
    given = {"P": files / "p.gtp", "S": files / "s.gts"}
    with start("-m", "graphtide", *(given.get(each, each) for each in verb)) as process:
        wait_until(lambda: is_reading(process.pid), 60)
        code, said = end(process, number)
    assert (code, said) == (status, f"graphtide: interrupted{words}\n")


@BOTH
@pytest.mark.parametrize(
    ("verb", "words"),
    [
        (("generate", "network", "--records", "100000000", "--output", "big.csv"), "generating 100,000,000 records"),
        (("demo", "--records", "100000000"), "generating 100,000,000 flows"),
        (("bench", "many", "--cache", "cache"), ""),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_a_verb_that_computes_ends(tmp_path: Path, verb: tuple[str, ...], words: str, number: int, status: int) -> None:
    pytest.importorskip("graphtide_bench")
    with start("-m", "graphtide", *verb, cwd=tmp_path) as process:
        # The longest start of them takes a third of it.
        wait_until(lambda: cpu_seconds(process.pid) > 4, 200)
        code, said = end(process, number)
    assert code == status
    assert said.startswith(f"graphtide: interrupted: {words}")
    assert said.count("\n") == 1


def cpu_seconds(process: int) -> float:
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@BOTH
def test_a_signal_during_the_start_ends_it_without_a_traceback(number: int, status: int) -> None:
    # It comes while the named module is being imported; the command itself has begun when patterns are parsed.
    for module, words in (("graphtide.cli.app", ""), ("graphtide.cli.match", ""), ("lark", "graphtide: interrupted\n")):
        with start("-c", PAUSED, module) as process:
            assert process.stdout is not None
            assert process.stdout.read(9) == b"importing"
            assert end(process, number) == (status, words)


def test_a_signal_that_the_parent_lets_be_ignored_stays_so(files: Path) -> None:
    def ignores() -> object:
        return signal.signal(signal.SIGINT, signal.SIG_IGN)

    with start("-m", "graphtide", "match", files / "p.gtp", "-", preexec_fn=ignores) as process:
        wait_until(lambda: is_reading(process.pid), 60)
        process.send_signal(signal.SIGINT)
        process.communicate(b"", timeout=60)
        assert process.returncode == 0


def test_signals_are_kept_for_work_that_looks_now_and_then() -> None:
    asked = Event()
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Ending(asked) as ending:
        ending.listen()
        assert not asked.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        assert asked.wait(10)
        assert (ending.number, ending.status) == (signal.SIGTERM, 143)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_the_status_names_the_signal() -> None:
    assert status_of_interrupt(InterruptedBySignal(signal.SIGTERM)) == 143
    assert status_of_interrupt(KeyboardInterrupt()) == 130


def is_reading(process: int) -> bool:
    """Whether a process waits for its standard input."""
    with open(f"/proc/{process}/wchan", encoding="ascii") as waits:
        found = waits.read()
    with open(f"/proc/{process}/syscall", encoding="ascii") as call:
        # The number of `poll`.
        return "poll" in found or call.read().split()[0] == "7"
