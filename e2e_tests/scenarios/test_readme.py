"""What the README says of the service works as it stands there, from a shell."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from graphtide_testing.orphans import VARIABLE
from graphtide_testing.servers.process import free_ports

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]


def test_a_service_finds_its_first_match(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    section = readme[readme.index("## As a service") :]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block is not None
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    # Port 8080 may be another's.
    (port,) = free_ports(1)
    script = block[1].replace("8080", str(port)).replace("graphtide dev up", f"graphtide dev up --port {port}")
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "GRAPHTIDE_SERVER": f"http://localhost:{port}",
        "HOME": str(tmp_path),
        VARIABLE: os.environ.get(VARIABLE, ""),
    }
    done = subprocess.run(
        ["bash", "-ec", f"{script}\nkill %1\n"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    match = json.loads((tmp_path / "matches.jsonl").read_text())
    assert (tmp_path / "matches.jsonl").read_text() in done.stdout
    assert match["vertices"] == {"a": "ann", "b": "bob"}
