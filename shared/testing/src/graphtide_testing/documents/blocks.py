"""What a document shows: its fenced blocks, codes in its text, and links.

The word behind the fence says what a block is: one of `LANGUAGES`. A second word is the name of the file that a reader saves it
as.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LANGUAGES: Final = {
    "sh": "commands; they succeed, and print the `text` block that follows, if one does",
    "console": "commands behind `$ `, each with what it prints on either stream below it",
    "python": "statements; they print the `text` block that follows, or nothing",
    "text": "what the `sh` or `python` block before it prints",
    "mermaid": "the same, where it is a drawing",
    "graphtide": "a pattern; it is valid, and is the file `NAME.gtp`, NAME its own; or statements, the file of this name",
    "csv": "edges, the file of this name",
    "json": "a match record",
    "yaml": "values that the Helm chart takes",
    "http": "a request, its answer, or both; a request with `{…}` in its address stands for many",
    "js": "statements of a page in a browser",
    "synopsis": "how a verb is called, with all its options",
    "diagram": "a picture of characters; nothing in it can be run",
}
"""What blocks mean, by their language."""

_BLOCK: Final = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
_CODE: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_HEADING: Final = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_MARKUP: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        page: the document.
        line: 1-based line of its fence.
        language: what it is.
        name: the file that it is saved as; empty if it says none.
        text: what stands between the fences.
    """

    page: Path
    line: int
    language: str
    name: str
    text: str

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        return f"{self.page.name}:{self.line}"

    def replace(self, text: str) -> None:
        """Write another text in its place."""
        whole = self.page.read_text("utf-8")
        fence = f"```{self.language} {self.name}".rstrip()
        before = f"{fence}\n{self.text}```\n"
        if before not in whole:
            message = f"{self.place} is not there any more"
            raise LookupError(message)
        self.page.write_text(whole.replace(before, f"{fence}\n{text}```\n", 1), "utf-8")


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a file or a heading of the project; `path` is empty for the page itself, `heading` for a whole file."""

    path: str
    heading: str


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a document in their order.

    Raises:
        ValueError: a block says no language, or one that means nothing, or does not end.
    """
    whole = page.read_text("utf-8")
    found = []
    for each in _BLOCK.finditer(whole):
        language, _, name = each[1].partition(" ")
        block = Block(page, whole.count("\n", 0, each.start()) + 1, language, name, each[2])
        if language not in LANGUAGES:
            message = f"{block.place}: {language or 'nothing'} is not a language of a block: {', '.join(LANGUAGES)}"
            raise ValueError(message)
        found.append(block)
    if len(found) * 2 != len(re.findall(r"^\s*```", whole, re.MULTILINE)):
        message = f"{page.name}: a fence is indented, or a block does not end"
        raise ValueError(message)
    return found


def links_of(page: Path) -> list[Link]:
    """Return the links of a document that do not lead out of the project."""
    text = _BLOCK.sub("", page.read_text("utf-8"))
    return [Link(each[1], each[2] or "") for each in _LINK.finditer(text)]


def codes_of(page: Path) -> list[str]:
    """Return the texts in single backticks, each on one line."""
    text = _BLOCK.sub("", page.read_text("utf-8"))
    return [" ".join(each.split()) for paragraph in text.split("\n\n") for each in _CODE.findall(paragraph)]


def headings_of(page: Path) -> set[str]:
    """Return what the headings of a document are called in links, as GitHub makes it of their text."""
    text = _BLOCK.sub("", page.read_text("utf-8"))
    plain = (_MARKUP.sub(r"\1", heading) for heading in _HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}
