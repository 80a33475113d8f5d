"""Logs of Zeek, each as tab-separated values and as JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from graphtide_testing.preset_cases.case import START, PresetCase, Row, made_id, write_lines

if TYPE_CHECKING:
    import random
    from collections.abc import Callable


FIELDS: Final = {
    "ts": "time",
    "uid": "string",
    "id.orig_h": "addr",
    "id.orig_p": "port",
    "id.resp_h": "addr",
    "id.resp_p": "port",
}
"""Those that every log has, with their types."""


def _common(rng: random.Random, number: int, after: int, clients: int, servers: int) -> Row:
    ends = {"id.orig_h": f"10.0.0.{rng.randrange(clients)}", "id.resp_h": f"10.0.0.{rng.randrange(servers)}"}
    return {"ts": START + after + 0.25, "uid": f"C{number}", **ends, "id.orig_p": 50_000 + number}


def _text_of(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "T" if value else "F"
        case list():
            return ",".join(map(str, value))
        case _:
            return str(value)


def _write_tab_separated(fields: dict[str, str]) -> Callable[[list[Row]], str]:
    head = ["#separator \\x09", "#set_separator\t,", "#unset_field\t-"]
    head += ["\t".join(["#fields", *fields]), "\t".join(["#types", *fields.values()])]

    def write(rows: list[Row]) -> str:
        return "\n".join([*head, *("\t".join(_text_of(row[field]) for field in fields) for row in rows)]) + "\n"

    return write


def _write_json(rows: list[Row]) -> str:
    return write_lines([{field: value for field, value in row.items() if value is not None} for row in rows])


def _both(tab_separated: PresetCase) -> tuple[PresetCase, PresetCase]:
    """Return the cases of both forms of a log, given that of tab-separated values."""
    return tab_separated, replace(tab_separated, preset=f"{tab_separated.preset}-json", write=_write_json)


def _uid(_number: int, row: Row) -> str:
    return str(row["uid"])


def _draw_conn(rng: random.Random, number: int, after: int) -> Row:
    counts = {"orig_bytes": rng.choice([None, 10, 5_000]), "resp_bytes": rng.choice([0, 900])}
    others = {"service": None, "duration": 0.5, "conn_state": "SF", "proto": "tcp", "id.resp_p": rng.choice([22, 443])}
    return _common(rng, number, after, 5, 5) | counts | others


CONN: Final = _both(
    PresetCase(
        "zeek-conn",
        _draw_conn,
        _write_tab_separated(
            FIELDS
            | {
                "proto": "enum",
                "service": "string",
                "duration": "interval",
                "orig_bytes": "count",
                "resp_bytes": "count",
                "conn_state": "string",
            }
        ),
        lambda x, y: (
            x["id.resp_h"] == y["id.orig_h"]
            and x["id.resp_p"] == 22
            and (y["orig_bytes"] or 0) + y["resp_bytes"] > 4_000
            and len({x["id.orig_h"], x["id.resp_h"], y["id.resp_h"]}) == 3
        ),
        120,
        _uid,
    )
)


def _draw_dns(rng: random.Random, number: int, after: int) -> Row:
    found = rng.randrange(2) == 1
    query = rng.choice([None, "A.example.org", "a.EXAMPLE.org", "b.example.org"])
    answer = {"rcode_name": "NOERROR", "answers": ["198.51.100.7", "198.51.100.8"]}
    common = _common(rng, number, after, 3, 1) | {"id.resp_p": 53, "proto": "udp", "query": query}
    return common | (answer if found else {"rcode_name": "NXDOMAIN", "answers": None})


# One client asks for a name in vain, and gets an answer later: how a name of malicious software comes alive.
DNS: Final = _both(
    PresetCase(
        "zeek-dns",
        _draw_dns,
        _write_tab_separated(
            FIELDS | {"proto": "enum", "query": "string", "rcode_name": "string", "answers": "vector[string]"}
        ),
        lambda x, y: (
            x["query"] is not None
            and y["query"] is not None
            and x["query"].lower() == y["query"].lower()
            and x["id.orig_h"] == y["id.orig_h"]
            and (x["rcode_name"], y["rcode_name"]) == ("NXDOMAIN", "NOERROR")
        ),
        300,
        made_id,
    )
)


def _host_of(row: Row) -> str:
    return str(row["host"] or row["id.resp_h"]).lower()


def _draw_http(rng: random.Random, number: int, after: int) -> Row:
    own: Row = {"method": rng.choice(["GET", "POST"]), "host": rng.choice([None, "Shop.example.org", "cdn.example.org"])}
    own |= {"referrer": rng.choice([None, "http://Shop.example.org:8080/cart?x=1"]), "trans_depth": rng.randrange(1, 4)}
    return _common(rng, number, after, 3, 2) | {"id.resp_p": 80, "status_code": rng.choice([200, 403])} | own


# A client is refused, and posts to the same host later.
HTTP: Final = _both(
    PresetCase(
        "zeek-http",
        _draw_http,
        _write_tab_separated(
            FIELDS
            | {"trans_depth": "count", "method": "string", "host": "string", "referrer": "string", "status_code": "count"}
        ),
        lambda x, y: (
            (x["method"], y["method"], x["status_code"]) == ("GET", "POST", 403)
            and x["id.orig_h"] == y["id.orig_h"]
            and _host_of(x) == _host_of(y) != x["id.orig_h"]
            and y["referrer"] is not None
        ),
        300,
        lambda _, row: f"{row['uid']}/{row['trans_depth']}",
    )
)


def _draw_ssh(rng: random.Random, number: int, after: int) -> Row:
    own = {"id.resp_p": 22, "auth_success": rng.choice([None, True, False]), "auth_attempts": rng.randrange(6)}
    return _common(rng, number, after, 4, 4) | own


# Many attempts fail; then the login succeeds.
SSH: Final = _both(
    PresetCase(
        "zeek-ssh",
        _draw_ssh,
        _write_tab_separated(FIELDS | {"auth_success": "bool", "auth_attempts": "count"}),
        lambda x, y: (
            x["auth_success"] is False
            and y["auth_success"] is True
            and x["auth_attempts"] >= 3
            and (x["id.orig_h"], x["id.resp_h"]) == (y["id.orig_h"], y["id.resp_h"])
            and x["id.orig_h"] != x["id.resp_h"]
        ),
        600,
        _uid,
    )
)


def _draw_kerberos(rng: random.Random, number: int, after: int) -> Row:
    kind, service = rng.choice([("AS", "krbtgt/X"), ("TGS", "cifs/a"), ("TGS", "cifs/b")])
    own = {"request_type": kind, "client": rng.choice([None, "ann/X", "bob/X"]), "service": service}
    success = rng.randrange(4) > 0
    error = None if success else "KDC_ERR_PREAUTH_FAILED"
    cipher = rng.choice(["rc4-hmac", "aes256-cts-hmac-sha1-96"])
    return _common(rng, number, after, 2, 1) | {"id.resp_p": 88, "success": success, "error_msg": error, "cipher": cipher} | own


# Tickets for two services in a weak cipher within minutes: Kerberoasting.
KERBEROS: Final = _both(
    PresetCase(
        "zeek-kerberos",
        _draw_kerberos,
        _write_tab_separated(
            FIELDS
            | {
                "request_type": "string",
                "client": "string",
                "service": "string",
                "success": "bool",
                "error_msg": "string",
                "cipher": "string",
            }
        ),
        lambda x, y: (
            x["request_type"] == y["request_type"] == "TGS"
            and x["client"] == y["client"] is not None
            and x["service"] != y["service"]
            and x["success"]
            and y["success"]
            and x["cipher"] == y["cipher"] == "rc4-hmac"
            and x["id.orig_h"] == y["id.orig_h"]
        ),
        600,
        made_id,
    )
)

ZEEK: Final = (*CONN, *DNS, *HTTP, *SSH, *KERBEROS)
