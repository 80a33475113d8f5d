"""Over records of a preset, the matches of its pattern are those that loops over the raw records find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide import MatchOptions, Stream, match
from graphtide_query.presets import preset_names, read_preset_pattern
from graphtide_testing.preset_cases import PRESET_CASES

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_testing.preset_cases import PresetCase


def test_every_preset_has_a_case() -> None:
    assert {case.preset for case in PRESET_CASES} == set(preset_names())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", PRESET_CASES, ids=lambda case: case.preset)
def test_matches_are_those_that_loops_over_the_raw_records_find(case: PresetCase, seed: int, tmp_path: Path) -> None:
    rows = case.draw_records(seed)
    file = tmp_path / "records"
    file.write_text(case.write([row for _, row in rows]), encoding="utf-8")
    options = MatchOptions(stream=Stream.preset(case.preset))
    found = sorted((each.edges["x"], each.edges["y"]) for each in match(read_preset_pattern(case.preset), file, options))
    expected = sorted(case.find_pairs(rows))
    assert expected, "the records must have matches"
    assert found == expected
