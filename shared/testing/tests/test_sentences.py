"""No sentence of a page, a docstring or a doc comment is longer than one can read aloud: 25 words (docs/style.md)."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT: Final = Path(__file__).parents[3]

MOST_WORDS: Final = 25
"""A code span, and the address of a link, count as one word and as none."""

_BLOCK: Final = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_ITEM: Final = re.compile(r"([-*>]|\d+\.) ")
_SECTION: Final = re.compile(r"(Args|Attributes|Raises|Returns|Yields|Complexity):", re.MULTILINE)
_MEMBER: Final = re.compile(r"^ +([\w.*]+: )", re.MULTILINE)
_DRAWING: Final = re.compile(r"^(.*\S {3,}\S.*| *(>>>|\.\.\.) .*(\n *\S.*)*)$", re.MULTILINE)
"""A row of columns, and an example with its output."""

_RUST: Final = re.compile(r"^ *//[/!](?: (.*))?$")


def long_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a page of Markdown that are too long, each with the line on which its paragraph starts.

    A sentence ends with a full stop, a question or exclamation mark, or with its paragraph, item of a list, or cell of a table.
    """
    for line, paragraph in paragraphs(_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)):
        plain = re.sub(r"\]\([^)]*\)", "", re.sub(r"`[^`]*`", "`code`", paragraph))
        for sentence in re.split(r"(?<=[.!?])[)\"*]*\s+", plain):
            if sum(1 for word in sentence.split() if re.search(r"\w", word)) > MOST_WORDS:
                yield line, sentence


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield paragraphs, items of lists and cells of tables, each with the line on which it starts. Code blocks are blank."""
    start, lines = 0, list[str]()
    for number, each in enumerate([*text.split("\n"), ""], 1):
        line = each.strip()
        item = _ITEM.match(line)
        if lines and (not line or item or line.startswith(("#", "|", "<"))):
            yield start, " ".join(lines)
            lines = []
        if line.startswith("|"):
            yield from ((number, cell.strip()) for cell in re.split(r"(?<!\\)\|", line))
        elif line and not line.startswith(("#", "<")):
            start = start if lines else number
            lines.append(line[item.end() :] if item else line)


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of a module in Python, those of its values too, as Markdown, each with its line."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                lines = _SECTION.sub("", _MEMBER.sub(r"* \1", inspect.cleandoc(text)))
                yield node.lineno, _DRAWING.sub("", lines)


def doc_comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the text of the documentation comments of a module in Rust, the code blank, as one page."""
    comments = [_RUST.match(line) for line in source.split("\n")]
    yield 1, _DRAWING.sub("", "\n".join((each and each[1]) or "" for each in comments))


def files(pattern: str) -> list[str]:
    """List the files of the repository."""
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return listed.splitlines()


def test_sentences_of_pages_are_short() -> None:
    pages = files("*.md")
    assert "README.md" in pages
    found = [f"{path}:{line}: {each}" for path in pages for line, each in long_sentences((ROOT / path).read_text("utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("pattern", "texts", "known"),
    [
        ("*.py", docstrings, "conftest.py"),
        ("*.pyi", docstrings, "shared/native/python/graphtide_native/_native.pyi"),
        ("*.rs", doc_comments, "shared/native/crates/graphtide-py/src/lib.rs"),
    ],
)
def test_sentences_of_docstrings_are_short(pattern: str, texts: Callable[[str], Iterator[tuple[int, str]]], known: str) -> None:
    sources = files(pattern)
    assert known in sources
    found = [
        f"{path}:{start + line - 1}: {each}"
        for path in sources
        for start, text in texts((ROOT / path).read_text("utf-8"))
        for line, each in long_sentences(text)
    ]
    assert not found, "\n".join(found)


def test_a_long_sentence_is_found_wherever_it_stands() -> None:
    sentence = " ".join(["word"] * (MOST_WORDS + 1))
    short = " ".join(["word"] * MOST_WORDS)
    page = f"# {sentence}\n\n{sentence}\n\n- {sentence}\n| a | {sentence} |\n"
    assert [line for line, _ in long_sentences(page)] == [3, 5, 6]
    assert list(long_sentences(f"{short}. {short}?\n\n```\n{sentence}\n```\n- {short}\n- {short}\n")) == []
    assert list(long_sentences(f"{short.removesuffix('word')}`a b c` [x](a b c)")) == [
        (1, f"{short.removesuffix('word')}`code` [x")
    ]
    assert [line for line, _ in long_sentences(f"{short}\nword")] == [1]


def test_a_long_sentence_is_found_in_every_kind_of_docstring() -> None:
    sentence = " ".join(["word"] * (MOST_WORDS + 1))
    python = f'''"""{sentence}

a row      {sentence}
>>> {sentence}
"""

PLACE = 1
"""{sentence}"""


def act() -> None:
    """Do it.

    Args:
        one: {" ".join(["word"] * (MOST_WORDS - 1))}
        two: {sentence}
    """
'''
    found = [start + line - 1 for start, text in docstrings(python) for line, _ in long_sentences(text)]
    assert sorted(found) == [1, 8, 16]
    rust = f"//! {sentence}\nuse one;\n\n/// {sentence}\n// {sentence}\nfn act() {{}} // {sentence}\n"
    assert [line for _, text in doc_comments(rust) for line, _ in long_sentences(text)] == [1, 4]
