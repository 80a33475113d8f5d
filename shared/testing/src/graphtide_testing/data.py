"""Real streams that tests read, from `../shared/data` beside the repository or the folder that `GRAPHTIDE_DATA` names.

Where a stream is not at hand, tests run on a stand-in. It has as many columns, labels and shapes that patterns ask for, and is
made here from a fixed seed and kept in `.cache`. A test that only the real stream can pass is skipped, and says so.
"""

from __future__ import annotations

import csv
import gzip
import os
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Row = dict[str, object]

_ROOT: Final = Path(__file__).parents[4]
DATA: Final = Path(os.environ.get("GRAPHTIDE_DATA", _ROOT.parent / "shared" / "data"))
_MADE: Final = _ROOT / ".cache" / "stand-ins" / sha256(Path(__file__).read_bytes()).hexdigest()[:12]

BOT, CONTROLLER, VICTIM = "10.0.0.5", "192.0.2.1", "198.51.100.7"


def real_stream(name: str) -> Path:
    """Return the file of a real stream; skip the test where it is not at hand."""
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not at hand")
    return DATA / name


def stream_or_stand_in(name: str) -> Path:
    """Return the file of a real stream, or of its stand-in; skip the test where there is neither."""
    if (DATA / name).exists() or name not in STAND_INS:
        return real_stream(name)
    made = _MADE / name
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        draft = made.with_name(f"{name}.{os.getpid()}")
        _write(draft, STAND_INS[name]())
        # Workers may make it at once: each writes the same.
        draft.rename(made)
    return made


def questions() -> Iterator[Row]:
    """Yield answers and comments of a few people, who reply to each other within hours."""
    drawn, ts = Random(1), 1_250_000_000  # noqa: S311 - a stream, no secret
    answered: list[tuple[str, str]] = []
    for _ in range(6_000):
        ts += drawn.randrange(30, 1_500)
        label = drawn.choices(("a2q", "c2q", "c2a"), (5, 3, 4))[0]
        source, target = (str(drawn.randrange(40)) for _ in range(2))
        if label == "c2a" and answered:
            target, source = drawn.choice(answered[-8:])
        if label == "a2q":
            answered.append((source, target))
        yield {"ts": ts, "src": source, "dst": target, "label": label, "src_label": "user", "dst_label": "user"}


def flows() -> Iterator[Row]:
    """Yield flows of a bot that asks its controller, looks for open ports, and twice floods a victim."""
    drawn, ts = Random(2), 1_540_000_000_000  # noqa: S311 - a stream, no secret
    for number in range(23_000):
        is_flood = 5_000 <= number < 5_120 or 21_000 <= number < 21_120
        ts += drawn.randrange(5, 40) if is_flood else drawn.randrange(200, 9_000)
        kind = "flood" if is_flood and number % 4 else drawn.choices(("order", "probe", "hit", "other"), (6, 6, 2, 3))[0]
        host = f"198.51.100.{drawn.randrange(1, 30)}"
        target, label, port, state, sent = {
            "flood": (VICTIM, "tcp", 80, "S0", 0),
            "order": (CONTROLLER, "irc", 6667, "S3", 75),
            "probe": (host, "tcp", 23, "S0", 0),
            "hit": (host, "tcp", 23, "SF", 240),
            "other": (host, "udp", 123, "SF", 48),
        }[kind]
        yield {
            "ts": ts,
            "src": BOT,
            "dst": target,
            "label": label,
            "src_label": "host",
            "dst_label": "host",
            "id": f"C{number}",
            "protocol": "udp" if label == "udp" else "tcp",
            "src_port": 40_000 + number % 20_000,
            "dst_port": port,
            "duration_s": drawn.randrange(1, 3_000) / 1_000,
            "src_bytes": sent,
            "dst_bytes": 2 * sent,
            "conn_state": state,
            "truth": "Benign" if kind == "other" else "Malicious",
            "truth_detail": "",
        }


STAND_INS: Final[dict[str, Callable[[], Iterator[Row]]]] = {
    "iot23_34_1.csv.gz": flows,
    "mathoverflow.csv.gz": questions,
}
"""Stand-ins of streams, by the names of their files."""


def _write(path: Path, rows: Iterator[Row]) -> None:
    first = next(rows)
    with gzip.open(path, "wt", encoding="utf-8", newline="", compresslevel=1) as file:
        writer = csv.DictWriter(file, first.keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(rows)
