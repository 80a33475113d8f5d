"""Instructions that decoding takes, by callgrind: records with columns of their own, and the same by a STREAM statement.

`python shared/bench/services/decoding.py [--edges 60000] [--output FILE] [--before FILE]`

A record has five fields that are read and two that are not. A statement reads three of them. In JSON Lines they are in nested
objects. In CSV they have other names, or are groups of a regular expression in its lines. CSV also comes with an id in each
record, and with quotes around three fields. It reports the instructions of each and, for a statement, how many times as fast as
columns that is. With `--before` it compares the counts with those of another build, which `--output` wrote.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from itertools import chain
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from graphtide_bench.frame.report import read
from graphtide_bench.frame.script import ROWS, Script
from graphtide_query import parse_streams
from graphtide_wire.stream_definition import encode_definition
from instructions import compare

if TYPE_CHECKING:
    from collections.abc import Iterator

NATIVE: Final = Path(__file__).parents[2] / "native"
PROGRAM: Final = NATIVE / "target" / "release" / "examples" / "decode"
COUNTED: Final = "decode::decode_block"
NESTED: Final = "STREAM s EDGE (source.id)-[kind]->(target.id) SET amount = data.amount, note = note AT time"
RENAMED: Final = "STREAM s EDGE (source)-[kind]->(target) SET amount = sum, note = note AT time"
GROUPS: Final = ",".join(f"(?P<{name}>[^,]*)" for name in ("time", "source", "target", "kind", "sum", "note"))
BY_REGEX: Final = f"{RENAMED} FORMAT regex '{GROUPS}'"


def main() -> None:
    """Measure, and show a row for each case."""
    script = Script(__file__, __doc__)
    script.option("--edges", type=int, default=60_000)
    script.option("--before", type=Path, help="the report of another build")
    asked = script.arguments()
    build = ["cargo", "build", "--release", "--quiet", "-p", "graphtide-decode", "--example", "decode"]
    subprocess.run(build, cwd=NATIVE, check=True)
    with tempfile.TemporaryDirectory() as folder:
        found = {name: count(Path(folder), *case) for name, case in cases(Path(folder), asked.edges).items()}
    for name, instructions in found.items():
        plain = found[name.partition(" ")[0] + " columns"]
        script.add({"case": name, "instructions": instructions, "speed": round(plain / instructions, 3)})
    checked = f"{len(found)} cases, {sum(found.values()):,} instructions."
    if asked.before is not None:
        before = {row["case"]: row["instructions"] for row in read(asked.before).of_kind(ROWS)}
        checked = f"{checked} {compare(before, found)}"
    script.hand_out(checked)


def cases(folder: Path, edges: int) -> dict[str, tuple[str, ...]]:
    """Write the streams; return what the program takes for each case."""
    rows = list(records(edges))
    plain = [
        {"ts": ts, "src": a, "dst": b, "label": k, "amount": n, "note": m, "x": "y", "z": ts} for ts, a, b, k, n, m in rows
    ]
    nested = [
        {"time": ts, "source": {"id": a}, "target": {"id": b}, "kind": k, "data": {"amount": n}, "note": m, "x": "y", "z": ts}
        for ts, a, b, k, n, m in rows
    ]
    write(folder / "plain.jsonl", map(json.dumps, plain))
    write(folder / "nested.jsonl", map(json.dumps, nested))
    lines = [",".join(map(str, (*row, "y", row[0]))) for row in rows]
    write(folder / "plain.csv", iter(["ts,src,dst,label,amount,note,x,z", *lines]))
    write(folder / "renamed.csv", iter(["time,source,target,kind,sum,note,x,z", *lines]))
    write(folder / "lines.txt", iter(lines))
    header = "ts,src,dst,label,amount,note"
    ids = (",".join(map(str, (*row, f"e{number:09d}", row[0]))) for number, row in enumerate(rows))
    write(folder / "ids.csv", chain([f"{header},id,z"], ids))
    quoted = (f'{ts},"{a}","{b}",{k},{n},"{m}, and more",y,{ts}' for ts, a, b, k, n, m in rows)
    write(folder / "quotes.csv", chain([f"{header},x,z"], quoted))
    for name, statement in (("nested", NESTED), ("renamed", RENAMED), ("by regex", BY_REGEX)):
        (definition,) = parse_streams(statement)
        (folder / name).write_bytes(encode_definition(definition))
    return {
        "jsonl columns": ("jsonl", "plain.jsonl"),
        "jsonl statement": ("jsonl", "nested.jsonl", "nested"),
        "csv columns": ("csv", "plain.csv"),
        "csv ids": ("csv", "ids.csv"),
        "csv quotes": ("csv", "quotes.csv"),
        "csv statement": ("csv", "renamed.csv", "renamed"),
        "csv regex": ("regex", "lines.txt", "by regex"),
    }


def records(edges: int) -> Iterator[tuple[int, str, str, str, int, str]]:
    """Yield time, ends, label, number and text of edges."""
    random = Random(7)
    for number in range(edges):
        ends = (f"10.0.{random.randrange(256)}.{random.randrange(256)}" for _ in range(2))
        yield 1_700_000_000_000 + number, *ends, f"l{random.randrange(50)}", random.randrange(100_000), "text"  # type: ignore[misc]


def write(path: Path, lines: Iterator[str]) -> None:
    """Write lines."""
    path.write_text("".join(f"{line}\n" for line in lines))


def count(folder: Path, format: str, *names: str) -> int:
    """Return the instructions of a case."""
    files = [str(folder / name) for name in names]
    options = [f"--toggle-collect={COUNTED}", f"--callgrind-out-file={folder}/out"]
    command = ["valgrind", "--tool=callgrind", "--quiet", *options, str(PROGRAM), format, *files]
    subprocess.run(command, capture_output=True, text=True, check=True)
    return int((folder / "out").read_text().partition("\nsummary: ")[2].split()[0])


if __name__ == "__main__":
    main()
