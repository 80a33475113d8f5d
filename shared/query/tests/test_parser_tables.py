"""The parser's tables are computed once; the parser is the same where they were kept, damaged, or could not be kept."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import lark
import pytest
from graphtide_query.language import tables
from graphtide_query.language.builder import Builder
from graphtide_query.language.tables import parser_of
from lark import Lark
from lark.exceptions import UnexpectedInput

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    "PATTERN p MATCH (a:x)-[e:l {n: 1}]->(b)-[f]->(c) WHERE e.n > 2 AND b.id <> 'v' ORDER e < f ON s WINDOW 10m",
    "PATTERN p SEQ(x: A+, NOT y: B, OR(z: C, w: D)) ON s WITHIN 1h",
    "q(x, y) <- /:a (:b | ^:c)* :d?/(x, y) AS p. ON s WINDOW(1h) RETURN p",
]
WRONG = ["PATTERN", "PATTERN p MATCH (a)-[e]->(b", "q(x, y) <- ", "PATTERN p SEQ(x: A,, y: B)"]


def parse_texts(parser: Lark) -> list[object]:
    """Return what a parser makes of texts, and where it stops in those that are wrong."""
    found: list[object] = [parser.parse(text) for text in TEXTS]
    for text in WRONG:
        with pytest.raises(UnexpectedInput) as caught:
            parser.parse(text)
        found.append((type(caught.value), caught.value.pos_in_stream))
    return [repr(each) for each in found]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often tables are computed, as the length of a list."""
    times: list[int] = []
    init = Lark.__init__

    def counted(self: Lark, *arguments: object, **options: object) -> None:
        times.append(1)
        init(self, *arguments, **options)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(Lark, "__init__", counted)
    return times


def test_tables_are_computed_once(tmp_path: Path, computed: list[int]) -> None:
    first = parse_texts(parser_of(Builder(), tmp_path))
    assert len(computed) == 1
    (kept,) = tmp_path.iterdir()
    assert kept.suffix == ".tables"
    assert parse_texts(parser_of(Builder(), tmp_path)) == first
    assert len(computed) == 1


@pytest.mark.parametrize("damage", [b"", b"x" * 1_000, b"whole"], ids=["empty", "foreign", "cut"])
def test_a_damaged_file_is_replaced(tmp_path: Path, computed: list[int], damage: bytes) -> None:
    expected = parse_texts(parser_of(Builder(), tmp_path))
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2] if damage == b"whole" else damage)
    assert parse_texts(parser_of(Builder(), tmp_path)) == expected
    assert parse_texts(parser_of(Builder(), tmp_path)) == expected
    assert len(computed) == 2


def test_another_version_has_another_file(tmp_path: Path, computed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    parser_of(Builder(), tmp_path)
    monkeypatch.setattr(lark, "__version__", "0.0.1")
    parser_of(Builder(), tmp_path)
    assert (len(computed), len(list(tmp_path.iterdir()))) == (2, 2)


def test_another_grammar_has_another_file() -> None:
    assert tables._key("start: A") != tables._key("start: B")  # noqa: SLF001 - which file a grammar has


def test_where_nothing_can_be_written_tables_are_computed(tmp_path: Path, computed: list[int]) -> None:
    """No folder at all is what root, who may write everywhere, can try."""
    nowhere = tmp_path / "nowhere"
    assert parse_texts(parser_of(Builder(), nowhere)) == parse_texts(parser_of(Builder(), tmp_path))
    assert len(computed) == 2
    assert not nowhere.exists()


def test_of_processes_that_begin_at_once_each_has_a_parser(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from graphtide_query.language.builder import Builder;"
        "from graphtide_query.language.tables import parser_of;"
        "sys.stdin.readline(); parser = parser_of(Builder(), Path(sys.argv[1])); print(len(parser.parse(sys.argv[2])))"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path), TEXTS[0]]
    begun = [subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for each in begun:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    assert [each.communicate(timeout=300)[0] for each in begun] == ["1\n"] * 4
    assert [each.suffix for each in tmp_path.iterdir()] == [".tables"]
