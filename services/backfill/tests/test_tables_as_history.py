"""A folder of Delta or Iceberg is history by its newest version; without its library it is refused, not read as files."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide_backfill.adapters.files import Files, paths_of
from graphtide_backfill.application.pieces import count
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.time import TimeUnit

if TYPE_CHECKING:
    from pathlib import Path

OLD = pa.table({"ts": [1, 2], "src": ["a", "b"], "dst": ["b", "c"], "label": ["x", "x"]})
NEW = pa.table({"ts": [3], "src": ["c"], "dst": ["d"], "label": ["x"]})


def times_of(folder: Path) -> list[int]:
    reports = [count(piece, TimeUnit.MILLISECOND) for piece in Files(str(folder), "parquet").pieces()]
    return sorted(time for report in reports for time in report.times)


@pytest.fixture
def without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("deltalake", "pyiceberg", "pyiceberg.table"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("without_libraries")
@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("_delta_log/00000000000000000000.json", "is a table of Delta, .*: pip install deltalake"),
        ("metadata/v1.metadata.json", "is a table of Iceberg, .*: pip install pyiceberg"),
    ],
)
def test_a_table_without_its_library_is_refused_and_says_what_to_install(tmp_path: Path, log: str, said: str) -> None:
    (tmp_path / log).parent.mkdir()
    (tmp_path / log).write_text(json.dumps({}))
    pq.write_table(OLD, tmp_path / "part-0.parquet")
    with pytest.raises(UnreadableStreamError, match=said):
        paths_of(str(tmp_path))


def test_a_delta_table_is_its_newest_version(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    deltalake.write_deltalake(str(tmp_path), OLD)
    assert times_of(tmp_path) == [1, 2]
    deltalake.write_deltalake(str(tmp_path), NEW, mode="append")
    assert times_of(tmp_path) == [1, 2, 3]
    deltalake.write_deltalake(str(tmp_path), NEW, mode="overwrite")
    assert times_of(tmp_path) == [3]


def test_an_iceberg_table_is_its_newest_version(tmp_path: Path) -> None:
    catalogs = pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg is not installed")
    catalog = catalogs.SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("of")
    table = catalog.create_table("of.edges", schema=OLD.schema)
    table.append(OLD)
    folder = next(tmp_path.rglob("metadata")).parent
    assert times_of(folder) == [1, 2]
    table.append(NEW)
    assert times_of(folder) == [1, 2, 3]
    table.overwrite(NEW)
    assert times_of(folder) == [3]
