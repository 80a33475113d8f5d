"""Doc comments of crates have no examples: `make test` does not look for any, because that compiles each crate once more."""

from __future__ import annotations

import re
from pathlib import Path

CRATES = Path(__file__).parents[1] / "crates"


def test_no_doc_comment_has_a_block_of_code() -> None:
    sources = list(CRATES.glob("*/src/**/*.rs"))
    assert len(sources) > 100
    assert [path for path in sources if re.search(r"^\s*//[/!]\s*```", path.read_text("utf-8"), re.MULTILINE)] == []
