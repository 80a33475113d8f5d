"""What it costs to start: processor seconds of the program, from nothing to its end, by verb.

    python e2e_tests/bench/start.py [--repeats 5]

`PYTHONPATH` puts another version before the installed one.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

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
    "get, nobody there": ["get", "--server", "http://127.0.0.1:1"],
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    sys.stdout.write(f"load {os.getloadavg()[0]:.1f}\n\n| verb | processor seconds |\n| --- | ---: |\n")
    with tempfile.TemporaryDirectory() as name:
        Path(name, "p.gtp").write_text(PATTERN)
        Path(name, "edges.csv").write_text(EDGES)
        for case, arguments in CASES.items():
            seconds = median(_seconds(arguments, name) for _ in range(repeats))
            sys.stdout.write(f"| `{case}` | {seconds:.2f} |\n")


def _seconds(arguments: list[str], folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "graphtide", *arguments]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
