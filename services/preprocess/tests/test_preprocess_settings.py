"""A job without a required setting says in one line what to set, before Spark starts."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PREFIX = "GRAPHTIDE_PREPROCESS_"


@pytest.mark.parametrize(
    ("configured", "said"),
    [
        ({"STREAMS": '["flows"]'}, "set GRAPHTIDE_PREPROCESS_STREAMS and GRAPHTIDE_PREPROCESS_CHECKPOINT"),
        ({"STREAMS": '["no stream"]', "CHECKPOINT": "anywhere"}, "no stream"),
    ],
)
def test_what_is_missing_or_wrong_is_named(configured: dict[str, str], said: str) -> None:
    environment = os.environ | {PREFIX + name: value for name, value in configured.items()}
    ended = subprocess.run(
        [sys.executable, "-m", "graphtide_preprocess"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert (ended.returncode, len(ended.stderr.splitlines())) == (1, 1), ended.stderr
    assert ended.stderr.startswith("graphtide-preprocess: ")
    assert said in ended.stderr
