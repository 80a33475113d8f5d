"""Public data sets in the form in which they are downloaded, made again from the streams that were made of them.

The tutorials begin with a download. What a reader then has is written here from the streams for tests, so that all that follows
is run without the network; where the streams are not at hand neither is this.
"""

from __future__ import annotations

import csv
import gzip
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SEPARATOR: Final = "   "
"""Three spaces: what stands between the last columns of a labelled log."""


def labelled_log(stream: Path, folder: Path) -> None:
    """Write the log of Zeek with labels that IoT-23 has of each capture: `conn.log.labeled`."""
    with (folder / "conn.log.labeled").open("w", encoding="utf-8") as log:
        log.write("#separator \\x09\n#unset_field\t-\n#path\tconn\n")
        for row in _rows(stream):
            service = row["label"] if row["label"] != row["protocol"] else ""
            seconds, milliseconds = divmod(int(row["ts"]), 1000)
            columns = [
                f"{seconds}.{milliseconds:03}000",
                row["id"],
                *(row[name] for name in ("src", "src_port", "dst", "dst_port", "protocol")),
                service,
                *(row[name] for name in ("duration_s", "src_bytes", "dst_bytes", "conn_state")),
                *[""] * 8,
            ]
            labels = _SEPARATOR.join(["-", row["truth"], row["truth_detail"] or "-"])
            log.write("\t".join([*(column or "-" for column in columns), labels]) + "\n")


def interactions(stream: Path, folder: Path) -> None:
    """Write the three lists of interactions that SNAP has of MathOverflow: `sx-mathoverflow-a2q.txt.gz` and its like."""
    kinds = ("a2q", "c2q", "c2a")
    lines: dict[str, list[str]] = {kind: [] for kind in kinds}
    for row in _rows(stream):
        lines[row["label"]].append(f"{row['src']} {row['dst']} {row['ts']}\n")
    for kind in kinds:
        with gzip.open(folder / f"sx-mathoverflow-{kind}.txt.gz", "wt", compresslevel=1) as file:
            file.writelines(lines[kind])


DOWNLOADS: Final[dict[str, tuple[str, Callable[[Path, Path], None]]]] = {
    "docs/tutorials/flood.md": ("iot23_34_1.csv.gz", labelled_log),
    "docs/tutorials/circles.md": ("mathoverflow.csv.gz", interactions),
}
"""By page: the stream, and what writes its download."""


def _rows(stream: Path) -> Iterator[dict[str, str]]:
    with gzip.open(stream, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
