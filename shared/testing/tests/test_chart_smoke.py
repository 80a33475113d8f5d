"""Where the chart's pods cannot be run as processes, `chart_smoke` says why, and how they can."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from graphtide_testing import chart_smoke
from graphtide_testing.cluster import possible

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("options", "status"), [([], 1), (["--where-possible"], 0)])
def test_without_root_it_says_how_it_is_run_with_it(
    options: list[str], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["chart_smoke", "--helm", "bin/helm", *options])
    with pytest.raises(SystemExit) as ended:
        chart_smoke.main()
    assert ended.value.code == status
    command = f"sudo {sys.executable} -m graphtide_testing.chart_smoke --helm bin/helm"
    assert capsys.readouterr().out == (
        f"chart-smoke cannot run here: namespaces and mounts take root. Run it as root, on a machine that lets it: {command}\n"
    )


def test_a_program_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in ("chroot", "mount", "setpriv", "unshare", "nsenter"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert possible.why_not() == "missing: ip (Debian: iproute2, util-linux)"


def test_what_the_machine_refuses_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for name in ("chroot", "mount", "setpriv", "nsenter", "ip"):
        (tmp_path / name).touch(mode=0o755)
    (tmp_path / "unshare").write_text("#!/bin/sh\necho unshare failed: not permitted >&2\nexit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = "no namespaces of network and processes are to be had: unshare failed: not permitted"
    assert possible.why_not() == said
