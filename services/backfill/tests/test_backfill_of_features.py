"""A backfill counts the features of a statement as one pass does, wherever it is cut."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.adapters.result_folder import ResultFolder
from graphtide_backfill.adapters.statement_files import StatementFiles
from graphtide_backfill.application.backfill import Asked, Backfill
from graphtide_backfill.bootstrap import check
from graphtide_backfill.domain.sizing import Machine
from graphtide_backfill.domain.task import Task
from graphtide_core.errors import InvalidPatternError
from graphtide_core.match import SubgraphMatch
from graphtide_query import parse, parse_streams
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies.streams import StreamShape, random_stream

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

STATED = """STREAM s EDGE (src)-[label]->(dst) AT ts ID id DELETE WHERE op = 'delete'
FEATURE busy = count(*) PER src OVER 30ms
FEATURE seen = count(DISTINCT dst) PER src OVER 25ms WHERE n > 0
FEATURE total = sum(n) OVER 50ms
FEATURE unread = max(n) OVER 1h
"""
EMITS = """EMIT EDGE (src)-[:often]->(dst) EVERY 20ms SET count = count(*), most = max(n)
EMIT EDGE (dst:seen)-[:fan]->(dst) EVERY 7ms SET hosts = count(DISTINCT src) WHERE n > 0 HAVING hosts > 1
"""
OF_EMITTED = """
PATTERN grows MATCH (a)-[x:often]->(b)-[y]->(c) ORDER x < y WHERE x.count > 1 RETURN x.id AS x, x.most, y.total ON s WINDOW 12
PATTERN twice MATCH (a)-[x:fan]->(a)-[y:fan]->(a) ORDER x < y RETURN x.hosts, y.hosts ON s WINDOW 15
"""
PATTERNS = """
PATTERN pair MATCH (a)-[x]->(b), (b)-[y]->(c) ORDER x < y WHERE x.busy > 1 AND y.seen >= x.seen
RETURN x.total, y.total ON s WINDOW 9
PATTERN one MATCH (a)-[e]->(b) WHERE e.total > 3 RETURN e.busy, e.seen, e.total ON s WINDOW 2
"""


def fields_in(records: Iterable[bytes]) -> list[tuple[str, str, str]]:
    """Return what patterns return of each match."""
    found = map(json.loads, records)
    return sorted((each["match_id"], each["kind"], json.dumps(each.get("fields"), sort_keys=True)) for each in found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("length", [17, 60])
@pytest.mark.parametrize("emits", [False, True])
def test_slices_find_what_one_pass_finds(tmp_path: Path, seed: int, length: int, *, emits: bool) -> None:
    edges = random_stream(random.Random(seed), StreamShape(max_records=300, vertices=4))
    file = tmp_path / "history.jsonl"
    file.write_bytes(to_json_lines(edges))
    stated, patterns = (STATED + EMITS, PATTERNS + OF_EMITTED) if emits else (STATED, PATTERNS)
    (definition,) = parse_streams(stated)
    task = Task(parse(patterns), windows=definition.windows)
    assert [each.name for each in task.read_windows.features] == ["busy", "seen", "total"]
    results = ResultFolder(tmp_path / "run")
    backfill = Backfill(
        task,
        StatementFiles(str(file), definition, "jsonl"),
        OneProcess(Machine(2, 2 << 30)),
        results,
        Asked(slice_length=length),
        on_progress=lambda _: None,
        is_wanted=lambda: True,
    )
    totals = backfill.run(backfill.prepare())
    lines = [each.record for number in results.finished() for each in results.records(number)]
    expected = list(graphtide.match(patterns, file, graphtide.MatchOptions(stream=stated)))
    of_one_pass = [each.to_json().encode() for each in expected if isinstance(each, SubgraphMatch)]
    assert keys_in_json_lines(b"\n".join(lines)) == keys_in_json_lines(b"\n".join(of_one_pass))
    assert fields_in(lines) == fields_in(of_one_pass)
    assert totals.slices > 2
    assert totals.matches > 10
    assert emits == any(each.query in {"grows", "twice"} for each in expected)


def test_a_feature_over_an_attribute_that_history_lacks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(to_json_lines(random_stream(random.Random(1), StreamShape(max_records=5))))
    (definition,) = parse_streams("STREAM s SET n = n FEATURE total = sum(m) OVER 50ms")
    task = Task(parse("PATTERN p MATCH (a)-[e]->(b) WHERE e.total > 3 ON s WINDOW 2"), windows=definition.windows)
    history = StatementFiles(str(tmp_path / "history.jsonl"), definition, "jsonl")
    with pytest.raises(InvalidPatternError, match="feature 'total': the stream has no attribute 'm'"):
        check(task, history)
