"""Instructions that `Matcher::push` takes, by callgrind: the same on every run, under any other load of the machine.

`python shared/bench/services/instructions.py [--workload B] [--edges 60000] [--window 20000] [--many 1,1000] [--output FILE]
[--before FILE]`

Every pattern of a workload under every engine, as in `graphtide bench subgraph`; decoding and planning are not counted.
With `--many`, so many patterns in one pass instead, drawn one by one, under the engines that `auto` takes among as many. Their
matches, and the instructions an edge that hand them out, are stated apart.
With `--before` the counts are compared with those of another build, which `--output` wrote.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, NamedTuple

from graphtide_bench.frame.report import read
from graphtide_bench.frame.script import ROWS, Script
from graphtide_bench.workloads.cache import DEFAULT_CACHE, csv_file, many_patterns, statistics_of, texts
from graphtide_bench.workloads.workload import MANY_LABELS, WORKLOADS
from graphtide_core.time import TimeUnit
from graphtide_native.spec import Concurrency, Limits, encode
from graphtide_query import parse_subgraphs
from graphtide_query.estimates.colocation import ColocatedLoad
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan

NATIVE = Path(__file__).parents[2] / "native"
PROGRAM = NATIVE / "target" / "release" / "examples" / "push"
COUNTED = "push::push_batch"
HANDED_OVER = "(?:Output::hand_over|Rows::hand_on|prefix_tree::search::Run::complete)"
CACHE = Path(DEFAULT_CACHE)
_WORKLOADS = {**WORKLOADS, MANY_LABELS.name: MANY_LABELS}

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> None:
    """Measure, and show a row."""
    script = Script(__file__, __doc__)
    script.option("--workload", default="B", choices=sorted(_WORKLOADS))
    script.option("--edges", type=int, default=60_000)
    script.option("--window", type=int, default=20_000)
    script.option("--many", type=numbers, default=(), help="how many patterns in one pass, several by commas")
    script.option("--before", type=Path, help="the report of another build")
    asked = script.arguments()
    build = ["cargo", "build", "--release", "--quiet", "-p", "graphtide-match", "--example", "push"]
    subprocess.run(build, cwd=NATIVE, check=True)
    workload = _WORKLOADS[asked.workload].of_length(asked.edges)
    stream = csv_file(workload, CACHE)
    with tempfile.TemporaryDirectory() as folder:
        plans = Path(folder) / "plans"
        if asked.many:
            made = _many_plans(many_patterns(workload, asked.window, max(asked.many), CACHE), asked.many, stream)
        else:
            made = _plans(texts(workload.patterns(asked.window), asked.window), stream)
        plans.write_bytes(b"".join(made))
        cases = count(stream, plans, Path(folder))
    for name, case in cases.items():
        an_edge = {"an edge": round(case.instructions / asked.edges), "of that matches": round(case.of_matches / asked.edges)}
        script.add({"case": name, "instructions": case.instructions, "matches": case.matches, **an_edge})
    found = {name: case.instructions for name, case in cases.items()}
    checked = f"{len(found)} cases, {sum(found.values()):,} instructions."
    if asked.before is not None:
        before = {row["case"]: row["instructions"] for row in read(asked.before).of_kind(ROWS)}
        checked = f"{checked} {compare(before, found)}"
    script.hand_out(checked)


class Case(NamedTuple):
    """What one case took.

    Attributes:
        instructions: of all calls.
        of_matches: of those, the ones that hand out matches.
        matches: how many.
    """

    instructions: int
    of_matches: int
    matches: int


def count(stream: Path, plans: Path, folder: Path) -> dict[str, Case]:
    """Return what every case took."""
    options = [f"--toggle-collect={COUNTED}", f"--dump-after={COUNTED}", f"--callgrind-out-file={folder}/out"]
    command = ["valgrind", "--tool=callgrind", "--quiet", *options, str(PROGRAM), str(stream), str(plans)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    dumps = sorted(folder.glob("out.*"), key=lambda path: int(path.suffix[1:]))
    dumped = iter(dumps)
    cases = {}
    for line in ran.stdout.splitlines():
        name, calls, matches, _ = line.split("\t")
        counted = [_sums(next(dumped).read_text()) for _ in range(int(calls))]
        cases[name] = Case(
            sum(all_of_it for all_of_it, _ in counted), sum(of_matches for _, of_matches in counted), int(matches)
        )
    return cases


def _sums(dump: str) -> tuple[int, int]:
    """Return the instructions of a call, and those of them below the hand-over of matches."""
    whole = int(dump.partition("\nsummary: ")[2].split()[0])
    # A call is a line that names the function, one that counts the calls, and one with what they took.
    names = re.findall(rf"^c?fn=(\(\d+\)) .*{HANDED_OVER}", dump, re.MULTILINE)
    calls = (re.findall(rf"^cfn={re.escape(name)}(?: .*)?\ncalls=.*\n\S+ (\d+)", dump, re.MULTILINE) for name in names)
    return whole, sum(int(taken) for of_one in calls for taken in of_one)


def compare(before: dict[str, int], after: dict[str, int]) -> str:
    """Return how many more instructions there are, in a sentence: in geometric mean, and the case with most."""
    ratios = {name: after[name] / before[name] for name in before}
    most = max(ratios, key=lambda name: ratios[name])
    return f"Of the other build: {geometric_mean(ratios.values()):.4f} in geometric mean, at most {ratios[most]:.4f} ({most})."


def numbers(text: str) -> tuple[int, ...]:
    """Read numbers that commas separate."""
    return tuple(int(number) for number in text.split(","))


def _many_plans(patterns: Sequence[str], many: Sequence[int], stream: Path) -> list[bytes]:
    known = statistics_of(stream)
    parsed = parse_subgraphs("\n".join(patterns))
    lines = []
    for number in many:
        made = [plan(pattern, "auto", statistics=known, colocated=ColocatedLoad.of(number)) for pattern in parsed[:number]]
        spec = encode(made, TimeUnit.MILLISECOND, (), [Limits()] * number, Concurrency())
        lines.append(f"{number:,} patterns\t".encode() + spec + b"\n")
    return lines


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
