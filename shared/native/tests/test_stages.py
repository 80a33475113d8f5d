"""Stages of a run are made in one place, so that no batch is read with the labels or attributes of another run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from graphtide_core.errors import GraphtideError
from graphtide_core.time import TimeUnit
from graphtide_native.stages import Stages
from graphtide_query import parse
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan_all

ROOT = Path(__file__).parents[3]
EDGES = b"""{"ts":2,"src":"a","dst":"b","label":"x","n":2,"id":"e"}
{"ts":1,"src":"a","dst":"b","label":"x"}
"""
MADE = re.compile(r"(?<![\w.])Matcher\(")


def test_patterns_run_by_stages_of_the_one_builder() -> None:
    places = ("services/*/src/**/*.py", "shared/*/src/**/*.py", "shared/*/python/**/*.py")
    files = {file.relative_to(ROOT).as_posix(): file for place in places for file in ROOT.glob(place)}
    own = {name: file for name, file in files.items() if not name.startswith(("shared/testing/", "shared/bench/"))}
    assert [name for name, file in own.items() if MADE.search(file.read_text("utf-8"))] == [
        "shared/native/python/graphtide_native/stages.py"
    ]


def test_stages_of_a_run_fit_each_other() -> None:
    (pattern,) = parse("PATTERN p MATCH (a)-[e:x]->(b) ON s WHERE e.n > 1 WINDOW 10")
    stages = Stages.of([pattern], TimeUnit.MILLISECOND)
    batch = stages.json_decoder().decode(
        b'{"ts":2,"src":"a","dst":"b","label":"x","n":2,"id":"e"}\n{"ts":1,"src":"a","dst":"b","label":"x"}\n'
    )
    sequencer = stages.sequencer()
    sequencer.push(batch)
    ordered = sequencer.finish()
    assert ordered is not None
    assert (stages.attributes, ordered.ts) == (("n",), [1, 2])
    again = stages.arrow_decoder().decode(ordered.to_arrow())
    counting = stages.statistics()
    counting.push(again)
    matcher = stages.matcher(plan_all([pattern], PlannerOptions(), unit=stages.unit, statistics=counting.snapshot()))
    assert sum(len(found) for found in matcher.push(again)) == 1
    with pytest.raises(GraphtideError):
        stages.matcher(plan_all([pattern], PlannerOptions("no engine"), unit=stages.unit))
