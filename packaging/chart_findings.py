"""Looks at the chart's manifests with checkov; what it finds is explained in `charts/graphtide/ci/findings.yaml`, or fails.

`python packaging/chart_findings.py`, as `make chart` does. An explanation that explains nothing any more fails as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml
from graphtide_testing.charts import CHART, RELEASE, ROOT, SETS, render

_CHECKOV: Final = ROOT / ".cache" / "chart-tools" / "checkov" / "bin" / "checkov"
_EXPLAINED: Final = CHART / "ci" / "findings.yaml"


def main() -> int:
    """Return the exit status: 0 where everything that is found is explained."""
    explained = {check: set(why["of"]) for check, why in yaml.safe_load(_EXPLAINED.read_text("utf-8")).items()}
    wrong, needless = [], {(check, component) for check, components in explained.items() for component in components}
    for values in SETS:
        for finding in findings(values):
            check, component = finding["check_id"], _component(finding)
            needless -= {(check, component), (check, "*")}
            if not explained.get(check, set()) & {component, "*"}:
                wrong.append(f"{values}: {component}: {check} {finding['check_name']}")
    wrong += [f"{check} of {component} is explained, but not found" for check, component in sorted(needless)]
    sys.stdout.write("".join(f"{each}\n" for each in [*wrong, f"checkov: {len(wrong)} findings without an explanation"]))
    return 1 if wrong else 0


def findings(values: str) -> list[dict[str, Any]]:
    """Return what checkov finds in a set of values."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "manifests.yaml"
        file.write_text(yaml.dump_all(render(over=values).manifests), "utf-8")
        command = [str(_CHECKOV), "--framework", "kubernetes", "--file", str(file), "--quiet", "--compact", "--output", "json"]
        offline = {**os.environ, "CHECKOV_RUN_SCA_PACKAGE_SCAN": "false", "BC_API_URL": ""}
        ended = subprocess.run([*command, "--skip-download"], capture_output=True, text=True, env=offline, check=False)  # noqa: S603 - ours
    found: list[dict[str, Any]] = json.loads(ended.stdout)["results"]["failed_checks"]
    return found


def _component(finding: dict[str, Any]) -> str:
    name: str = finding["resource"].split(".")[2]
    return name.removeprefix(f"{RELEASE}-graphtide-").removeprefix(f"{RELEASE}-")


if __name__ == "__main__":
    sys.exit(main())
