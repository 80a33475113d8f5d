"""Public data sets as one downloads them, made again from the streams that were made of them.

The tutorials begin with a download. What a reader then has is written here from the streams for tests, so all that follows is
run without the network. Where the streams are not at hand neither is this.
"""

from __future__ import annotations

import csv
import gzip
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SEPARATOR: Final = "   "
"""Three spaces: what stands between the last columns of a labelled log."""

_LOG: Final = {
    "ts": "time",
    "uid": "string",
    "id.orig_h": "addr",
    "id.orig_p": "port",
    "id.resp_h": "addr",
    "id.resp_p": "port",
    "proto": "enum",
    "service": "string",
    "duration": "interval",
    "orig_bytes": "count",
    "resp_bytes": "count",
    "conn_state": "string",
    "local_orig": "bool",
    "local_resp": "bool",
    "missed_bytes": "count",
    "history": "string",
    "orig_pkts": "count",
    "orig_ip_bytes": "count",
    "resp_pkts": "count",
    "resp_ip_bytes": "count",
    _SEPARATOR.join(["tunnel_parents", "label", "detailed-label"]): _SEPARATOR.join(["set[string]", "string", "string"]),
}
"""Names and types of the columns of a labelled log; the last ones share one column."""


def labelled_log(stream: Path, folder: Path) -> None:
    """Write the log of Zeek with labels that IoT-23 has of each capture: `conn.log.labeled`."""
    with (folder / "conn.log.labeled").open("w", encoding="utf-8") as log:
        log.write("#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n")
        log.write("\t".join(["#fields", *_LOG]) + "\n" + "\t".join(["#types", *_LOG.values()]) + "\n")
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


def sensors(stream: Path, folder: Path) -> None:
    """Write the files that CityBench has of traffic sensors: `AarhusTrafficData158324.stream` and its like.

    Our stream has neither the medians nor the names of its origin; here they are the averages, and empty.
    """
    rows: dict[str, list[tuple[str, ...]]] = {}
    for row in _rows(stream):
        number, taken = row["type"].removeprefix("S"), row["travel_time"]
        when = datetime.fromtimestamp(int(row["ts"]) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        rows.setdefault(number, []).append(("OK", taken, row["speed"], "", taken, when, row["vehicles"], row["id"], number))
    columns = (
        "status",
        "avgMeasuredTime",
        "avgSpeed",
        "extID",
        "medianMeasuredTime",
        "TIMESTAMP",
        "vehicleCount",
        "_id",
        "REPORT_ID",
    )
    for number, own in rows.items():
        with (folder / f"AarhusTrafficData{number}.stream").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([columns, *own])


DOWNLOADS: Final[dict[str, tuple[str, Callable[[Path, Path], None]]]] = {
    "docs/tutorials/flood.md": ("iot23_34_1.csv.gz", labelled_log),
    "docs/tutorials/circles.md": ("mathoverflow.csv.gz", interactions),
    "docs/tutorials/jams.md": ("aarhus_traffic.csv.gz", sensors),
}
"""By page: the stream, and what writes its download."""


def _rows(stream: Path) -> Iterator[dict[str, str]]:
    with gzip.open(stream, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
