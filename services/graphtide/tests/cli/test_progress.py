"""Progress is shown on a terminal: on standard error alone, never by a quiet command, and with the share that is done."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from graphtide.cli.app import app
from graphtide.cli.progress import ProgressBar
from graphtide_testing.waiting import wait_until
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10\n"
FIRST = {"ts": 1, "src": "a", "dst": "b", "label": "pays"}
SECOND = {"ts": 2, "src": "b", "dst": "c", "label": "pays"}


class Terminal:
    """A terminal of a process, and what the process wrote to it."""

    def __init__(self) -> None:
        self._own, self.end = pty.openpty()
        self._parts: list[bytes] = []
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self._own, 65_536)
            except OSError:
                return
            if not part:
                return
            self._parts.append(part)

    @property
    def shown(self) -> str:
        return b"".join(self._parts).decode()

    def close(self) -> None:
        """End; all that was written is read."""
        os.close(self.end)
        self._reader.join(60)
        os.close(self._own)


@contextmanager
def on_terminal(*arguments: object, both: bool = False) -> Iterator[tuple[subprocess.Popen[bytes], Terminal]]:
    """Run the program with standard error, or both outputs, at a terminal."""
    terminal = Terminal()
    process = subprocess.Popen(
        [sys.executable, "-m", "graphtide", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=terminal.end if both else subprocess.PIPE,
        stderr=terminal.end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "160"},
    )
    try:
        yield process, terminal
    finally:
        process.kill()
        process.communicate()
        terminal.close()


def send(process: subprocess.Popen[bytes], *edges: dict[str, object]) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(json.dumps(edge) + "\n" for edge in edges).encode())
    process.stdin.flush()


@pytest.fixture
def patterns(tmp_path: Path) -> Path:
    (tmp_path / "p.gtp").write_text(PATTERN)
    return tmp_path / "p.gtp"


VERBS = [("match", "P", "-"), ("statistics", "-"), ("explain", "P", "--analyze", "-")]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_run_shows_records_and_rate_on_standard_error_and_results_on_standard_output(
    patterns: Path, verb: tuple[str, ...]
) -> None:
    with on_terminal(*(patterns if each == "P" else each for each in verb)) as (process, terminal):
        send(process, FIRST, SECOND)
        wait_until(lambda: "2 records" in terminal.shown, 120)
        assert "/s" in terminal.shown
        written, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert written
    assert b"\x1b" not in written
    assert b"records," not in written


@pytest.mark.parametrize("quiet", ["-q", "--quiet"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_quiet_command_shows_no_progress_and_no_notes(patterns: Path, quiet: str, *, is_first: bool) -> None:
    line = ("match", patterns, "-", "--limit-work", "100")
    # A bar would appear after a second, and a note when the stream has ended.
    with on_terminal(*((quiet, *line) if is_first else (*line, quiet))) as (process, terminal):
        assert process.stdout is not None
        send(process, FIRST, SECOND)
        assert json.loads(process.stdout.readline())["edges"] == {"x": "0", "y": "1"}
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert terminal.shown == ""


def test_no_bar_is_drawn_among_results_on_the_same_terminal(patterns: Path) -> None:
    with on_terminal("match", patterns, "-", both=True) as (process, terminal):
        send(process, FIRST, SECOND)
        wait_until(lambda: "match_id" in terminal.shown, 120)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
        process.communicate(timeout=60)
        wait_until(lambda: terminal.shown.endswith("\n"), 60)
    assert "\x1b" not in terminal.shown


def test_without_a_terminal_nothing_is_shown(patterns: Path) -> None:
    command = [sys.executable, "-m", "graphtide", "match", patterns, "-"]
    with subprocess.Popen(
        [str(each) for each in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        send(process, FIRST, SECOND)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(4)
        _, said = process.communicate(timeout=60)
    assert said == b""


def test_an_interrupt_takes_the_bar_away_and_says_what_was_done(patterns: Path) -> None:
    with on_terminal("match", patterns, "-") as (process, terminal):
        send(process, FIRST, SECOND)
        wait_until(lambda: "2 records" in terminal.shown, 120)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        wait_until(lambda: terminal.shown.endswith("graphtide: interrupted: 2 records, 1 match\r\n"), 60)
    # The cursor is seen at the end.
    assert terminal.shown.rindex("\x1b[?25h") > terminal.shown.rfind("\x1b[?25l")


def test_notes_are_said_unless_the_command_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text(PATTERN.replace("y:pays", "y:refunds"))
    (tmp_path / "s.csv").write_text("ts,src,dst,label\n1,a,b,pays\nsoon,a,b,pays\n3,a,b,pays\n")
    line = ["match", str(tmp_path / "p.gtp"), str(tmp_path / "s.csv"), "--max-rejected", "50%"]
    said, quiet = CliRunner().invoke(app, line), CliRunner().invoke(app, [*line, "-q"])
    assert (said.exit_code, quiet.exit_code) == (0, 0)
    assert "note: " in said.stderr
    assert "note: " not in quiet.stderr
    # What was lost is said all the same, and errors are.
    assert "1 of 3 records was rejected" in quiet.stderr
    refused = CliRunner().invoke(app, ["-q", "match", str(tmp_path / "p.gtp"), str(tmp_path / "s.csv"), "--engine", "none"])
    assert refused.exit_code == 2
    assert "'none' is not one of" in refused.stderr
    # The next command of the process is not quiet.
    assert "note: " in CliRunner().invoke(app, line).stderr


def test_the_share_and_the_time_left_are_shown_where_the_total_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", os.fdopen(os.dup(terminal.end), "w"))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")
    with ProgressBar("matching") as bar:

        def is_shown(words: str) -> bool:
            bar.update({"records": 1_000, "matches": 1}, 25_000_000, 100_000_000)
            return words in terminal.shown

        wait_until(lambda: is_shown("matching"), 60)
        wait_until(lambda: is_shown("25% of 100 MB, 1,000 records, "), 60)
        wait_until(lambda: is_shown("1 match, "), 60)
        wait_until(lambda: is_shown(" left"), 60)
    sys.stderr.close()
    terminal.close()


def test_an_interrupt_keeps_what_was_done() -> None:
    def wait() -> None:
        with ProgressBar("starting") as bar:
            bar.describe("waiting for p")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as ended:
        wait()
    assert ended.value.__notes__ == ["waiting for p"]
