"""A job that was told too little says in one line what to set, before Spark starts."""

from __future__ import annotations

import pytest
from graphtide_preprocess.__main__ import main

PREFIX = "GRAPHTIDE_PREPROCESS_"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, "set GRAPHTIDE_PREPROCESS_STREAMS and GRAPHTIDE_PREPROCESS_CHECKPOINT"),
        ({"STREAMS": '["flows"]'}, "set GRAPHTIDE_PREPROCESS_STREAMS and GRAPHTIDE_PREPROCESS_CHECKPOINT"),
        ({"STREAMS": '["no stream"]', "CHECKPOINT": "anywhere"}, "no stream"),
    ],
)
def test_what_is_missing_or_wrong_is_named(monkeypatch: pytest.MonkeyPatch, told: dict[str, str], said: str) -> None:
    for name, value in told.items():
        monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(SystemExit, match=said) as raised:
        main()
    assert str(raised.value).startswith("graphtide-preprocess: ")
