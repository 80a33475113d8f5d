"""A pattern that people of the trade would write over each kind of records, with matches that loops over the raw records find.

What the loops do reads neither a statement nor a pattern.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from graphtide import MatchOptions, Stream, match

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Row = dict[str, Any]

START = 1_706_702_400
"""Seconds of the first record."""
RECORDS = 80


@dataclass(frozen=True)
class Case:
    """Records of a preset and a pattern of two edges, x and y.

    Attributes:
        preset: its name.
        suffix: of the file.
        draw: makes a record; it gets its number and the seconds since the first.
        write: the file of these records.
        pattern: what is matched.
        holds: whether two records, the first no later than the second, match.
        seconds: of the window.
        id_of: the id of the edge of a record; its number if that is made.
    """

    preset: str
    suffix: str
    draw: Callable[[random.Random, int, int], Row]
    write: Callable[[list[Row]], str]
    pattern: str
    holds: Callable[[Row, Row], bool]
    seconds: int
    id_of: Callable[[Row], str]


def write_lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row["is"]) + "\n" for row in rows)


def write_csv(*columns: str, header: bool = True, delimiter: str = ",") -> Callable[[list[Row]], str]:
    def write(rows: list[Row]) -> str:
        lines = [delimiter.join(str(row["is"][column]) for column in columns) for row in rows]
        return "\n".join([delimiter.join(columns)] * header + lines) + "\n"

    return write


def number_of(row: Row) -> str:
    return str(row["number"])


BALANCES = ["oldbalanceOrg", "newbalanceOrig", "oldbalanceDest", "newbalanceDest", "isFraud", "isFlaggedFraud"]


def draw_paysim(rng: random.Random, number: int, after: int) -> Row:
    kind = rng.choice(["TRANSFER", "CASH_OUT", "PAYMENT"])
    ends = {"nameOrig": f"C{rng.randrange(6)}", "nameDest": f"C{rng.randrange(6)}"}
    return {"step": 1 + after // 60, "type": kind, "amount": rng.choice([10.5, 20.0]), **ends, **dict.fromkeys(BALANCES, 0)}


PAYSIM = Case(
    "paysim",
    ".csv",
    draw_paysim,
    write_csv(
        *(
            "step",
            "type",
            "amount",
            "nameOrig",
            "oldbalanceOrg",
            "newbalanceOrig",
            "nameDest",
            "oldbalanceDest",
            "newbalanceDest",
        ),
        *("isFraud", "isFlaggedFraud"),
    ),
    "PATTERN p MATCH (a)-[x:TRANSFER]->(b)-[y:CASH_OUT]->(c) ORDER x < y WHERE x.amount = y.amount ON paysim WINDOW 3h",
    lambda x, y: (
        (x["type"], y["type"]) == ("TRANSFER", "CASH_OUT")
        and x["nameDest"] == y["nameOrig"]
        and x["amount"] == y["amount"]
        and x["step"] < y["step"] < x["step"] + 3
        and len({x["nameOrig"], x["nameDest"], y["nameDest"]}) == 3
    ),
    10**9,
    number_of,
)

ZEEK_FIELDS = {
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
}


def draw_conn(rng: random.Random, number: int, after: int) -> Row:
    ends = {"id.orig_h": f"10.0.0.{rng.randrange(5)}", "id.resp_h": f"10.0.0.{rng.randrange(5)}"}
    ports = {"id.orig_p": 50_000 + number, "id.resp_p": rng.choice([22, 443])}
    counts = {"orig_bytes": rng.choice(["-", 10, 5_000]), "resp_bytes": rng.choice([0, 900])}
    others = {"service": "-", "duration": "0.5", "conn_state": "SF", "proto": "tcp", "uid": f"C{number}"}
    return {"ts": f"{START + after}.250000", **ends, **ports, **counts, **others}


def write_conn(rows: list[Row]) -> str:
    head = [
        "#separator \\x09",
        "#unset_field\t-",
        "\t".join(["#fields", *ZEEK_FIELDS]),
        "\t".join(["#types", *ZEEK_FIELDS.values()]),
    ]
    return "\n".join([*head, *("\t".join(str(row["is"][field]) for field in ZEEK_FIELDS) for row in rows)]) + "\n"


def bytes_of(row: Row) -> int:
    return sum(0 if row[field] == "-" else row[field] for field in ("orig_bytes", "resp_bytes"))


ZEEK = Case(
    "zeek-conn",
    ".log",
    draw_conn,
    write_conn,
    "PATTERN p MATCH (a:ip)-[x:tcp]->(b:ip)-[y:tcp]->(c:ip) ORDER x < y WHERE x.port = 22 AND y.bytes > 4000 "
    "ON zeek_conn WINDOW 2m",
    lambda x, y: (
        x["id.resp_h"] == y["id.orig_h"]
        and x["id.resp_p"] == 22
        and bytes_of(y) > 4_000
        and len({x["id.orig_h"], x["id.resp_h"], y["id.resp_h"]}) == 3
    ),
    120,
    lambda row: str(row["is"]["uid"]),
)


def draw_vpc(rng: random.Random, number: int, after: int) -> Row:
    ends = {"srcaddr": f"203.0.113.{rng.randrange(4)}", "dstaddr": f"10.0.0.{rng.randrange(3)}"}
    status = "NODATA" if rng.randrange(8) == 0 else "OK"
    fixed = {"version": 2, "account-id": 1, "interface-id": "eni-1", "protocol": 6, "packets": 1, "bytes": 60, "srcport": 1}
    times = {"start": START + after, "end": START + after + 60, "log-status": status}
    found = {**fixed, **ends, **times, "dstport": rng.choice([22, 443]), "action": rng.choice(["REJECT", "ACCEPT"])}
    return found if status == "OK" else found | {"srcaddr": "-", "dstaddr": "-", "action": "-"}


VPC = Case(
    "aws-vpc-flow",
    ".log",
    draw_vpc,
    write_csv(
        *("version", "account-id", "interface-id", "srcaddr", "dstaddr", "srcport", "dstport", "protocol", "packets", "bytes"),
        *("start", "end", "action", "log-status"),
        delimiter=" ",
    ),
    "PATTERN p MATCH (a)-[x:REJECT]->(b), (a)-[y:ACCEPT]->(b) ORDER x < y WHERE x.port = y.port ON vpc_flow WINDOW 5m",
    lambda x, y: (
        (x["action"], y["action"]) == ("REJECT", "ACCEPT")
        and (x["srcaddr"], x["dstaddr"], x["dstport"]) == (y["srcaddr"], y["dstaddr"], y["dstport"])
    ),
    300,
    number_of,
)


def draw_auth(rng: random.Random, number: int, after: int) -> Row:
    ends = {"source": f"C{rng.randrange(3)}", "target": f"S{rng.randrange(3)}"}
    user = {"user": f"U{rng.randrange(3)}@D", "other": "?", "kind": "?", "logon": "Network", "orientation": "LogOn"}
    return {"time": 1 + after, **user, **ends, "outcome": rng.choice(["Success", "Fail"])}


AUTH = Case(
    "lanl-auth",
    ".txt",
    draw_auth,
    write_csv(*("time", "user", "other", "source", "target", "kind", "logon", "orientation", "outcome"), header=False),
    "PATTERN p MATCH (a)-[x:LogOn]->(b), (a)-[y:LogOn]->(b) ORDER x < y "
    "WHERE NOT x.success AND y.success AND x.user <> y.user ON auth WINDOW 4m",
    lambda x, y: (
        (x["source"], x["target"]) == (y["source"], y["target"])
        and (x["outcome"], y["outcome"]) == ("Fail", "Success")
        and x["user"] != y["user"]
    ),
    240,
    number_of,
)


def draw_github(rng: random.Random, number: int, after: int) -> Row:
    kind = rng.choice(["PushEvent", "PullRequestEvent", "WatchEvent"])
    payload = {"PushEvent": {"size": rng.choice([0, 3])}, "PullRequestEvent": {"number": number, "action": "opened"}}
    return {
        "id": str(9_000 + number),
        "type": kind,
        "actor": {"login": f"u{rng.randrange(4)}"},
        "repo": {"name": f"o/r{rng.randrange(3)}"},
        "payload": payload.get(kind, {}),
        "created_at": f"2024-01-31T12:{after // 60:02}:{after % 60:02}Z",
    }


GITHUB = Case(
    "github-archive",
    ".jsonl",
    draw_github,
    write_lines,
    "PATTERN p MATCH (a:user)-[x:PushEvent]->(r:repository), (a)-[y:PullRequestEvent]->(r) ORDER x < y "
    "WHERE x.commits > 0 AND y.action = 'opened' ON github WINDOW 10m",
    lambda x, y: (
        (x["type"], y["type"]) == ("PushEvent", "PullRequestEvent")
        and (x["actor"], x["repo"]) == (y["actor"], y["repo"])
        and x["payload"]["size"] > 0
    ),
    600,
    lambda row: str(row["is"]["id"]),
)


def draw_ethereum(rng: random.Random, number: int, after: int) -> Row:
    fixed = {"nonce": 1, "block_hash": "0xb", "block_number": 1, "transaction_index": number, "gas": 21_000, "gas_price": 1}
    to = rng.choice(["", *(f"0x{end}" for end in range(4))])
    value = rng.choice([10**17, 2 * 10**18, 3 * 10**22])
    ends = {"hash": f"0xa{number}", "from_address": f"0x{rng.randrange(4)}", "to_address": to, "value": value}
    return {**fixed, **ends, "input": "0x", "block_timestamp": START + after}


ETHEREUM = Case(
    "ethereum-transactions",
    ".csv",
    draw_ethereum,
    write_csv(
        *("hash", "nonce", "block_hash", "block_number", "transaction_index", "from_address", "to_address", "value", "gas"),
        *("gas_price", "input", "block_timestamp"),
    ),
    "PATTERN p MATCH (a)-[x:transaction]->(b)-[y:transaction]->(a) ORDER x < y WHERE x.ether >= 1 AND y.ether >= 1 "
    "ON transactions WINDOW 10m",
    lambda x, y: (
        (x["from_address"], x["to_address"]) == (y["to_address"], y["from_address"])
        and x["from_address"] != x["to_address"]
        and min(x["value"], y["value"]) >= 10**18
    ),
    600,
    lambda row: str(row["is"]["hash"]),
)


def draw_suricata(rng: random.Random, number: int, after: int) -> Row:
    kind = rng.choice(["alert", "flow", "stats"])
    common = {"timestamp": f"2024-01-31T12:{after // 60:02}:{after % 60:02}.000000+0000", "event_type": kind}
    if kind == "stats":
        return common
    ends = {"src_ip": f"10.0.0.{rng.randrange(2)}", "dest_ip": "198.51.100.7", "dest_port": 80, "flow_id": rng.randrange(8)}
    more = (
        {"alert": {"severity": rng.choice([1, 3])}}
        if kind == "alert"
        else {"flow": {"bytes_toclient": rng.choice([10, 9_000])}}
    )
    return {**common, **ends, **more}


SURICATA = Case(
    "suricata-eve",
    ".jsonl",
    draw_suricata,
    write_lines,
    "PATTERN p MATCH (a)-[x:alert]->(b), (a)-[y:flow]->(b) ORDER x < y "
    "WHERE x.flow_id = y.flow_id AND x.severity = 1 AND y.to_client_bytes > 1000 ON suricata WINDOW 10m",
    lambda x, y: (
        (x["event_type"], y["event_type"]) == ("alert", "flow")
        and (x["src_ip"], x["flow_id"]) == (y["src_ip"], y["flow_id"])
        and x["alert"]["severity"] == 1
        and y["flow"]["bytes_toclient"] > 1_000
    ),
    600,
    number_of,
)


def draw_audit(rng: random.Random, number: int, after: int) -> Row:
    resource, verb = rng.choice([("secrets", "get"), ("pods", "create")])
    return {
        "auditID": f"a-{number}",
        "stage": rng.choice(["ResponseComplete", "RequestReceived"]),
        "verb": verb,
        "user": {"username": f"u{rng.randrange(3)}"},
        "sourceIPs": ["10.0.0.1"],
        "requestURI": "/",
        "objectRef": {"resource": resource, "namespace": rng.choice(["shop", "bank"]), "name": f"n{rng.randrange(2)}"}
        | ({"subresource": "exec"} if verb == "create" else {}),
        "responseStatus": {"code": rng.choice([200, 403])},
        "requestReceivedTimestamp": f"2024-01-31T12:{after // 60:02}:{after % 60:02}.000001Z",
    }


AUDIT = Case(
    "kubernetes-audit",
    ".jsonl",
    draw_audit,
    write_lines,
    "PATTERN p MATCH (u:user)-[x:get]->(s:secrets), (u)-[y:create]->(p:pods) ORDER x < y "
    "WHERE x.code = 200 AND y.subresource = 'exec' AND x.namespace = y.namespace ON audit WINDOW 5m",
    lambda x, y: (
        (x["verb"], y["verb"]) == ("get", "create")
        and x["stage"] == y["stage"] == "ResponseComplete"
        and x["user"] == y["user"]
        and x["objectRef"]["namespace"] == y["objectRef"]["namespace"]
        and x["responseStatus"]["code"] == 200
    ),
    300,
    lambda row: str(row["is"]["auditID"]),
)


def draw_snap(rng: random.Random, number: int, after: int) -> Row:
    return {"src": rng.randrange(6), "dst": rng.randrange(6), "ts": START + after}


SNAP = Case(
    "snap-temporal",
    ".txt",
    draw_snap,
    lambda rows: "# source target seconds\n" + write_csv("src", "dst", "ts", header=False, delimiter=" ")(rows),
    "PATTERN p MATCH (a)-[x]->(b)-[y]->(a) ORDER x < y ON snap WINDOW 5m",
    lambda x, y: (x["src"], x["dst"]) == (y["dst"], y["src"]) and x["src"] != x["dst"],
    300,
    number_of,
)

CASES = [PAYSIM, ZEEK, VPC, AUTH, GITHUB, ETHEREUM, SURICATA, AUDIT, SNAP]


def draw_records(case: Case, seed: int) -> list[Row]:
    rng, after, rows = random.Random(seed), 0, list[Row]()
    for number in range(RECORDS):
        after += rng.randrange(1, 30)
        rows.append({"number": number, "after": after, "is": case.draw(rng, number, after)})
    return rows


def find_pairs(case: Case, rows: list[Row]) -> Iterator[tuple[str, str]]:
    for place, x in enumerate(rows):
        for y in rows[place + 1 :]:
            if y["after"] - x["after"] < case.seconds and case.holds(x["is"], y["is"]):
                yield case.id_of(x), case.id_of(y)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.preset)
def test_matches_are_those_that_loops_over_the_raw_records_find(case: Case, seed: int, tmp_path: Path) -> None:
    rows = draw_records(case, seed)
    file = tmp_path / f"records{case.suffix}"
    file.write_text(case.write(rows), encoding="utf-8")
    options = MatchOptions(stream=Stream.preset(case.preset))
    found = sorted((each.edges["x"], each.edges["y"]) for each in match(case.pattern, file, options))
    expected = sorted(find_pairs(case, rows))
    assert expected, "the records must have matches"
    assert found == expected
