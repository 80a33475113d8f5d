"""Payments, messages and calls."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from graphtide_testing.preset_cases.case import START, PresetCase, Row, clock_of, made_id, write_csv, write_lines

if TYPE_CHECKING:
    import random


BALANCES: Final = ["oldbalanceOrg", "newbalanceOrig", "oldbalanceDest", "newbalanceDest", "isFraud", "isFlaggedFraud"]


def _draw_paysim(rng: random.Random, _number: int, after: int) -> Row:
    kind = rng.choice(["TRANSFER", "CASH_OUT", "PAYMENT"])
    ends = {"nameOrig": f"C{rng.randrange(6)}", "nameDest": f"C{rng.randrange(6)}"}
    return {"step": 1 + after // 60, "type": kind, "amount": rng.choice([10.5, 20.0]), **ends, **dict.fromkeys(BALANCES, 0)}


PAYSIM: Final = PresetCase(
    "paysim",
    _draw_paysim,
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
    lambda x, y: (
        (x["type"], y["type"]) == ("TRANSFER", "CASH_OUT")
        and x["nameDest"] == y["nameOrig"]
        and x["amount"] == y["amount"]
        and x["step"] < y["step"] < x["step"] + 3
        and len({x["nameOrig"], x["nameDest"], y["nameDest"]}) == 3
    ),
    10**9,
    made_id,
)


def _draw_ethereum(rng: random.Random, number: int, after: int) -> Row:
    fixed = {"nonce": 1, "block_hash": "0xb", "block_number": 1, "transaction_index": number, "gas": 21_000, "gas_price": 1}
    to = rng.choice(["", *(f"0x{end}" for end in range(4))])
    value = rng.choice([10**17, 2 * 10**18, 3 * 10**22])
    ends = {"hash": f"0xa{number}", "from_address": f"0x{rng.randrange(4)}", "to_address": to, "value": value}
    return {**fixed, **ends, "input": "0x", "block_timestamp": START + after}


ETHEREUM: Final = PresetCase(
    "ethereum-transactions",
    _draw_ethereum,
    write_csv(
        *("hash", "nonce", "block_hash", "block_number", "transaction_index", "from_address", "to_address", "value", "gas"),
        *("gas_price", "input", "block_timestamp"),
    ),
    lambda x, y: (
        (x["from_address"], x["to_address"]) == (y["to_address"], y["from_address"])
        and x["from_address"] != x["to_address"]
        and min(x["value"], y["value"]) >= 10**18
    ),
    600,
    lambda _, row: str(row["hash"]),
)


def _draw_token(rng: random.Random, number: int, _after: int) -> Row:
    ends = {"from_address": f"0x{rng.randrange(5)}", "to_address": f"0x{rng.randrange(5)}"}
    value = rng.choice([5, 10**30])
    return {
        "token_address": f"0xc{rng.randrange(2)}",
        **ends,
        "value": value,
        "transaction_hash": f"0xa{number}",
        "log_index": 1,
    }


TOKENS: Final = PresetCase(
    "ethereum-token-transfers",
    lambda rng, number, after: _draw_token(rng, number, after) | {"block_number": after},
    write_csv("token_address", "from_address", "to_address", "value", "transaction_hash", "log_index", "block_number"),
    lambda x, y: (
        {x["token_address"], y["token_address"]} == {"0xc1"}
        and x["value"] == y["value"] == 10**30
        and x["to_address"] == y["from_address"]
        and len({x["from_address"], x["to_address"], y["to_address"]}) == 3
    ),
    200,
    lambda _, row: f"{row['transaction_hash']}/1",
)


def _draw_ibm(rng: random.Random, number: int, after: int) -> Row:
    accounts = {"Account": f"A{rng.randrange(4)}", "Account2": f"A{rng.randrange(4)}"}
    banks = {"From Bank": rng.choice(["010", "70"]), "To Bank": rng.choice(["010", "70"])}
    paid = {"Amount Received": 5, "Receiving Currency": "Euro", "Amount Paid": rng.choice([5, 9.5]), "Payment Currency": "Euro"}
    # Times have minutes, so a second of the others is a minute here.
    stamp = datetime.fromtimestamp(START + 60 * after, UTC).strftime("%Y/%m/%d %H:%M")
    return {"Timestamp": stamp, **banks, **accounts, **paid, "Payment Format": "ACH", "Is Laundering": number % 2}


def _write_ibm(rows: list[Row]) -> str:
    ends = ["From Bank", "Account", "To Bank", "Account2"]
    paid = ["Amount Received", "Receiving Currency", "Amount Paid", "Payment Currency"]
    text = write_csv("Timestamp", *ends, *paid, "Payment Format", "Is Laundering")(rows)
    return text.replace("Account2", "Account")


IBM: Final = PresetCase(
    "ibm-aml",
    _draw_ibm,
    _write_ibm,
    lambda x, y: (
        (x["From Bank"], x["Account"]) == (y["To Bank"], y["Account2"])
        and (x["To Bank"], x["Account2"]) == (y["From Bank"], y["Account"])
        and (x["From Bank"], x["Account"]) != (x["To Bank"], x["Account2"])
        and x["Amount Paid"] > y["Amount Paid"]
    ),
    180,
    lambda number, _: str(number + 1),
)


def _draw_spans(rng: random.Random, number: int, after: int) -> Row:
    start = (START + after) * 10**9
    parent = f"s{rng.randrange(number)}" if number and rng.randrange(4) else ""
    span = {"traceId": "t", "spanId": f"s{number}", "parentSpanId": parent, "name": rng.choice(["GET", "SQL"])}
    return {**span, "startTimeUnixNano": str(start), "endTimeUnixNano": start + rng.choice([1, 900]) * 10**6, "status": {}}


def _milliseconds_of(row: Row) -> float:
    return (int(row["endTimeUnixNano"]) - int(row["startTimeUnixNano"])) / 10**6


SPANS: Final = PresetCase(
    "otlp-spans",
    _draw_spans,
    lambda rows: json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": rows[:40]}, {"spans": rows[40:]}]}]}),
    lambda x, y: (
        (x["name"], y["name"]) == ("GET", "SQL")
        and x["parentSpanId"] != ""
        and y["parentSpanId"] == x["spanId"]
        and min(_milliseconds_of(x), _milliseconds_of(y)) > 500
    ),
    1_200,
    lambda _, row: f"t/{row['spanId']}#1",
)


def _draw_github(rng: random.Random, number: int, after: int) -> Row:
    kind = rng.choice(["PushEvent", "PullRequestEvent", "WatchEvent"])
    payload = {"PushEvent": {"size": rng.choice([0, 3])}, "PullRequestEvent": {"number": number, "action": "opened"}}
    return {
        "id": str(9_000 + number),
        "type": kind,
        "actor": {"login": f"u{rng.randrange(4)}"},
        "repo": {"name": f"o/r{rng.randrange(3)}"},
        "payload": payload.get(kind, {}),
        "created_at": f"{clock_of(after)}Z",
    }


GITHUB: Final = PresetCase(
    "github-archive",
    _draw_github,
    write_lines,
    lambda x, y: (
        (x["type"], y["type"]) == ("PushEvent", "PullRequestEvent")
        and (x["actor"], x["repo"]) == (y["actor"], y["repo"])
        and x["payload"]["size"] > 0
    ),
    600,
    lambda _, row: str(row["id"]),
)


def _draw_snap(rng: random.Random, _number: int, after: int) -> Row:
    return {"src": rng.randrange(6), "dst": rng.randrange(6), "ts": START + after}


SNAP: Final = PresetCase(
    "snap-temporal",
    _draw_snap,
    lambda rows: "# source target seconds\n" + write_csv("src", "dst", "ts", header=False, delimiter=" ")(rows),
    lambda x, y: (x["src"], x["dst"]) == (y["dst"], y["src"]) and x["src"] != x["dst"],
    300,
    made_id,
)


TRANSFERS: Final = (PAYSIM, ETHEREUM, TOKENS, IBM, SPANS, GITHUB, SNAP)
