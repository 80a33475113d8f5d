"""What the documents show is true: patterns parse, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from graphtide_query import parse

DOCS = Path(__file__).parents[3] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BLOCK = re.compile(r"^```graphtide\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [(page, text) for page in PAGES for text in BLOCK.findall(page.read_text("utf-8"))]
LINK = re.compile(r"\]\(([\w./-]+)(?:#[^)]*)?\)")


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 8


@pytest.mark.parametrize(("page", "text"), EXAMPLES, ids=[f"{page.stem}-{n}" for n, (page, _) in enumerate(EXAMPLES)])
def test_a_pattern_in_the_documents_parses(page: Path, text: str) -> None:
    (pattern,) = parse(text)
    assert pattern.edges, page


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_relative_links_lead_to_files(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
