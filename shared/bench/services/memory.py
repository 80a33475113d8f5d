"""The whole deployment for minutes at a steady rate: what its processes' memory does, and whether every match comes once.

`python shared/bench/services/memory.py [--minutes 10] [--rate 2000]`

Generated flows go in over HTTP. One pattern stays; every so often another is registered and the oldest of the others is
deleted. In the end the command line matches the same stream with all patterns. The one that stays must have the same matches,
by id. The others must have no match that the command line has not, none twice, and every one whose last edge was sent while
they ran.

Memory is that which is resident, at the start, after a fifth of the time, and at the end. Exits with 1 if a process grew by
more than `MOST_GROWTH` and `MOST_GROWN_BYTES` from the second to the third, or if matches are wrong.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide_bench.frame.script import Script
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_testing.servers.process import Usage

MOST_GROWTH = 0.25
"""The most that a process may grow once it is warm, as a share."""
MOST_GROWN_BYTES = 32 * 1024 * 1024
"""Growth that is never called a leak, at any share."""
BATCH_SECONDS = 0.25
CHANGE_SECONDS = 20.0
GUEST_SECONDS = 60.0
SETTLED_SECONDS = 10.0
"""Edges that were sent so long before a pattern's deletion have been matched."""
GUEST = (
    "PATTERN guest{number} MATCH (v:ip)-[c:tcp]->(s:ip), (v)-[e:tcp]->(s) "
    "WHERE c.bytes > 200000 AND e.bytes > 200000 ORDER c < e ON flows WINDOW 10m"
)


@dataclass
class Guest:
    """A pattern that comes and goes; times are those of edges."""

    name: str
    text: str
    registered_at: float
    since: int
    until: int | None = None


@dataclass
class Sent:
    """What went in so far: for each batch when, and the time of its last edge."""

    batches: list[tuple[float, int]] = field(default_factory=list)

    @property
    def newest(self) -> int:
        """Time of the newest edge."""
        return self.batches[-1][1] if self.batches else -1

    def newest_at(self, moment: float) -> int:
        """Return the time of the newest edge that had been sent at a moment."""
        return max((ts for at, ts in self.batches if at <= moment), default=-1)


def main() -> None:
    """Run, and show a row for each process.

    Raises:
        SystemExit: memory grew, or matches are wrong.
    """
    script = Script(__file__, __doc__)
    script.option("--minutes", type=float, default=10.0)
    script.option("--rate", type=int, default=2000, help="edges a second")
    asked = script.arguments()
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        stream, pattern = generate(folder, int(asked.minutes * 60 * asked.rate))
        whole = Whole(folder / "deployment", {"statistics": {"PUBLISH_SECONDS": "2.0"}})
        try:
            whole.start()
            wrong = load(script, whole, stream, pattern, rate=asked.rate, seconds=asked.minutes * 60)
        finally:
            whole.end()
    script.hand_out("; ".join(wrong) or "Matches checked: those of the command line, each once; no process grew.")
    if wrong:
        raise SystemExit("\n".join(wrong))


def generate(folder: Path, records: int) -> tuple[Path, Path]:
    """Return a stream of flows, and the pattern that was planted in it."""
    stream, pattern = folder / "flows.jsonl", folder / "planted.gtp"
    command = [sys.executable, "-m", "graphtide", "generate", "network", "--records", str(records), "--planted", "100"]
    subprocess.run([*command, "--output", str(stream), "--pattern", str(pattern)], capture_output=True, check=True)
    return stream, pattern


