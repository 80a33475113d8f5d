"""A missing library is reported with the command that installs it: in a checkout, or with wheels."""

from __future__ import annotations

from pathlib import Path

from graphtide_core.installing import line_for


def test_in_a_checkout_it_is_make_and_with_wheels_pip(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    assert line_for("spark") == f"make -C {root} setup"
    wheel = tmp_path / "lib" / "python3" / "site-packages" / "graphtide_core" / "installing.py"
    assert line_for("spark", here=wheel) == "pip install 'graphtide[spark]'"
    assert line_for("bench", upgrade=True, here=wheel) == "pip install --upgrade 'graphtide[bench]'"
