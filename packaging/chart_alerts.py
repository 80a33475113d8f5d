"""Makes the alerts of the chart out of the registry of telemetry; the template of its `PrometheusRule` reads them.

`python packaging/chart_alerts.py` writes them into the chart; a test compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from graphtide_telemetry import alerts
from graphtide_telemetry.names import Alert, entries

FILE: Final = Path(__file__).parents[1] / "charts" / "graphtide" / "alerts" / "graphtide.json"


def text() -> str:
    """Return the file."""
    configured = [
        {
            "name": each.name,
            "severity": each.severity,
            "for": f"{each.minutes}m",
            "expr": each.expression,
            "threshold": each.threshold,
            "needs": each.needs,
            "summary": each.summary,
            "description": each.description,
        }
        for each in entries(vars(alerts), Alert)
    ]
    return json.dumps({"alerts": configured}, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(), "utf-8")
