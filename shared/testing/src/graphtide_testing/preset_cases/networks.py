"""Networks of people, of news and of transactions that other data sets have as edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_testing.preset_cases.case import START, PresetCase, Row, clock_of, made_id, write_csv

if TYPE_CHECKING:
    import random


def _draw_knows(rng: random.Random, number: int, after: int) -> Row:
    stamp = (START + after) * 1000 if number % 2 else f"{clock_of(after)}.000+00:00"
    return {"creationDate": stamp, "Person1Id": rng.randrange(6), "Person2Id": rng.randrange(6)}


KNOWS: Final = PresetCase(
    "ldbc-knows",
    _draw_knows,
    write_csv("creationDate", "Person1Id", "Person2Id", delimiter="|"),
    lambda x, y: (x["Person1Id"], x["Person2Id"]) == (y["Person2Id"], y["Person1Id"]) and x["Person1Id"] != x["Person2Id"],
    360,
    made_id,
)


def _draw_update(rng: random.Random, number: int, after: int) -> Row:
    operation = rng.choice([2, 3, 6, 8])
    stamp = (START + after) * 1000
    ends = [rng.randrange(4), 4 + rng.randrange(4) if operation != 8 else rng.randrange(4)]
    own = [number, "", stamp, "198.51.100.7", "Firefox", "", "A post.", 7] if operation == 6 else [*ends, stamp]
    return {"operation": operation, "ends": ends, "line": "|".join(map(str, [stamp, START, operation, *own]))}


# Somebody makes a friend who liked a post a little earlier.
UPDATES: Final = PresetCase(
    "ldbc-updates",
    _draw_update,
    lambda rows: "".join(f"{row['line']}\n" for row in rows),
    lambda x, y: (x["operation"], y["operation"]) == (2, 8) and y["ends"][1] == x["ends"][0] and y["ends"][0] != x["ends"][0],
    120,
    lambda number, row: f"{number}#{ {2: 1, 3: 2, 8: 3}[row['operation']] }",
)


def _draw_comment(rng: random.Random, number: int, after: int) -> Row:
    user = f' UserId="{rng.randrange(4)}"' if rng.randrange(5) else ' UserDisplayName="gone"'
    text = rng.choice(["Thanks!", "Is 1 &lt; 2 &amp;&amp; 2 &lt; 3, or is it not, and why would it be so?"])
    return {"Id": number, "PostId": 10 + rng.randrange(4), "Text": text, "user": user, "CreationDate": f"{clock_of(after)}.250"}


def _write_comments(rows: list[Row]) -> str:
    lines = [
        f'  <row Id="{row["Id"]}" PostId="{row["PostId"]}" Score="0" Text="{row["Text"]}" '
        f'CreationDate="{row["CreationDate"]}"{row["user"]} />'
        for row in rows
    ]
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', "<comments>", *lines, "</comments>"]) + "\n"


# A long comment, and a short one under it by somebody else.
COMMENTS: Final = PresetCase(
    "stackexchange-comments",
    _draw_comment,
    _write_comments,
    lambda x, y: (
        "UserId" in x["user"]
        and "UserId" in y["user"]
        and x["user"] != y["user"]
        and x["PostId"] == y["PostId"]
        and len(x["Text"]) > 20 > len(y["Text"])
    ),
    300,
    lambda _, row: str(row["Id"]),
)


GDELT_COLUMNS: Final = 61


def _draw_gdelt(rng: random.Random, number: int, after: int) -> Row:
    row = dict.fromkeys(map(str, range(GDELT_COLUMNS)), "")
    actors = {"5": rng.choice(["", "DEU", "FRA", "USAGOV"]), "15": rng.choice(["DEU", "FRA", "USAGOV"])}
    codes = {"26": rng.choice(["112", "040"]), "30": rng.choice(["-2.0", "1.0"]), "0": str(1_150_000_000 + number)}
    stamp = clock_of(after).translate({ord(each): None for each in "-T:"})
    return row | actors | codes | {"59": stamp}


# One accuses another, and the other one talks to it soon after.
GDELT: Final = PresetCase(
    "gdelt",
    _draw_gdelt,
    write_csv(*map(str, range(GDELT_COLUMNS)), header=False, delimiter="\t"),
    lambda x, y: (
        (x["26"], y["26"], x["30"], y["30"]) == ("112", "040", "-2.0", "1.0")
        and x["5"] != ""
        and (x["5"], x["15"]) == (y["15"], y["5"])
        and x["5"] != x["15"]
    ),
    900,
    lambda _, row: str(row["0"]),
)


def _draw_elliptic(rng: random.Random, _number: int, _after: int) -> Row:
    return {"txId1": rng.randrange(40), "txId2": rng.randrange(40)}


# All edges have one time, so that no order is among them.
ELLIPTIC: Final = PresetCase(
    "elliptic",
    _draw_elliptic,
    write_csv("txId1", "txId2"),
    lambda x, y: x["txId2"] == y["txId1"] and len({x["txId1"], x["txId2"], y["txId2"]}) == 3,
    10**9,
    made_id,
    ordered=False,
)


def _draw_aml(rng: random.Random, number: int, after: int) -> Row:
    ends = {"orig_acct": rng.randrange(5), "bene_acct": rng.randrange(5), "tx_type": "TRANSFER"}
    amount, suspicious = rng.choice([100.5, 250.0]), rng.choice(["True", "False"])
    stamp = {"tran_timestamp": f"{clock_of(after)}Z", "is_sar": suspicious, "alert_id": 7 if suspicious == "True" else -1}
    return {"tran_id": number, **ends, "base_amt": amount, **stamp}


# Money passes through an account in one amount, and somebody has found the first payment suspicious.
AML: Final = PresetCase(
    "amlsim",
    _draw_aml,
    write_csv("tran_id", "orig_acct", "bene_acct", "tx_type", "base_amt", "tran_timestamp", "is_sar", "alert_id"),
    lambda x, y: (
        x["bene_acct"] == y["orig_acct"]
        and x["base_amt"] == y["base_amt"]
        and x["is_sar"] == "True"
        and len({x["orig_acct"], x["bene_acct"], y["bene_acct"]}) == 3
    ),
    180,
    lambda _, row: str(row["tran_id"]),
)

NETWORKS: Final = (KNOWS, UPDATES, COMMENTS, GDELT, ELLIPTIC, AML)
