"""JSON Schemas of the records that are JSON, made from their types.

`python -m graphtide_wire.schemas FOLDER` writes them; a test compares them with those in the documentation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import msgspec

from graphtide_wire.control import PatternRecord, PlanRecord, StatusRecord
from graphtide_wire.hosts import HostRecord, ScalingRecord
from graphtide_wire.match_counts import CountsRecord
from graphtide_wire.operations import OperationRecord, OperationStatus, RunCut, SliceMarker
from graphtide_wire.statistics import StatisticsForm
from graphtide_wire.stream_schema import SchemaRecord

FORMS: Final = {
    "control.counts": CountsRecord,
    "control.hosts": HostRecord,
    "control.hosts.scaling": ScalingRecord,
    "control.operations": OperationRecord,
    "control.operations.cut": RunCut,
    "control.operations.marker": SliceMarker,
    "control.operations.status": OperationStatus,
    "control.patterns": PatternRecord,
    "control.plans": PlanRecord,
    "control.schemas": SchemaRecord,
    "control.statistics": StatisticsForm,
    "control.status": StatusRecord,
}
"""Types by the kind of topic they travel in."""


def schemas() -> dict[str, str]:
    """Return the text of every schema by the name of its file."""
    return {f"{name}.json": json.dumps(_schema(name, form), indent=2) + "\n" for name, form in FORMS.items()}


def _schema(name: str, form: type) -> dict[str, object]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name} | msgspec.json.schema(form)


def main() -> None:
    """Write the schemas into the folder that the command line names."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schemas().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
