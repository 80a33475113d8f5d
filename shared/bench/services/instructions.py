"""Instructions that `Matcher::push` takes, by callgrind: the same on every run, under any other load of the machine.

`python shared/bench/services/instructions.py [--workload B] [--edges 60000] [--window 20000] [--output FILE] [--before FILE]`

Every pattern of a workload under every engine, as in `graphtide bench subgraph`; decoding and planning are not counted.
With `--before` the counts are compared with those of another build, which `--output` wrote.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from statistics import geometric_mean

from graphtide_bench.frame.report import read
from graphtide_bench.frame.script import ROWS, Script
from graphtide_bench.workloads.cache import csv_file, statistics_of, texts
from graphtide_bench.workloads.workload import WORKLOADS
from graphtide_core.time import TimeUnit
from graphtide_native.spec import Concurrency, Limits, encode
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan

NATIVE = Path(__file__).parents[2] / "native"
PROGRAM = NATIVE / "target" / "release" / "examples" / "push"
COUNTED = "push::push_batch"


def main() -> None:
    """Measure, and show a row."""
    script = Script(__file__, __doc__)
    script.option("--workload", default="B", choices=sorted(WORKLOADS))
    script.option("--edges", type=int, default=60_000)
    script.option("--window", type=int, default=20_000)
    script.option("--before", type=Path, help="the report of another build")
    asked = script.arguments()
    build = ["cargo", "build", "--release", "--quiet", "-p", "graphtide-match", "--example", "push"]
    subprocess.run(build, cwd=NATIVE, check=True)
    workload = WORKLOADS[asked.workload].of_length(asked.edges)
    stream = csv_file(workload, Path(".cache/bench"))
    with tempfile.TemporaryDirectory() as folder:
        plans = Path(folder) / "plans"
        plans.write_bytes(b"".join(_plans(texts(workload.patterns(asked.window), asked.window), stream)))
        found = count(stream, plans, Path(folder))
    for name, instructions in found.items():
        script.add({"case": name, "instructions": instructions})
    checked = f"{len(found)} cases, {sum(found.values()):,} instructions."
    if asked.before is not None:
        before = {row["case"]: row["instructions"] for row in read(asked.before).of_kind(ROWS)}
        checked = f"{checked} {compare(before, found)}"
    script.hand_out(checked)


def count(stream: Path, plans: Path, folder: Path) -> dict[str, int]:
    """Return the instructions of every case."""
    options = [f"--toggle-collect={COUNTED}", f"--dump-after={COUNTED}", f"--callgrind-out-file={folder}/out"]
    command = ["valgrind", "--tool=callgrind", "--quiet", *options, str(PROGRAM), str(stream), str(plans)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    dumps = sorted(folder.glob("out.*"), key=lambda path: int(path.suffix[1:]))
    sums = iter([int(path.read_text().partition("\nsummary: ")[2].split()[0]) for path in dumps])
    cases = [line.split("\t") for line in ran.stdout.splitlines()]
    return {name: sum(next(sums) for _ in range(int(calls))) for name, calls, _, _ in cases}


def compare(before: dict[str, int], after: dict[str, int]) -> str:
    """Return how many more instructions there are, in a sentence: in geometric mean, and the case with most."""
    ratios = {name: after[name] / before[name] for name in before}
    most = max(ratios, key=lambda name: ratios[name])
    return f"Of the other build: {geometric_mean(ratios.values()):.4f} in geometric mean, at most {ratios[most]:.4f} ({most})."


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
