"""`match` decodes what patterns read alone, so names that a file invents hide nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide.cli.app import app
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("many", [1_000, 100_000])
def test_an_attribute_after_many_invented_ones_is_read(tmp_path: Path, many: int) -> None:
    (tmp_path / "p.gt").write_text("PATTERN p MATCH (a)-[x:pay]->(b) WHERE x.zone > 6 ON s WINDOW 10s")
    edge = {"src": "a", "dst": "b", "label": "pay"}
    edges = [{"ts": 1} | edge | {f"a{number}": 1 for number in range(many)}, {"ts": 2} | edge | {"zone": 7}]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(each) + "\n" for each in edges))
    ended = CliRunner().invoke(app, ["match", str(tmp_path / "p.gt"), str(tmp_path / "s.jsonl")])
    assert ended.exit_code == 0, ended.output
    assert [json.loads(line)["detected_at"] for line in ended.stdout.splitlines()] == [2]
