"""Blocks of documents are read as they stand, and what came is compared with what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_testing.documents.blocks import Link, blocks_of, codes_of, headings_of, links_of
from graphtide_testing.documents.exchanges import Answer, Request, exchanges
from graphtide_testing.documents.outputs import is_shown, is_shown_json
from graphtide_testing.documents.shells import Shell

if TYPE_CHECKING:
    from pathlib import Path

PAGE = """# A page of `code`

```sh
echo 1
```

See [there](other.md#the-second-part), [below](#two-words) and [elsewhere](https://example.org/x#y); ``two`` and `three
words`.

```csv edges.csv
ts,src
```

## Two words, [linked](other.md)!

```text
# no heading, no [link](absent.md)
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "page.md").write_text(PAGE)
    return tmp_path / "page.md"


def test_blocks_have_a_language_perhaps_a_name_and_their_line(page: Path) -> None:
    found = [(block.language, block.name, block.line, block.text) for block in blocks_of(page)]
    assert found == [
        ("sh", "", 3, "echo 1\n"),
        ("csv", "edges.csv", 10, "ts,src\n"),
        ("text", "", 16, "# no heading, no [link](absent.md)\n"),
    ]


def test_what_stands_in_blocks_is_neither_link_nor_heading_nor_code(page: Path) -> None:
    assert links_of(page) == [Link("other.md", "the-second-part"), Link("", "two-words"), Link("other.md", "")]
    assert headings_of(page) == {"a-page-of-code", "two-words-linked"}
    assert codes_of(page) == ["code", "three words"]


def test_a_block_takes_another_text_and_the_others_stay(page: Path) -> None:
    first, second, _ = blocks_of(page)
    first.replace("echo 2\necho 3\n")
    second.replace("")
    assert page.read_text() == PAGE.replace("echo 1\n", "echo 2\necho 3\n").replace("ts,src\n", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```\nx\n```\n", "nothing is not a language"),
        ("```perl\nx\n```\n", "perl is not a language"),
        ("```sh\nx\n", "does not end"),
        ("* a\n\n  ```sh\n  x\n  ```\n", "is indented"),
    ],
)
def test_a_block_that_no_test_would_see_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "page.md").write_text(text)
    with pytest.raises(ValueError, match=said):
        blocks_of(tmp_path / "page.md")


@pytest.mark.parametrize(
    ("shown", "came"),
    [
        ("found 3\n", "found 3   \n\n"),
        ("9 flows in 0.12 s: 2,493,864 flows/s\n", "9 flows in 11.5 s: 17 flows/s\n"),
        ("first\n…\n", "first\nsecond\nthird\n"),
        ("…\nlast\n", "last\n"),
        ("", ""),
        ("a.c (x)*\n", "a.c (x)*\n"),
    ],
)
def test_what_came_is_what_is_shown(shown: str, came: str) -> None:
    assert is_shown(shown, came)


@pytest.mark.parametrize(
    ("shown", "came"),
    [
        ("found 3\n", "found 4\n"),
        ("9 flows in 0.12 s\n", "8 flows in 0.12 s\n"),
        ("took 582 s\n", "took 583 s\n"),
        ("0.12 s\n", "0.12 m\n"),
        ("first\n", "first\nsecond\n"),
        ("first\n…\n", "second\nfirst\n"),
        ("", "anything\n"),
        ("something\n", ""),
        ("a.c\n", "abc\n"),
    ],
)
def test_what_came_is_not_what_is_shown(shown: str, came: str) -> None:
    assert not is_shown(shown, came)


def test_json_is_compared_by_value_but_for_what_is_left_open() -> None:
    came = {"a": 1, "b": [True, {"c": "x", "d": None}]}
    assert is_shown_json({"b": [True, {"d": None, "c": "x"}], "a": 1}, came)
    assert is_shown_json({"a": "…", "b": [True, {"c": "x", "…": "…"}]}, came)
    for other in (
        {"a": 1},
        {"a": 1, "b": [1, {"c": "x", "d": None}]},
        {"a": 1, "b": [True]},
        {"e": "…", "…": "…"},
        {"a": 1.0, "…": "…"},
    ):
        assert not is_shown_json(other, came)


def test_requests_and_answers_are_distinguished() -> None:
    assert exchanges('POST /x?y=1\ncontent-type: text/csv\n\na\nb\n\nHTTP/1.1 202 Accepted\nx: y\n\n{"c": 1}\n') == [
        Request("POST", "/x?y=1", {"content-type": "text/csv"}, "a\nb"),
        Answer(202, {"x": "y"}, '{"c": 1}'),
    ]
    one, other = exchanges("GET /x/{name}\n\nDELETE /x\n")
    assert isinstance(one, Request)
    assert isinstance(other, Request)
    assert (one.is_pattern, other.is_pattern) == (True, False)
    with pytest.raises(ValueError, match="neither a request nor an answer"):
        exchanges("{}\n")


def test_a_block_of_a_shell_ends_at_the_first_failure_and_leaves_nothing_running(tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    shell = Shell(folder, [], GREETING="hello")
    # It would be waited for.
    ran = shell.run('sleep 600 &\nexport OWN="a b"\necho "$GREETING" > greeting; cat greeting')
    assert (ran.status, ran.output, ran.errors, ran.environment["OWN"]) == (0, "hello\n", "", "a b")
    failed = shell.run("echo before; false | cat; echo after")
    assert (failed.status, failed.output) == (1, "before\n")
    with pytest.raises(AssertionError, match="does not end:\nsleep 600"):
        shell.run("sleep 600", seconds=0.2)


def test_a_transcript_has_each_command_with_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "reader").mkdir()
    shell = Shell(tmp_path / "reader", [])
    assert shell.transcript("$ echo 1\nold\n$ echo 2 >&2; false\n") == "$ echo 1\n1\n$ echo 2 >&2; false\n2\n"
