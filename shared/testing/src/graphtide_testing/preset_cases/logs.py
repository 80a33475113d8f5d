"""Logs of machines and networks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from graphtide_testing.preset_cases.case import START, PresetCase, Row, clock_of, made_id, write_csv, write_lines

if TYPE_CHECKING:
    import random


def _draw_vpc(rng: random.Random, _number: int, after: int) -> Row:
    ends = {"srcaddr": f"203.0.113.{rng.randrange(4)}", "dstaddr": f"10.0.0.{rng.randrange(3)}"}
    status = "NODATA" if rng.randrange(8) == 0 else "OK"
    fixed = {"version": 2, "account-id": 1, "interface-id": "eni-1", "protocol": 6, "packets": 1, "bytes": 60, "srcport": 1}
    times = {"start": START + after, "end": START + after + 60, "log-status": status}
    found = {**fixed, **ends, **times, "dstport": rng.choice([22, 443]), "action": rng.choice(["REJECT", "ACCEPT"])}
    return found if status == "OK" else found | {"srcaddr": "-", "dstaddr": "-", "action": "-"}


VPC: Final = PresetCase(
    "aws-vpc-flow",
    _draw_vpc,
    write_csv(
        *("version", "account-id", "interface-id", "srcaddr", "dstaddr", "srcport", "dstport", "protocol", "packets", "bytes"),
        *("start", "end", "action", "log-status"),
        delimiter=" ",
    ),
    lambda x, y: (
        (x["action"], y["action"]) == ("REJECT", "ACCEPT")
        and (x["srcaddr"], x["dstaddr"], x["dstport"]) == (y["srcaddr"], y["dstaddr"], y["dstport"])
    ),
    300,
    made_id,
)


def _draw_auth(rng: random.Random, _number: int, after: int) -> Row:
    ends = {"source": f"C{rng.randrange(3)}", "target": f"S{rng.randrange(3)}"}
    user = {"user": f"U{rng.randrange(3)}@D", "other": "?", "kind": "?", "logon": "Network", "orientation": "LogOn"}
    return {"time": 1 + after, **user, **ends, "outcome": rng.choice(["Success", "Fail"])}


AUTH: Final = PresetCase(
    "lanl-auth",
    _draw_auth,
    write_csv(*("time", "user", "other", "source", "target", "kind", "logon", "orientation", "outcome"), header=False),
    lambda x, y: (
        (x["source"], x["target"]) == (y["source"], y["target"])
        and (x["outcome"], y["outcome"]) == ("Fail", "Success")
        and x["user"] != y["user"]
    ),
    240,
    made_id,
)


def _draw_suricata(rng: random.Random, _number: int, after: int) -> Row:
    kind = rng.choice(["alert", "flow", "stats"])
    common = {"timestamp": f"{clock_of(after)}.000000+0000", "event_type": kind}
    if kind == "stats":
        return common
    ends = {"src_ip": f"10.0.0.{rng.randrange(2)}", "dest_ip": "198.51.100.7", "dest_port": 80, "flow_id": rng.randrange(8)}
    more = (
        {"alert": {"severity": rng.choice([1, 3])}}
        if kind == "alert"
        else {"flow": {"bytes_toclient": rng.choice([10, 9_000])}}
    )
    return {**common, **ends, **more}


SURICATA: Final = PresetCase(
    "suricata-eve",
    _draw_suricata,
    write_lines,
    lambda x, y: (
        (x["event_type"], y["event_type"]) == ("alert", "flow")
        and (x["src_ip"], x["flow_id"]) == (y["src_ip"], y["flow_id"])
        and x["alert"]["severity"] == 1
        and y["flow"]["bytes_toclient"] > 1_000
    ),
    600,
    made_id,
)


def _draw_audit(rng: random.Random, number: int, after: int) -> Row:
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
        "requestReceivedTimestamp": f"{clock_of(after)}.000001Z",
    }


AUDIT: Final = PresetCase(
    "kubernetes-audit",
    _draw_audit,
    write_lines,
    lambda x, y: (
        (x["verb"], y["verb"]) == ("get", "create")
        and x["stage"] == y["stage"] == "ResponseComplete"
        and x["user"] == y["user"]
        and x["objectRef"]["namespace"] == y["objectRef"]["namespace"]
        and x["responseStatus"]["code"] == 200
    ),
    300,
    lambda _, row: str(row["auditID"]),
)


def _draw_sysmon(rng: random.Random, number: int, after: int) -> Row:
    event = rng.choice([1, "3", 5])
    process, parent = f"{{p{rng.randrange(9)}}}", f"{{p{rng.randrange(9)}}}"
    data: Row = {"ProcessGuid": process, "Image": rng.choice(["cmd.exe", "word.exe"])}
    if event == 1:
        data |= {"ParentProcessGuid": parent, "ParentImage": rng.choice(["word.exe", "explorer.exe"]), "CommandLine": "x"}
    if event == "3":
        data["Protocol"] = "tcp"
        data |= {
            "DestinationIp": f"198.51.100.{rng.randrange(3)}",
            "DestinationPort": rng.choice(["443", 8080]),
            "Protocol": "tcp",
        }
    winlog = {"provider_name": "Microsoft-Windows-Sysmon", "event_id": event, "computer_name": "pc", "record_id": number}
    return {"@timestamp": f"{clock_of(after)}.000Z", "winlog": winlog | {"event_data": data}}


def _data_of(row: Row) -> Row:
    found: Row = row["winlog"]["event_data"]
    return found


def _id_of_sysmon(number: int, row: Row) -> str:
    return f"{number}#{1 if row['winlog']['event_id'] == 1 else 2}"


SYSMON: Final = PresetCase(
    "sysmon",
    _draw_sysmon,
    write_lines,
    lambda x, y: (
        (x["winlog"]["event_id"], y["winlog"]["event_id"]) == (1, "3")
        and _data_of(x)["ProcessGuid"] == _data_of(y)["ProcessGuid"] != _data_of(x)["ParentProcessGuid"]
        and _data_of(x)["ParentImage"] == "word.exe"
        and int(_data_of(y)["DestinationPort"]) == 8_080
    ),
    1_200,
    _id_of_sysmon,
)


def _draw_logon(rng: random.Random, number: int, after: int) -> Row:
    data = {
        "TargetUserName": f"u{rng.randrange(3)}",
        "LogonType": rng.choice(["3", "10"]),
        "IpAddress": f"10.0.0.{rng.randrange(3)}",
    }
    winlog = {"event_id": rng.choice([4624, "4625", 4634]), "computer_name": f"s{rng.randrange(2)}", "record_id": number}
    return {"@timestamp": f"{clock_of(after)}Z", "winlog": winlog | {"event_data": data}}


LOGONS: Final = PresetCase(
    "windows-logons",
    _draw_logon,
    write_lines,
    lambda x, y: (
        (str(x["winlog"]["event_id"]), str(y["winlog"]["event_id"])) == ("4625", "4624")
        and x["winlog"]["computer_name"] == y["winlog"]["computer_name"]
        and (_data_of(x)["IpAddress"], _data_of(x)["TargetUserName"])
        == (_data_of(y)["IpAddress"], _data_of(y)["TargetUserName"])
        and _data_of(y)["LogonType"] == "10"
    ),
    900,
    made_id,
)


def _draw_trail(rng: random.Random, number: int, after: int) -> Row:
    name = rng.choice(["AssumeRole", "GetObject"])
    user = (
        {"type": "IAMUser", "arn": f"arn:u{rng.randrange(3)}"}
        if rng.randrange(4)
        else {"type": "AWSService", "invokedBy": "ec2"}
    )
    asked = {"roleArn": f"arn:r{rng.randrange(2)}"} if name == "AssumeRole" else {"bucketName": "b"}
    found = {"eventID": f"e-{number}", "eventName": name, "eventTime": f"{clock_of(after)}Z", "userIdentity": user}
    denied = {"errorCode": "AccessDenied"} if rng.randrange(2) else {}
    return {**found, **denied, "sourceIPAddress": f"10.0.0.{rng.randrange(3)}", "requestParameters": asked}


def _user_of(row: Row) -> Any:
    return row["userIdentity"].get("arn") or row["userIdentity"]["invokedBy"]


TRAIL: Final = PresetCase(
    "aws-cloudtrail",
    _draw_trail,
    lambda rows: json.dumps({"Records": rows}),
    lambda x, y: (
        x["eventName"] == y["eventName"] == "AssumeRole"
        and x["requestParameters"] == y["requestParameters"]
        and _user_of(x) != _user_of(y)
        and "errorCode" in x
        and "errorCode" not in y
        and x["sourceIPAddress"] == y["sourceIPAddress"]
    ),
    600,
    lambda _, row: f"{row['eventID']}#1",
)


def _draw_syslog(rng: random.Random, _number: int, after: int) -> Row:
    host, program = rng.choice(["-", "db1", "db2"]), rng.choice(["kernel", "sshd", "cron"])
    severity, is_new = rng.choice([2, 3, 6]), rng.randrange(2) == 1
    head = f"<{8 + severity}>1 " if is_new else f"<{8 + severity}>"
    rest = f"{program} - - - it happened" if is_new else f"{program}: it happened"
    text = f"{head}{clock_of(after)}Z {host} {rest}"
    # In RFC 3164 a dash is a name as others are.
    return {"text": text, "host": None if is_new and host == "-" else host, "program": program, "severity": severity}


SYSLOG: Final = PresetCase(
    "syslog",
    _draw_syslog,
    lambda rows: "".join(f"{row['text']}\n" for row in rows),
    lambda x, y: (
        x["host"] is not None
        and x["host"] == y["host"]
        and x["program"] == "kernel" != y["program"]
        and max(x["severity"], y["severity"]) <= 3
    ),
    120,
    lambda number, _: f"{number}#1",
)


LOGS: Final = (SYSLOG, VPC, AUTH, SURICATA, AUDIT, SYSMON, LOGONS, TRAIL)
