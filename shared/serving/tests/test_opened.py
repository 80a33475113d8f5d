"""Workers say alike that they are not open, and give back alike what they hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from graphtide_core.errors import TransientError
from graphtide_serving.opened import close_all, open_worker

ROOT = Path(__file__).parents[3]
OTHERS = {
    "services/preprocess/src/graphtide_preprocess/application/committing.py": "a writer that Spark calls, and nothing opens",
    "shared/log/src/graphtide_log/kafka/transactor.py": "its owner opens it, and must not continue without",
    "shared/serving/src/graphtide_serving/opened.py": "says it for all workers",
}
"""What says by itself that something is not open, and why."""


class Held:
    def __init__(self, name: str, closed: list[str]) -> None:
        self.name, self.closed = name, closed

    def close(self) -> None:
        self.closed.append(self.name)


def test_what_is_held_is_returned_and_what_is_not_is_an_error_that_passes() -> None:
    assert not open_worker("", "the worker")
    with pytest.raises(TransientError, match=r"^the worker is not open$"):
        open_worker(None, "the worker")


def test_what_is_held_is_closed_in_order() -> None:
    closed: list[str] = []
    close_all([Held("reader", closed), None, Held("writer", closed)])
    assert closed == ["reader", "writer"]


def test_no_worker_says_so_by_itself() -> None:
    says = re.compile(r"message = f?\".* is not open\"")
    found = [file for place in ("services/*/src/**/*.py", "shared/*/src/**/*.py") for file in ROOT.glob(place)]
    own = {file.relative_to(ROOT).as_posix() for file in found if says.search(file.read_text("utf-8"))}
    assert own == OTHERS.keys()
