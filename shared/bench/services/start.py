"""What it costs to start: processor seconds of the program, from nothing to its end, by verb.

    python shared/bench/services/start.py [--repeats 5]

`PYTHONPATH` puts another version before the installed one.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from graphtide_bench.frame.runs import Spread
from graphtide_bench.frame.script import Script

PATTERN = "PATTERN p MATCH (a)-[x:pay]->(b), (b)-[y:pay]->(c) ORDER x < y ON payments WINDOW 10s\n"
EDGES = "ts,src,dst,label\n1,ann,bob,pay\n2,bob,eve,pay\n3,eve,dan,pay\n4,dan,ann,pay\n"

CASES = {
    "--version": ["--version"],
    "--help": ["--help"],
    "match --help": ["match", "--help"],
    "validate": ["validate", "p.gtp"],
    "match, four edges of CSV": ["match", "p.gtp", "edges.csv"],
    "explain": ["explain", "p.gtp"],
    "statistics": ["statistics", "edges.csv"],
    "get, no server": ["get", "--server", "http://127.0.0.1:1"],
}


def main() -> None:
    """Measure, and show a row for each verb."""
    script = Script(__file__, __doc__)
    script.option("--repeats", type=int, default=5)
    repeats = script.arguments().repeats
    with tempfile.TemporaryDirectory() as name:
        Path(name, "p.gtp").write_text(PATTERN)
        Path(name, "edges.csv").write_text(EDGES)
        for case, arguments in CASES.items():
            seconds = Spread.of(_seconds(arguments, name) for _ in range(repeats))
            script.add({"verb": case, "processor seconds": seconds.rounded(2)})
    script.hand_out()


def _seconds(arguments: list[str], folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "graphtide", *arguments]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
