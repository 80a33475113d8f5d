"""Flows between addresses, as collectors and data sets of attacks have them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from graphtide_testing.preset_cases.case import START, PresetCase, Row, clock_of, made_id, write_csv

if TYPE_CHECKING:
    import random


def _time_of(after: int, form: str) -> str:
    return datetime.fromtimestamp(START + after, UTC).strftime(form)


def _draw_lanl(rng: random.Random, _number: int, after: int) -> Row:
    ends = {"source": f"C{rng.randrange(4)}", "source_port": "N1", "target": f"C{rng.randrange(4)}"}
    port = rng.choice(["22", "N7"])
    counts = {"protocol": 6, "packets": 3, "bytes": rng.choice([100, 90_000])}
    return {"seconds": 1 + after, "duration": 0, **ends, "target_port": port, **counts}


# A computer takes a login by SSH and sends much to a third one.
LANL: Final = PresetCase(
    "lanl-flows",
    _draw_lanl,
    write_csv(
        *("seconds", "duration", "source", "source_port", "target", "target_port", "protocol", "packets", "bytes"),
        header=False,
    ),
    lambda x, y: (
        x["target"] == y["source"]
        and x["target_port"] == "22"
        and y["bytes"] > 50_000
        and len({x["source"], x["target"], y["target"]}) == 3
    ),
    180,
    made_id,
)

NFDUMP_COLUMNS: Final = (
    *("ts", "te", "td", "sa", "da", "sp", "dp", "pr", "flg", "fwd", "stos", "ipkt", "ibyt", "opkt", "obyt", "in", "out", "sas"),
    *("das", "smk", "dmk", "dtos", "dir", "nh", "nhb", "svln", "dvln", "ismc", "odmc", "idmc", "osmc"),
    *(f"mpls{place}" for place in range(1, 11)),
    *("cl", "sl", "al", "ra", "eng", "exid", "tr"),
)


def _draw_nfdump(rng: random.Random, _number: int, after: int) -> Row:
    stamp = clock_of(after).replace("T", " ")
    ends = {"sa": f"  10.0.0.{rng.randrange(3)}", "da": f"10.0.0.{rng.randrange(3)}", "pr": rng.choice(["TCP  ", " UDP"])}
    flags = {"flg": rng.choice(["....S.", ".AP.SF"]), "dp": rng.choice([22, 23])}
    return dict.fromkeys(NFDUMP_COLUMNS, 0) | {"ts": stamp, "te": stamp, "td": "0.000"} | ends | flags


# A client knocks at one port (SYN alone), and talks at another one later.
NFDUMP: Final = PresetCase(
    "nfdump",
    _draw_nfdump,
    write_csv(*NFDUMP_COLUMNS, header=False),
    lambda x, y: (
        (x["sa"].strip(), x["da"].strip()) == (y["sa"].strip(), y["da"].strip())
        and x["sa"].strip() != x["da"].strip()
        and x["pr"].strip() == y["pr"].strip() == "TCP"
        and (x["flg"], y["flg"]) == ("....S.", ".AP.SF")
        and x["dp"] != y["dp"]
    ),
    300,
    made_id,
)

UNSW_COLUMNS: Final = (
    *("srcip", "sport", "dstip", "dsport", "proto", "state", "dur", "sbytes", "dbytes", "sttl", "dttl", "sloss", "dloss"),
    *("service", "sload", "dload", "spkts", "dpkts", "swin", "dwin", "stcpb", "dtcpb", "smeansz", "dmeansz", "trans_depth"),
    *("res_bdy_len", "sjit", "djit", "stime", "ltime", "sintpkt", "dintpkt", "tcprtt", "synack", "ackdat", "is_sm_ips_ports"),
    *("ct_state_ttl", "ct_flw_http_mthd", "is_ftp_login", "ct_ftp_cmd", "ct_srv_src", "ct_srv_dst", "ct_dst_ltm", "ct_src_ltm"),
    *("ct_src_dport_ltm", "ct_dst_sport_ltm", "ct_dst_src_ltm", "attack_cat", "attack_label"),
)


def _draw_unsw(rng: random.Random, _number: int, after: int) -> Row:
    category = rng.choice(["", " Reconnaissance ", "Exploits"])
    own: Row = {"srcip": f"10.0.0.{rng.randrange(4)}", "dstip": f"10.0.1.{rng.randrange(2)}", "proto": "tcp"}
    own |= {"stime": START + after, "attack_cat": category, "attack_label": int(category != ""), "sport": "0x000b"}
    return dict.fromkeys(UNSW_COLUMNS, 0) | own | {"service": rng.choice(["-", "http"])}


UNSW: Final = PresetCase(
    "unsw-nb15",
    _draw_unsw,
    write_csv(*UNSW_COLUMNS, header=False),
    lambda x, y: (
        (x["srcip"], x["dstip"]) == (y["srcip"], y["dstip"])
        and (x["attack_cat"].strip(), y["attack_cat"], y["service"]) == ("Reconnaissance", "Exploits", "http")
    ),
    600,
    made_id,
)

FLOWMETER_COLUMNS: Final = (
    *("Flow ID", "Src IP", "Src Port", "Dst IP", "Dst Port", "Protocol", "Timestamp", "Flow Duration", "Tot Fwd Pkts"),
    *("Tot Bwd Pkts", "TotLen Fwd Pkts", "TotLen Bwd Pkts", "Flow Byts/s", "Label"),
)


def _draw_flowmeter(rng: random.Random, number: int, after: int) -> Row:
    own = {"Flow ID": f"f{number}", "Src IP": f"10.0.0.{rng.randrange(3)}", "Dst IP": f"10.0.1.{rng.randrange(2)}"}
    own |= {"Timestamp": _time_of(after, "%d/%m/%Y %I:%M:%S %p"), "Label": rng.choice(["Benign", "Bot"])}
    rate, sent = rng.choice(["Infinity", "NaN", 10.5, 90_000.0]), rng.choice([0.0, 1_200.0])
    return dict.fromkeys(FLOWMETER_COLUMNS, 0) | own | {"Flow Byts/s": rate, "TotLen Fwd Pkts": sent}


FLOWMETER: Final = PresetCase(
    "cicflowmeter",
    _draw_flowmeter,
    write_csv(*FLOWMETER_COLUMNS),
    lambda x, y: (
        (x["Src IP"], x["Dst IP"]) == (y["Src IP"], y["Dst IP"])
        and x["Label"] == y["Label"] == "Bot"
        and x["TotLen Fwd Pkts"] == 0
        and y["Flow Byts/s"] == 90_000
    ),
    900,
    made_id,
)

IDS_COLUMNS: Final = (
    *("Flow ID", " Source IP", " Source Port", " Destination IP", " Destination Port", " Protocol", " Timestamp"),
    *(" Flow Duration", " Total Fwd Packets", " Total Backward Packets", "Total Length of Fwd Packets"),
    *(" Total Length of Bwd Packets", "Flow Bytes/s", " Label"),
)


def _draw_ids(rng: random.Random, number: int, after: int) -> Row:
    ends = {" Source IP": f"203.0.113.{rng.randrange(3)}", " Destination IP": f"10.0.1.{rng.randrange(2)}"}
    label = rng.choice(["BENIGN", "PortScan", "FTP-Patator"])
    own = {"Flow ID": f"f{number}", " Timestamp": _time_of(after, "%d/%m/%Y %H:%M:%S"), " Label": label}
    port: Row = {" Destination Port": rng.choice([21, 80]), "Flow Bytes/s": "NaN"}
    return dict.fromkeys(IDS_COLUMNS, 0) | ends | own | port


IDS: Final = PresetCase(
    "cic-ids2017",
    _draw_ids,
    write_csv(*IDS_COLUMNS),
    lambda x, y: (
        (x[" Source IP"], x[" Destination IP"]) == (y[" Source IP"], y[" Destination IP"])
        and (x[" Label"], y[" Label"]) == ("PortScan", "FTP-Patator")
        and x[" Destination Port"] == y[" Destination Port"] == 21
    ),
    1_200,
    made_id,
)

FLOWS: Final = (LANL, NFDUMP, UNSW, FLOWMETER, IDS)
