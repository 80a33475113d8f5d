"""Every block of the page about Python runs, in their order, and writes what stands below it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.dev.deployment import DevOptions, application
from graphtide_testing.serving import served
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "python.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
URL = "http://localhost:8080"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(application(DevOptions(low_latency=True))) as url:
        with graphtide.Client(url) as client:
            wait_until(lambda: is_ready(client), 60)
        yield url


def is_ready(client: graphtide.Client) -> bool:
    try:
        client.patterns()
    except graphtide.UnavailableError:
        return False
    return True


def test_every_block_does_what_the_page_says(url: str) -> None:
    assert {kind for kind, _ in BLOCKS} == {"python", "text"}
    said: list[str] = []
    # The services of the test write to standard output, too.
    names: dict[str, object] = {"print": lambda *what: said.append(" ".join(map(str, what)))}
    for number, (kind, text) in enumerate(BLOCKS):
        if kind == "python":
            said.clear()
            exec(compile(text.replace(URL, url), f"block {number}", "exec"), names)  # noqa: S102 - our own text
            is_said = number + 1 < len(BLOCKS) and BLOCKS[number + 1][0] == "text"
            assert "\n".join(said).rstrip() == (BLOCKS[number + 1][1].rstrip() if is_said else "")
    assert sum(URL in text for _, text in BLOCKS) == 1
