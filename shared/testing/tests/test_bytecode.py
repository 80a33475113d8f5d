"""Programs that tests start need not compile what they import again."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def test_a_program_of_a_test_keeps_what_it_compiles(tmp_path: Path) -> None:
    module = tmp_path / "imported.py"
    module.write_text("from importlib.util import cache_from_source\nprint(cache_from_source(__file__))\n")
    said = subprocess.run([sys.executable, "-c", "import imported"], cwd=tmp_path, capture_output=True, text=True, check=True)
    kept = type(module)(said.stdout.strip())
    assert kept.is_file()
    assert not kept.is_relative_to(tmp_path)
