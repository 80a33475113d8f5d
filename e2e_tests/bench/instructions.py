"""Instructions that `Matcher::push` takes, by callgrind: the same on every run, whatever else the machine does.

`python e2e_tests/bench/instructions.py [--workload B] [--edges 60000] [--window 20000] [--output FILE] [--before FILE]`

Every pattern of a workload under every engine, as in `graphtide bench subgraph`; decoding and planning are not counted.
With `--before` the figures are compared with those of another build, which `--output` wrote.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from graphtide_bench.cache import csv_file, statistics_of, texts
from graphtide_bench.workload import WORKLOADS
from graphtide_core.time import TimeUnit
from graphtide_native.spec import Concurrency, Limits, encode
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan

NATIVE = Path(__file__).parents[2] / "shared" / "native"
PROGRAM = NATIVE / "target" / "release" / "examples" / "push"
COUNTED = "push::push_batch"


def main() -> None:
    """Measure, and print a JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", default="B", choices=sorted(WORKLOADS))
    parser.add_argument("--edges", type=int, default=60_000)
    parser.add_argument("--window", type=int, default=20_000)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--before", type=Path)
    asked = parser.parse_args()
    build = ["cargo", "build", "--release", "--quiet", "-p", "graphtide-match", "--example", "push"]
    subprocess.run(build, cwd=NATIVE, check=True)
    workload = WORKLOADS[asked.workload].of_length(asked.edges)
    stream = csv_file(workload, Path(".cache/bench"))
    with tempfile.TemporaryDirectory() as folder:
        plans = Path(folder) / "plans"
        plans.write_bytes(b"".join(_plans(texts(workload.patterns(asked.window), asked.window), stream)))
        found = count(stream, plans, Path(folder))
    if asked.output is not None:
        asked.output.write_text(json.dumps(found))
    told: dict[str, object] = {"cases": len(found), "instructions": sum(found.values())}
    if asked.before is not None:
        told |= compared(json.loads(asked.before.read_text()), found)
    sys.stdout.write(json.dumps(told) + "\n")


def count(stream: Path, plans: Path, folder: Path) -> dict[str, int]:
    """Return the instructions of every case."""
    options = [f"--toggle-collect={COUNTED}", f"--dump-after={COUNTED}", f"--callgrind-out-file={folder}/out"]
    command = ["valgrind", "--tool=callgrind", "--quiet", *options, str(PROGRAM), str(stream), str(plans)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    dumps = sorted(folder.glob("out.*"), key=lambda path: int(path.suffix[1:]))
    sums = iter([int(path.read_text().partition("\nsummary: ")[2].split()[0]) for path in dumps])
    cases = [line.split("\t") for line in ran.stdout.splitlines()]
    return {name: sum(next(sums) for _ in range(int(calls))) for name, calls, _, _ in cases}


def compared(before: dict[str, int], after: dict[str, int]) -> dict[str, object]:
    """Return how much more instructions there are: in geometric mean, and the case with most."""
    ratios = {name: after[name] / before[name] for name in before}
    most = max(ratios, key=lambda name: ratios[name])
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    return {"geometric_mean": round(mean, 4), "most": [most, round(ratios[most], 4)]}


def _plans(patterns: dict[str, str], stream: Path) -> list[bytes]:
    known = statistics_of(stream)
    lines = []
    for name, text in patterns.items():
        (pattern,) = parse_subgraphs(text)
        for engine in FAMILIES["isomorphism"].names:
            made = plan(pattern, engine, statistics=known)
            spec = encode([made], TimeUnit.MILLISECOND, (), [Limits()], Concurrency())
            lines.append(f"{name} {engine}\t".encode() + spec + b"\n")
    return lines


if __name__ == "__main__":
    main()
