"""The chart's README, its schema of values, its alerts and its dashboard are made of what they describe."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest
from graphtide_telemetry import metrics
from graphtide_telemetry.names import Metric, entries
from graphtide_testing.charts import CHART, ROOT


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


alerts, dashboards, reference = (script(f"chart_{name}") for name in ("alerts", "dashboards", "reference"))


def objects(schema: Any) -> list[dict[str, Any]]:
    """Return every schema that has properties, wherever it stands in one."""
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    found = [each for part in inner for each in objects(part)]
    return [*found, schema] if isinstance(schema, dict) and isinstance(schema.get("properties"), dict) else found


def test_generated_files_are_as_they_would_be_made_now() -> None:
    """Otherwise: `make chart-reference`."""
    for name, text in reference.make(reference.values((CHART / "values.yaml").read_text("utf-8"))).items():
        assert (CHART / name).read_text("utf-8") == text, name
    assert alerts.FILE.read_text("utf-8") == alerts.text()
    assert dashboards.FILE.read_text("utf-8") == dashboards.text()


def test_every_value_is_described_and_no_other_is_taken() -> None:
    schema = reference.schema(reference.values((CHART / "values.yaml").read_text("utf-8")))
    shared = schema["properties"]["global"]
    assert shared["properties"].keys() == {"imageRegistry", "imagePullSecrets"}
    assert "additionalProperties" not in shared, "a chart that holds this one says more there"
    schema["properties"]["global"] = {"description": shared["description"]}
    found = objects(schema)
    assert len(found) > 30
    for each in found:
        refusal = f"left out, for there is no such name: write one of {', '.join(each['properties'])}"
        assert each["additionalProperties"] == {"const": refusal}
        assert all(inner.get("description") for inner in each["properties"].values()), each["properties"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\n", "a has no comment"),
        ("b:\n  # -- Something.\n  a: 1\n  c: 2\n", "b.c has no comment"),
        ("# -- No sentence\na: 1\n", "the comment of a is not a sentence"),
        ("# -- Anything.\na: null\n", "the default of a does not show what it may be"),
        ("# -- Anything.\na: {}\n", "the default of a does not show what it may be"),
    ],
)
def test_a_value_that_is_not_described_is_found(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        reference.schema(reference.values(f"# -- P.\npods: 1\n# -- M.\nmatcherDefaults: 1\n{text}"))


def test_the_dashboard_has_a_panel_for_every_metric_and_panels_do_not_overlap() -> None:
    panels = dashboards.dashboard()["panels"]
    shown = [panel["title"] for panel in panels if panel["type"] == "timeseries"]
    assert sorted(shown) == sorted(metric.name for metric in entries(vars(metrics), Metric))
    taken = [
        (panel["gridPos"]["x"] + across, panel["gridPos"]["y"] + down)
        for panel in panels
        for across in range(panel["gridPos"]["w"])
        for down in range(panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken))
