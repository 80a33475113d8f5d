"""Functions in patterns and paths around a record, from a text to matches: on the command line, in Python, in plans."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import graphtide
from graphtide.cli.app import app
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

PATTERN = """
PATTERN out
MATCH (host:ip)-[login:ssh]->(relay:ip)-[upload:https]->(outside:ip)
WHERE lower(login.user) = 'root' AND is_private_ip(host.id) AND NOT is_private_ip(outside.id)
  AND abs(upload.bytes - login.bytes) < 50
ORDER login < upload
RETURN upper(login.user) AS who, concat(host.id, '>', outside.id) AS way
ON flows WINDOW 1h
"""
FLOWS = """ts,src,dst,label,src_label,dst_label,user,bytes
1,10.0.0.7,10.0.0.8,ssh,ip,ip,Root,100
2,10.0.0.8,8.8.8.8,https,ip,ip,,120
3,10.0.0.8,10.0.0.9,https,ip,ip,,120
4,10.0.0.8,1.1.1.1,https,ip,ip,,900
"""
SPANS = """
STREAM spans
FORMAT json UNNEST resourceSpans.scopeSpans.spans
EVENT name
AT ts
SET service = OUTER.OUTER.resource.attributes[key = 'service.name'].value.stringValue
PATTERN errors SEQ(a:`fail`, b:`fail`) WHERE lower(a.service) = lower(b.service) ON spans WITHIN 1h
"""


def run(*arguments: object) -> str:
    found = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})
    assert found.exit_code == 0, found.output
    return found.stdout


def test_a_pattern_with_functions_is_matched_explained_and_printed(tmp_path: Path) -> None:
    pattern, flows = tmp_path / "out.gtp", tmp_path / "flows.csv"
    pattern.write_text(PATTERN)
    flows.write_text(FLOWS)
    (record,) = map(json.loads, run("match", pattern, flows).splitlines())
    assert record["fields"] == {"who": "ROOT", "way": "10.0.0.7>8.8.8.8"}
    (found,) = graphtide.match(PATTERN, flows)
    assert found.fields == record["fields"]
    assert found.match_id == record["match_id"]
    assert "  matches: 1\n" in run("explain", pattern, "--analyze", flows)
    printed = run("validate", pattern, "--print")
    assert 'lower(login.user) = "root"' in printed
    assert "abs(upload.bytes - login.bytes) < 50" in printed


def test_what_is_around_a_record_joins_two_events(tmp_path: Path) -> None:
    def resource(service: str, *times: int) -> object:
        spans = [{"name": "fail", "ts": ts} for ts in times]
        attributes = [{"key": "host.name"}, {"key": "service.name", "value": {"stringValue": service}}]
        return {"scopeSpans": [{"spans": spans}], "resource": {"attributes": attributes}}

    stream = tmp_path / "spans.json"
    stream.write_text(json.dumps({"resourceSpans": [resource("Shop", 1), resource("bank", 2), resource("shop", 3)]}, indent=2))
    text = tmp_path / "errors.gtp"
    text.write_text(SPANS)
    (record,) = map(json.loads, run("match", text, stream).splitlines())
    assert (record["first_ts"], record["last_ts"]) == (1, 3)