def load(script: Script, whole: Whole, stream: Path, pattern: Path, *, rate: int, seconds: float) -> list[str]:
    """Run and print; return what is wrong."""
    whole.register(pattern.read_text())
    usage = [whole.usage()]
    sent, guests = Sent(), list[Guest]()
    begun = time.monotonic()
    for number, lines in enumerate(batches(stream, int(rate * BATCH_SECONDS))):
        time.sleep(max(0.0, begun + number * BATCH_SECONDS - time.monotonic()))
        answer = whole.send("flows", b"".join(lines))
        if answer["rejected"]:
            return [f"refused: {answer}"]
        now = time.monotonic()
        sent.batches.append((now, json.loads(lines[-1])["ts"]))
        change(whole, guests, sent, now)
        if len(usage) == 1 and now - begun > seconds / 5:
            usage.append(whole.usage())
    took = time.monotonic() - begun
    whole.settle("flows")
    usage.append(whole.usage())
    found = Counter(json.loads(record)["match_id"] for record in whole.matches())
    report(script, usage, took)
    return [*find_growth(usage), *mismatches(found, guests, stream, pattern)]


def batches(stream: Path, size: int) -> Iterator[list[bytes]]:
    """Yield the lines of the stream, so many at once."""
    with stream.open("rb") as source:
        while lines := list(itertools.islice(source, size)):
            yield lines


def change(whole: Whole, guests: list[Guest], sent: Sent, now: float) -> None:
    """Register and delete patterns if it is time."""
    if not guests or now - guests[-1].registered_at >= CHANGE_SECONDS:
        text = GUEST.format(number=len(guests))
        name = whole.register(text)["name"]
        guests.append(Guest(name, text, now, sent.newest))
    oldest = next((guest for guest in guests if guest.until is None), None)
    if oldest is not None and now - oldest.registered_at >= GUEST_SECONDS:
        whole.control.delete(f"/api/v1/patterns/{oldest.name}", headers={"If-Match": "*"}).raise_for_status()
        oldest.until = sent.newest_at(time.monotonic() - SETTLED_SECONDS)


def mismatches(found: Counter[str], guests: list[Guest], stream: Path, pattern: Path) -> list[str]:
    """Compare with the command line; return what differs."""
    patterns = stream.with_name("all.gtp")
    patterns.write_text("\n".join([pattern.read_text(), *(guest.text for guest in guests)]))
    command = [sys.executable, "-m", "graphtide", "match", str(patterns), str(stream)]
    lines = subprocess.run(command, capture_output=True, check=True).stdout.splitlines()
    expected = {record["match_id"]: record for record in map(json.loads, lines)}
    spans = {guest.name: guest for guest in guests}
    required = {id for id, record in expected.items() if is_required(spans.get(record["query"]), record["last_ts"])}
    wrong = []
    if missing := required - found.keys():
        wrong.append(f"{len(missing)} of {len(required)} matches are missing")
    if unknown := found.keys() - expected.keys():
        wrong.append(f"{len(unknown)} matches are not the command line's")
    if repeated := [id for id, count in found.items() if count > 1]:
        wrong.append(f"{len(repeated)} matches came more than once")
    sys.stderr.write(f"matches: {len(found)} found, {len(required)} required, {len(expected)} of the command line\n")
    return wrong


def is_required(guest: Guest | None, last_ts: int) -> bool:
    """Whether a match must have been found: its pattern was there for sure when its last edge came."""
    return guest is None or (guest.since < last_ts and (guest.until is None or last_ts <= guest.until))


def find_growth(usage: list[dict[str, Usage]]) -> list[str]:
    """Return which processes grew too much."""
    _, warm, end = usage
    return [
        f"{name} grew from {warm[name].resident_bytes / 1e6:.0f} to {end[name].resident_bytes / 1e6:.0f} MB"
        for name in warm
        if end[name].resident_bytes - warm[name].resident_bytes > max(MOST_GROWN_BYTES, MOST_GROWTH * warm[name].resident_bytes)
    ]


def report(script: Script, usage: list[dict[str, Usage]], seconds: float) -> None:
    """Add a row for each process."""
    start, warm, end = usage
    for name in start:
        megabytes = {
            moment: round(use[name].resident_bytes / 1e6)
            for moment, use in (("at the start", start), ("warm", warm), ("at the end", end))
        }
        core = (end[name].cpu_seconds - start[name].cpu_seconds) / seconds
        script.add({"process": name, "megabytes": megabytes, "of a core": round(core, 3)})


if __name__ == "__main__":
    main()
