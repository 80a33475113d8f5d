"""No sentence of a page is longer than one can read aloud: 25 words (docs/style.md)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[3]

MOST_WORDS: Final = 25
"""A code span, and the address of a link, count as one word and as none."""

_BLOCK: Final = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_ITEM: Final = re.compile(r"([-*>]|\d+\.) ")


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


def test_sentences_of_pages_are_short() -> None:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pages = listed.splitlines()
    assert "README.md" in pages
    found = [f"{path}:{line}: {each}" for path in pages for line, each in long_sentences((ROOT / path).read_text("utf-8"))]
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
