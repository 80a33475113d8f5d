"""JSON Schemas of the records that are JSON, made from their types.

`python -m graphtide_wire.schemas FOLDER` writes them; a test compares them with those in the documentation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import msgspec
from graphtide_core import plans
from graphtide_core.plans import plan_classes

from graphtide_wire.acknowledgements import AcknowledgementRecord
from graphtide_wire.control import PatternRecord, PlanRecord, StatusRecord
from graphtide_wire.hosts import HostRecord, ScalingRecord
from graphtide_wire.match_counts import CountsRecord
from graphtide_wire.mutes import MuteRecord
from graphtide_wire.operations import OperationRecord, OperationStatus, RunCut, SliceMarker
from graphtide_wire.pattern_versions import VersionRecord
from graphtide_wire.plan_changes import PlanChangeRecord
from graphtide_wire.plans import PhysicalForm, form_class
from graphtide_wire.replicas import ReplicaRecord
from graphtide_wire.statistics import StatisticsForm
from graphtide_wire.stream_schema import SchemaRecord
from graphtide_wire.stream_statement import StatementRecord
from graphtide_wire.targets import AlertAnswer, AlertCounts, AlertRequest, DeadAlert, TargetRecord
from graphtide_wire.verdicts import VerdictRecord

FORMS: Final[dict[str, type[msgspec.Struct]]] = {
    "control.alert-answers": AlertAnswer,
    "control.alert-requests": AlertRequest,
    "control.alerts": AlertCounts,
    "control.targets": TargetRecord,
    "out.alerts.dead": DeadAlert,
    "control.acknowledgements": AcknowledgementRecord,
    "control.counts": CountsRecord,
    "control.hosts": HostRecord,
    "control.hosts.scaling": ScalingRecord,
    "control.mutes": MuteRecord,
    "control.operations": OperationRecord,
    "control.operations.cut": RunCut,
    "control.operations.marker": SliceMarker,
    "control.operations.status": OperationStatus,
    "control.patterns": PatternRecord,
    "control.plans": PlanRecord,
    "control.schemas": SchemaRecord,
    "control.statements": StatementRecord,
    "control.statistics": StatisticsForm,
    "control.status": StatusRecord,
    "control.replicas": ReplicaRecord,
    "control.verdicts": VerdictRecord,
    "control.versions": VersionRecord,
    "control.plan-changes": PlanChangeRecord,
}
"""Types by the kind of topic they travel in."""


def schemas() -> dict[str, str]:
    """Return the text of every schema by the name of its file."""
    return {f"{name}.json": json.dumps(_schema(name, form), indent=2) + "\n" for name, form in FORMS.items()}


def _schema(name: str, form: type) -> dict[str, object]:
    found = msgspec.json.schema(form, schema_hook=_plan)
    if issubclass(form, PlanRecord):
        found["$defs"] |= _plans()[1]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name} | found


def _plan(kind: type) -> dict[str, object]:
    """Return the schema of a plan: that of one of the engines, by its name."""
    if kind is not PhysicalForm:
        raise NotImplementedError
    by_engine = _plans()[0]
    return {
        "anyOf": [{"$ref": each} for each in by_engine.values()],
        "discriminator": {"propertyName": "engine", "mapping": by_engine},
    }


def _plans() -> tuple[dict[str, str], dict[str, dict[str, object]]]:
    """Return where the schema of each engine's plans stands, by the engine's name, and those schemas by theirs."""
    engines = [name for each in plan_classes() if each.__module__.startswith(plans.__name__) for name in each.engines]
    forms = [form_class(engine) for engine in engines]
    references, components = msgspec.json.schema_components(forms, ref_template="#/$defs/{name}")
    return {engine: each["$ref"] for engine, each in zip(engines, references, strict=True)}, components


def main() -> None:
    """Write the schemas into the folder that the command line names."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schemas().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
