"""Where a real stream is not at hand, tests run on a stand-in with the same columns."""

from __future__ import annotations

import csv
import gzip
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import pytest
from graphtide_testing import data
from graphtide_testing.data import DATA, STAND_INS, real_stream, stream_or_stand_in

if TYPE_CHECKING:
    from pathlib import Path


def columns(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


@pytest.mark.parametrize("name", STAND_INS)
def test_a_stand_in_has_the_columns_of_its_stream_and_is_the_same_each_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "DATA", tmp_path)
    made = stream_or_stand_in(name)
    assert made.parent != DATA
    with gzip.open(made, "rt", encoding="utf-8", newline="") as file:
        rows = list(islice(csv.DictReader(file), 1_000))
    assert rows == [{key: str(value) for key, value in row.items()} for row in islice(STAND_INS[name](), 1_000)]
    assert all(int(row["ts"]) <= int(after["ts"]) for row, after in pairwise(rows))
    monkeypatch.undo()
    assert columns(made) == columns(real_stream(name))


def test_a_stream_that_is_not_at_hand_and_has_no_stand_in_skips_its_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "DATA", tmp_path)
    with pytest.raises(pytest.skip.Exception, match=r"ldbc_snb_tiny\.csv\.gz is not at hand"):
        stream_or_stand_in("ldbc_snb_tiny.csv.gz")
