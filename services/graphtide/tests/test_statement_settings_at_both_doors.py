"""LATENESS and DUPLICATES of a statement give on a server the matches that a run over a file gives."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from graphtide import MatchOptions, Stream, match
from graphtide_testing.sequencing_stage import SequencingStage

if TYPE_CHECKING:
    from pathlib import Path

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON flows WINDOW 100"


@pytest.mark.filterwarnings("ignore::graphtide.StreamWarning")
@pytest.mark.parametrize("lateness", ["LATENESS 0ms", "LATENESS 6ms"])
@pytest.mark.parametrize("policy", ["reject", "update"])
def test_a_server_orders_as_a_run_over_a_file_does(tmp_path: Path, policy: str, lateness: str) -> None:
    chance = random.Random(7)
    text = f"STREAM flows EDGE (payer)-['pays']->(payee) AT at IN ms ID id {lateness} DUPLICATES {policy}"
    records = [
        {
            "at": place + chance.randrange(9),
            "payer": chance.choice("abc"),
            "payee": chance.choice("abc"),
            "id": chance.randrange(25),
        }
        for place in range(60)
    ]
    file = tmp_path / "payments.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in records))
    in_file = list(match(PATTERN, file, MatchOptions(stream=Stream(text))))

    stage = SequencingStage(lateness=3)
    stage.register("p", "100")
    stage.state(text, 1)
    stage.send(file.read_bytes())
    edges: list[dict[str, Any]] = [
        {name: each[name] for name in ("ts", "src", "dst", "label", "id", "op")} for each in stage.fall_silent().ordered()
    ]
    on_server = list(match(PATTERN, edges))
    assert in_file
    assert on_server == in_file
