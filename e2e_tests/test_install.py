"""From nothing to matches: the built wheels in an empty environment, where no file of this repository is at hand.

What is installed is what `make wheels` built; libraries come from the registry, or from the installer's cache where none is
reached.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from graphtide_testing.servers.process import free_ports
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

ROOT = Path(__file__).parents[1]
PATTERN = "PATTERN round_trip MATCH (a)-[x:pay]->(b), (b)-[y:pay]->(a) ORDER x < y ON payments WINDOW 10m\n"
PAYMENTS = [(1000, "ann", "bob"), (2000, "bob", "eve"), (3000, "bob", "ann")]
LINES = {"content-type": "application/x-ndjson"}


@dataclass(frozen=True)
class Installed:
    """An environment of its own, with a home of its own, that finds nothing of this repository or of developers.

    Attributes:
        prefix: where its programs and packages are.
        folder: where its programs run.
    """

    prefix: Path
    folder: Path

    @property
    def surroundings(self) -> dict[str, str]:
        """Return the variables that its programs see."""
        system = os.pathsep.join(("/usr/local/bin", "/usr/bin", "/bin"))
        java = {"JAVA_HOME": os.environ["JAVA_HOME"]} if "JAVA_HOME" in os.environ else {}
        return {"HOME": str(self.folder), "PATH": system, "LANG": "C.UTF-8", "COLUMNS": "200", **java}

    def program(self, name: str) -> str:
        """Return the path of a program."""
        return str(self.prefix / "bin" / name)

    def install(self, extra: str = "") -> None:
        """Install the wheels with an extra, beside what is there: by their paths, for uv keeps what it once found by a name."""
        names = ("graphtide", "graphtide_native", "graphtide_bench")
        (pure,), (native,), (bench,) = (list((ROOT / "dist").glob(f"{name}-*.whl")) for name in names)
        uv = [str(Path(sys.prefix) / "bin" / "uv"), "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt")]
        wheels = [str(native), f"{pure}{extra}", *([str(bench)] if extra == "[bench]" else [])]
        subprocess.run([*uv, "--python", self.program("python"), *wheels], cwd=self.folder, check=True, timeout=900)

    def run(self, *command: object, program: str = "graphtide") -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        line = [self.program(program), *(str(each) for each in command)]
        return subprocess.run(
            line, cwd=self.folder, env=self.surroundings, capture_output=True, text=True, timeout=300, check=False
        )

    def start(self, *command: object) -> subprocess.Popen[bytes]:
        """Start `graphtide`."""
        line = [self.program("graphtide"), *(str(each) for each in command)]
        return subprocess.Popen(line, cwd=self.folder, env=self.surroundings, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return an environment with the wheels alone."""
    subprocess.run(["make", "--silent", "wheels"], cwd=ROOT, check=True, timeout=1_500)
    return install(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def with_services(base: Installed, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return an environment with the extras of the services and of Spark, too."""
    return install(tmp_path_factory.mktemp("services"), "[server,spark]")


def install(folder: Path, extra: str = "") -> Installed:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "prefix"], check=True)
    made = Installed(folder / "prefix", folder)
    made.install(extra)
    (folder / "p.gtp").write_text(PATTERN)
    rows = "".join(f"{ts},{source},{target},pay\n" for ts, source, target in PAYMENTS)
    (folder / "payments.csv").write_text(f"ts,src,dst,label\n{rows}")
    return made


def test_the_packages_are_the_installed_ones(base: Installed) -> None:
    reported = (
        "import graphtide as g, graphtide_core as c, graphtide_native._native as n; print(g.__file__, c.__file__, n.__file__)"
    )
    found = base.run("-c", reported, program="python").stdout.split()
    assert len(found) == 3
    assert all(each.startswith(str(base.prefix)) for each in found)
    assert found[2].endswith(".abi3.so")


@pytest.mark.usefixtures("base")
def test_a_wheel_holds_nothing_that_runs_left_behind() -> None:
    for wheel in (ROOT / "dist").glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            assert not [name for name in packed.namelist() if "__pycache__" in name or name.endswith(".pyc")]


def test_the_base_finds_matches_and_makes_streams(base: Installed) -> None:
    assert base.run("--version").stdout == "graphtide 0.1.0\n"
    found = base.run("match", "p.gtp", "payments.csv")
    assert (found.returncode, found.stderr) == (0, "")
    assert [json.loads(line)["edges"] for line in found.stdout.splitlines()] == [{"x": "0", "y": "2"}]
    made = base.run("generate", "payments", "--output", "made.parquet", "--pattern", "made.gtp", "--planted", 3)
    assert made.returncode == 0, made.stderr
    assert len(base.run("match", "made.gtp", "made.parquet").stdout.splitlines()) >= 3
    demo = base.run("demo", "--records", 5_000)
    assert "all 12 planted attacks found, and nothing else" in demo.stdout, demo.stderr


def test_python_finds_the_same(base: Installed) -> None:
    reported = 'import graphtide; print([m.vertices for m in graphtide.match(open("p.gtp").read(), "payments.csv")])'
    ended = base.run("-c", reported, program="python")
    assert (ended.stdout, ended.stderr) == ("[{'a': 'ann', 'b': 'bob'}]\n", "")


@pytest.mark.parametrize(
    ("program", "command", "extra"),
    [
        ("graphtide", ("dev", "up", "--port", "0"), "server"),
        ("graphtide", ("backfill", "p.gtp", "payments.csv", "--source", "csv"), "spark"),
        ("graphtide", ("bench", "subgraph", "--quick"), "bench"),
        ("graphtide-planner", (), "server"),
        ("graphtide-ingestion", (), "server"),
        ("graphtide-preprocess", (), "spark"),
    ],
)
def test_a_missing_extra_is_one_line_that_installs_it(
    base: Installed, program: str, command: tuple[str, ...], extra: str
) -> None:
    ended = base.run(*command, program=program)
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stderr.endswith(f"which is not installed: pip install 'graphtide[{extra}]'\n")


@pytest.mark.usefixtures("base")
def test_the_extra_of_the_benchmarks_brings_them(tmp_path: Path) -> None:
    measured = install(tmp_path, "[bench]").run("bench", "from-scratch", "--edges", 150, "--size", 3, "--repeats", 1)
    assert measured.returncode == 0, measured.stderr
    assert "2 patterns, the same sets by match id as VF2 anew" in measured.stdout


@pytest.fixture
def server(with_services: Installed) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    (port,) = free_ports(1)
    process = with_services.start("dev", "up", "--port", port)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: process.poll() is not None or is_ready(url), 120)
        assert process.poll() is None, process.communicate()[1].decode()
        yield url, process
    finally:
        process.kill()
        process.communicate()


def is_ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def test_all_services_run_and_match_and_end(with_services: Installed, server: tuple[str, subprocess.Popen[bytes]]) -> None:
    url, process = server
    applied = with_services.run("apply", "p.gtp", "--server", url)
    assert applied.returncode == 0, applied.stderr
    assert with_services.run("wait", "round_trip", "--server", url).returncode == 0
    edges = "".join(json.dumps({"ts": ts, "src": s, "dst": t, "label": "pay"}) + "\n" for ts, s, t in PAYMENTS)
    kind = f"content-type: {LINES['content-type']}"
    curl = ["curl", "--silent", "--fail", "--data-binary", "@-", "--header", kind, f"{url}/api/v1/streams/payments/edges"]
    sent = subprocess.run(curl, input=edges.encode(), capture_output=True, check=False, timeout=60)
    assert sent.returncode == 0, sent.stdout
    found = with_services.run("tail", "round_trip", "--count", 1, "--server", url)
    assert json.loads(found.stdout)["vertices"] == {"a": "ann", "b": "bob"}
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_history_is_matched_on_spark(with_services: Installed) -> None:
    ended = with_services.run(
        "backfill", "p.gtp", "payments.csv", "--source", "csv", "--output", "found.jsonl", "--master", "local[1]"
    )
    assert ended.returncode == 0, ended.stderr
    assert "WARN" not in ended.stderr
    live = with_services.run("match", "p.gtp", "payments.csv").stdout.splitlines()
    history = (with_services.folder / "found.jsonl").read_text().splitlines()
    assert [json.loads(each)["match_id"] for each in history] == [json.loads(each)["match_id"] for each in live]
