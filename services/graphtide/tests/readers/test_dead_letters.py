"""The file of dead letters."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest
from graphtide.readers import DeadLetterFile
from graphtide_core.errors import FatalError
from graphtide_core.ports.dead_letter_sink import DeadLetter

if TYPE_CHECKING:
    from pathlib import Path


def test_every_byte_can_be_had_back(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    with DeadLetterFile(path) as file:
        file.write(DeadLetter(3, 'ts "ü" is not an integer', 'ü,"a\nb"'.encode()))
        file.write(DeadLetter(4, "not UTF-8 at byte 1", b"a\xff\x00"))
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert first == {"line": 3, "reason": 'ts "ü" is not an integer', "raw": 'ü,"a\nb"'}
    assert second == {"line": 4, "reason": "not UTF-8 at byte 1", "raw_base64": base64.b64encode(b"a\xff\x00").decode()}
    assert file.written == 2


def test_without_a_letter_the_file_is_empty_even_if_it_was_not(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    path.write_text("of an earlier run\n")
    with DeadLetterFile(path) as file:
        assert file.written == 0
        assert path.read_text() == ""
    assert path.read_text() == ""


def test_a_file_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(FatalError, match="dead letters cannot be written"):
        DeadLetterFile(tmp_path / "none" / "dead.jsonl")
    with DeadLetterFile("/dev/full") as file, pytest.raises(FatalError, match="No space left on device"):
        file.write(DeadLetter(1, "x", b"y" * 100_000))
