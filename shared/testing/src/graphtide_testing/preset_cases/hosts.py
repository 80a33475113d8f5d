"""What processes do on machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from graphtide_testing.preset_cases.case import START, PresetCase, Row, clock_of, write_lines

if TYPE_CHECKING:
    import random


def _draw_auditd(rng: random.Random, number: int, after: int) -> Row:
    stamp = f"audit({START + after}.250:{number})"
    if rng.randrange(5) == 0:
        return {"text": f'type=CWD msg={stamp}: cwd="/root"'}
    exe, key = rng.choice([("/usr/bin/wget", "net"), ("/usr/bin/chmod", "perm"), ("/usr/bin/id", "exec")])
    user, success = rng.choice([1000, 1001]), rng.choice(["yes", "no"])
    process = f'ppid=1 pid={1000 + number} auid={user} uid=0 ses=1 comm="c" exe="{exe}" key="{key}"'
    text = f"type=SYSCALL msg={stamp}: arch=c000003e syscall=59 success={success} exit=0 {process}"
    return {"text": text, "exe": exe, "user": user, "success": success}


# One user fetches a file and makes it executable.
AUDITD: Final = PresetCase(
    "auditd",
    _draw_auditd,
    lambda rows: "".join(f"{row['text']}\n" for row in rows),
    lambda x, y: (
        (x.get("exe"), y.get("exe")) == ("/usr/bin/wget", "/usr/bin/chmod")
        and x["user"] == y["user"]
        and x["success"] == y["success"] == "yes"
    ),
    120,
    lambda number, _: f"{number}#1",
)

CDM: Final = "com.bbn.tc.schema.avro.cdm18"


def _draw_cdm(rng: random.Random, number: int, after: int) -> Row:
    if rng.randrange(6) == 0:
        return {"datum": {f"{CDM}.Subject": {"uuid": f"S-{number}", "type": "SUBJECT_PROCESS"}}, "CDMVersion": "18"}
    event = {
        "uuid": f"E-{number}",
        "type": rng.choice(["EVENT_READ", "EVENT_WRITE"]),
        "subject": {f"{CDM}.UUID": f"S-{rng.randrange(3)}"},
        "predicateObject": {f"{CDM}.UUID": f"F-{rng.randrange(4)}"},
        "predicateObjectPath": {"string": rng.choice(["/etc/passwd", "/var/log/x"])},
        "predicateObject2": None,
        "timestampNanos": (START + after) * 10**9,
        "size": {"long": rng.choice([8, 4096])},
    }
    return {"datum": {f"{CDM}.Event": event}, "CDMVersion": "18"}


def _event_of(row: Row) -> Row:
    found: Row = row["datum"].get(f"{CDM}.Event", {})
    return found


# A process reads the file of passwords and writes much elsewhere.
DARPA: Final = PresetCase(
    "darpa-cdm18",
    _draw_cdm,
    write_lines,
    lambda x, y: (
        (_event_of(x).get("type"), _event_of(y).get("type")) == ("EVENT_READ", "EVENT_WRITE")
        and _event_of(x)["subject"] == _event_of(y)["subject"]
        and _event_of(x)["predicateObject"] != _event_of(y)["predicateObject"]
        and _event_of(x)["predicateObjectPath"]["string"] == "/etc/passwd"
        and _event_of(y)["size"]["long"] > 1_000
    ),
    300,
    lambda _, row: f"{_event_of(row)['uuid']}#1",
)


def _draw_ecar(rng: random.Random, number: int, after: int) -> Row:
    kind, action = rng.choice([("PROCESS", "CREATE"), ("FLOW", "MESSAGE"), ("FILE", "WRITE")])
    properties: dict[str, Any] = {
        "PROCESS": {"image_path": rng.choice(["powershell.exe", "notepad.exe"])},
        "FLOW": {"dest_port": rng.choice(["443", "4444"]), "direction": "outbound"},
        "FILE": {"file_path": "C:\\x"},
    }
    stamp: Any = (START + after) * 1000 if rng.randrange(2) else f"{clock_of(after)}.000Z"
    ends = {"actorID": f"p{rng.randrange(5)}", "objectID": f"p{rng.randrange(5)}" if kind == "PROCESS" else f"o{number}"}
    found = {"timestamp": stamp, "id": f"i-{number}", "hostname": f"pc{rng.randrange(2)}", "object": kind, "action": action}
    return found | ends | {"properties": properties[kind]}


# A shell is started and talks to an unusual port.
OPTC: Final = PresetCase(
    "optc-ecar",
    _draw_ecar,
    write_lines,
    lambda x, y: (
        (x["action"], y["action"]) == ("CREATE", "MESSAGE")
        and x["objectID"] == y["actorID"] != x["actorID"]
        and x["properties"]["image_path"] == "powershell.exe"
        and y["properties"]["dest_port"] == "4444"
        and x["hostname"] == y["hostname"]
    ),
    600,
    lambda _, row: str(row["id"]),
)

HOSTS: Final = (AUDITD, DARPA, OPTC)
