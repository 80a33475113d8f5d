"""A file of alerts has each once, whole, through crashes and rotations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_alerts.adapters.alert_file import AlertFile
from graphtide_alerts.application.ports import UndeliveredError
from graphtide_alerts.domain.alert import Alert

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what a test opened and left, as a crash does."""
    made: list[AlertFile] = []
    begin = AlertFile.__init__

    def noted(self: AlertFile, *given: Any, **named: Any) -> None:
        begin(self, *given, **named)
        made.append(self)

    monkeypatch.setattr(AlertFile, "__init__", noted)
    yield
    for each in made:
        each.close()


def alert(number: int) -> Alert:
    return Alert(str(number), "match", {"id": str(number), "message": "x" * 50})


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()]


def test_an_alert_that_comes_again_is_left_out_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "alerts.jsonl"
    first = AlertFile(path)
    for number in (1, 2, 2, 1):
        first.send(alert(number))
    # It is on the disk: nothing is closed.
    second = AlertFile(path)
    for number in (2, 1, 3):
        second.send(alert(number))
    second.close()
    assert ids(path) == ["1", "2", "3"]


@pytest.mark.parametrize("torn", [b'{"id": "2", "mess', b'{"id": "2"}', b"\xff"])
def test_half_a_line_of_a_crash_is_cut_off_and_its_alert_written_again(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "alerts.jsonl"
    AlertFile(path).send(alert(1))
    with path.open("ab") as file:
        file.write(torn)
    again = AlertFile(path)
    again.send(alert(1))
    again.send(alert(2))
    assert ids(path) == ["1", "2"]


def test_a_file_rotates_and_old_ones_go(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    file = AlertFile(path, most_bytes=200, files=2)
    for number in range(12):
        file.send(alert(number))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["alerts.jsonl", "alerts.jsonl.1", "alerts.jsonl.2"]
    newest = [*ids(tmp_path / "alerts.jsonl.2"), *ids(tmp_path / "alerts.jsonl.1"), *ids(path)]
    assert newest == [str(number) for number in range(12 - len(newest), 12)]
    assert all(each.stat().st_size <= 200 for each in tmp_path.iterdir())
    again = AlertFile(path, most_bytes=200, files=2)
    again.send(alert(11))
    again.send(alert(9))
    assert [*ids(tmp_path / "alerts.jsonl.1"), *ids(path)].count("9") <= 1


def test_a_file_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file", "utf-8")
    file = AlertFile(tmp_path / "folder" / "alerts.jsonl")
    with pytest.raises(UndeliveredError, match="cannot be written"):
        file.send(alert(1))
    (tmp_path / "folder").unlink()
    file.send(alert(1))
    assert ids(tmp_path / "folder" / "alerts.jsonl") == ["1"]
