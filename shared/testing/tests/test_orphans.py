"""No process outlives a test run, however the run ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from graphtide_testing.orphans import VARIABLE
from graphtide_testing.waiting import wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="environments of processes cannot be read")

TESTS = """
import os, signal, subprocess, sys, time

def start(folder):
    # In a session of its own, as servers are, and of no parent.
    shell = "(setsid sleep 600 & echo $! > started); sleep 600"
    subprocess.Popen(["sh", "-c", shell], cwd=folder, start_new_session=True)
    while not (folder / "started").exists() or not (folder / "started").read_text().strip():
        time.sleep(0.01)

def test_that_ends(tmp_path_factory):
    start(tmp_path_factory.getbasetemp().parent)

def test_that_hangs(tmp_path_factory):
    start(tmp_path_factory.getbasetemp().parent)
    time.sleep(600)

def test_that_is_killed(tmp_path_factory):
    start(tmp_path_factory.getbasetemp().parent)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def command_of(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


@pytest.mark.parametrize(
    ("test", "options", "status"),
    [
        ("ends", [], 0),
        ("hangs", ["--timeout=3", "--timeout-method=thread"], 1),
        ("is_killed", [], -signal.SIGKILL),
        ("is_killed", ["-n", "1"], 1),
    ],
    ids=["ended", "timed out", "killed", "killed worker"],
)
def test_what_a_run_has_started_dies_with_it(tmp_path: Path, test: str, options: list[str], status: int) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    base = tmp_path / "base" / "run"
    base.parent.mkdir()
    plugins = ("graphtide_testing.orphans", "pytest_timeout", "xdist.plugin", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", *(part for name in plugins for part in ("-p", name)), *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    # Plugins that happen to be installed would take most of the time.
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    ended = subprocess.run(
        [
            *command,
            "--rootdir",
            str(tmp_path),
            "-c",
            os.devnull,
            "--basetemp",
            str(base),
            "-k",
            f"test_that_{test}",
            "test_it.py",
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == status, ended.stdout + ended.stderr
    (reported,) = tmp_path.rglob("started")
    started = int(reported.read_text())
    wait_until(lambda: b"sleep" not in command_of(started), 60, lambda: "what the run started still runs")
    assert VARIABLE in os.environ, "this run is guarded, too"
