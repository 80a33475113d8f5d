"""Tables of a service are read from one folder, waited for at first, and replaced as a whole once their files change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import structlog
from graphtide_core.errors import TransientError, UnreadableStreamError
from graphtide_ordering.reference_tables import ReferenceTables, empty_tables
from graphtide_ordering.statements import check_decodable
from graphtide_query import parse_streams
from graphtide_telemetry import events
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.tables import LookupTable

STATEMENT = "STREAM s JOIN risk ON src = risk.id SET score = risk.score"


def make_definition(file: str = "risk.csv", more: str = "RELOAD 1m") -> StreamDefinition:
    (definition,) = parse_streams(f"TABLE risk FROM '{file}' KEY id {more} {STATEMENT}")
    return definition


def current(tables: ReferenceTables, definition: StreamDefinition | None = None) -> Mapping[str, LookupTable]:
    """Return the tables of a definition as they are now."""
    definition = make_definition() if definition is None else definition
    return tables.current(definition, tables.files_of(definition))


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


def test_a_table_is_read_once_and_again_after_a_period_if_its_file_changed(tmp_path: Path) -> None:
    clock = Hands()
    tables = ReferenceTables(str(tmp_path), clock=clock)
    (tmp_path / "risk.csv").write_text("id,score\nu,1\n")
    table = current(tables)["risk"]
    assert table.rows == 1
    (tmp_path / "risk.csv").write_text("id,score\nu,1\nv,2\n")
    clock.seconds += 59
    assert current(tables)["risk"] is table
    assert table.rows == 1
    clock.seconds += 1
    assert current(tables)["risk"] is table
    wait_until(lambda: table.rows == 2, 60)


def test_a_table_without_reload_stays(tmp_path: Path) -> None:
    clock = Hands()
    tables = ReferenceTables(str(tmp_path), clock=clock)
    (tmp_path / "risk.csv").write_text("id,score\nu,1\n")
    table = current(tables, make_definition(more=""))["risk"]
    (tmp_path / "risk.csv").unlink()
    clock.seconds += 10**9
    assert current(tables, make_definition(more=""))["risk"] is table


def test_a_file_that_cannot_be_read_again_leaves_the_old_rows_and_is_reported(tmp_path: Path) -> None:
    clock = Hands()
    tables = ReferenceTables(str(tmp_path), clock=clock)
    (tmp_path / "risk.csv").write_text("id,score\nu,1\n")
    table = current(tables)["risk"]
    (tmp_path / "risk.csv").write_text("id,score\nu,1\nv,2,3\n")
    clock.seconds += 60
    with structlog.testing.capture_logs() as log:
        current(tables)
        wait_until(lambda: bool(log), 60)
    (entry,) = log
    assert (entry["event"], entry["table"], entry["stream"]) == (events.TABLE_UNREADABLE, "risk", "s")
    assert "line 3: expected 2 fields, found 3" in entry["error"]
    assert table.rows == 1
    (tmp_path / "risk.csv").write_text("id,score\nu,1\nv,2\nw,3\n")

    def is_replaced() -> bool:
        clock.seconds += 60
        current(tables)
        return table.rows == 3

    wait_until(is_replaced, 60)


def test_a_table_that_was_never_read_is_waited_for(tmp_path: Path) -> None:
    clock = Hands()
    tables = ReferenceTables(str(tmp_path), clock=clock)
    for _ in range(2):
        with pytest.raises(TransientError, match=r"risk\.csv: No such file"):
            current(tables)
    (tmp_path / "risk.csv").write_text("id,score\nu,1\n")
    clock.seconds += 2
    assert current(tables)["risk"].rows == 1


def test_a_service_without_a_folder_has_no_tables() -> None:
    with pytest.raises(TransientError, match="the setting TABLES names no folder"):
        current(ReferenceTables(None))
    (plain,) = parse_streams("STREAM s")
    assert current(ReferenceTables(None), plain) == {}


@pytest.mark.parametrize("file", ["/etc/passwd", "../secret.csv", "a/../../secret.csv"])
def test_a_statement_names_no_file_outside_of_the_folder(tmp_path: Path, file: str) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "secret.csv").write_text("id,score\nu,1\n")
    with pytest.raises(UnreadableStreamError, match="is not in the folder of tables"):
        check_decodable(make_definition(file))
    with pytest.raises(TransientError, match="is not in the folder of tables"):
        current(ReferenceTables(str(tmp_path / "tables")), make_definition(file))


def test_a_link_leads_no_further_than_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    (folder / "inside").mkdir(parents=True)
    (tmp_path / "secret.csv").write_text("id,score\nu,1\n")
    (folder / "inside" / "risk.csv").write_text("id,score\nu,1\n")
    (folder / "risk.csv").symlink_to(folder / "inside" / "risk.csv")
    assert current(ReferenceTables(str(folder)))["risk"].rows == 1
    (folder / "other.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(TransientError, match="a link that leads out of the folder"):
        current(ReferenceTables(str(folder)), make_definition("other.csv"))


def test_a_statement_is_checked_without_its_tables() -> None:
    check_decodable(make_definition())
    assert [(name, table.rows) for name, table in empty_tables(make_definition()).items()] == [("risk", 0)]
    with pytest.raises(UnreadableStreamError, match="DESCRIPTOR is not written"):
        check_decodable(make_definition("risk.binpb", "FORMAT protobuf (DESCRIPTOR 'x.desc', MESSAGE 'n.F')"))
