"""Features of a stream as attributes of its records; see `graphtide_core.stream_features`.

The format is private to this package: `graphtide_features::spec` reads what is written here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core import predicate as p
from graphtide_core.record_expression import FieldPath

from graphtide_native._native import Features
from graphtide_native.expression_spec import LABEL_COLUMNS, ExpressionWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.stream_features import Feature
    from graphtide_core.time import TimeUnit

    from graphtide_native._native import EdgeBatch
    from graphtide_native.expression_spec import Json

MOST_RECORDS: Final = 1 << 24
"""Records that the windows of features with one key and condition hold; beyond, the oldest leave before their time."""

_FIELDS: Final[dict[str, Json]] = {
    "ts": {"ts": 0},
    "id": {"id": 0},
    "src": {"end": [0, 0]},
    "dst": {"end": [0, 1]},
    "type": {"attribute": [0, LABEL_COLUMNS["label"]]},
    **{name: {"attribute": [0, column]} for name, column in LABEL_COLUMNS.items()},
}


class StreamFeatures:
    """Gives the records of one stream the values of its features.

    Cost: O(features) a record, whatever the windows and the number of keys, and O(values) a deletion.

    Attributes:
        names: of the features.
        inputs: the attributes that they read, which batches should have.
    """

    def __init__(self, features: Iterable[Feature], unit: TimeUnit, most_records: int = MOST_RECORDS) -> None:
        """Start before the first record of a stream; `unit` is one tick of it."""
        stated = tuple(features)
        self.names = tuple(each.name for each in stated)
        self.inputs = tuple(dict.fromkeys(name for each in stated for name in each.inputs()))
        self._native = Features(_write(stated, self.inputs, unit, most_records))

    def add_to(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the next batch, in order of time and without duplicates, with an attribute for each feature.

        Deletions take their records out of the windows of later ones. An attribute with the name of a feature is replaced.
        """
        return self._native.add_to(batch)

    def clear(self) -> None:
        """Forget all records: times begin anew."""
        self._native.clear()

    @property
    def shed(self) -> int:
        """Records that left windows before their time, because there were too many."""
        return self._native.shed

    @property
    def held(self) -> int:
        """Records that windows hold."""
        return self._native.held


@dataclass(slots=True)
class _RecordWriter(ExpressionWriter):
    """Writes expressions over attributes and fields, with columns in place of names."""

    columns: dict[str, int]
    unit: TimeUnit

    def attribute(self, attribute: p.Attribute) -> Json:
        return self.name(attribute.name)

    def aggregate(self, aggregate: p.Aggregate) -> Json:
        raise AssertionError(aggregate)

    def name(self, name: str) -> Json:
        """Return what a name is read from."""
        return _FIELDS.get(name, {"attribute": [0, self.columns.get(name, 0)]})

    def condition(self, expression: RecordExpression) -> Json:
        """Return an expression over names."""
        return self.write(_over_attributes(expression))


def _over_attributes(expression: RecordExpression) -> p.Expression:
    match expression:
        case FieldPath(steps):
            return p.Attribute("", str(steps[0]))
        case p.Literal():
            return expression
        case _:
            return p.map_operands(expression, _over_attributes)


@dataclass(slots=True)
class _Group:
    keys: list[Json]
    condition: Json
    values: list[Json] = field(default_factory=list)
    features: list[dict[str, object]] = field(default_factory=list)


def _write(features: tuple[Feature, ...], inputs: tuple[str, ...], unit: TimeUnit, most_records: int) -> str:
    """Return features as they are read natively: those with equal keys and conditions together."""
    writer = _RecordWriter({name: column for column, name in enumerate(inputs)}, unit)
    groups: dict[object, _Group] = {}
    for each in features:
        condition = None if each.where is None else writer.condition(each.where)
        keys = [writer.name(key) for key in each.keys]
        group = groups.setdefault(msgspec.json.encode((keys, condition)), _Group(keys, condition))
        group.features.append(_write_feature(each, _place(group, writer, each), unit))
    spec = {
        "inputs": inputs,
        "most_records": most_records,
        "groups": [
            {"keys": each.keys, "where": each.condition, "values": each.values, "features": each.features}
            for each in groups.values()
        ],
    }
    return msgspec.json.encode(spec).decode()


def _place(group: _Group, writer: _RecordWriter, feature: Feature) -> int | None:
    """Return where the group has the values of a feature."""
    if feature.of is None:
        return None
    value = writer.name(feature.of)
    if value not in group.values:
        group.values.append(value)
    return group.values.index(value)


def _write_feature(feature: Feature, value: int | None, unit: TimeUnit) -> dict[str, object]:
    function = "different" if feature.is_distinct else feature.function.value
    against = None
    if feature.against is not None:
        windows = float(feature.against.ticks(unit) / feature.over.ticks(unit))
        against = (feature.against.ticks_at_least(unit), windows)
    return {
        "name": feature.name,
        "function": function,
        "value": value,
        "over": feature.over.ticks_at_least(unit),
        "against": against,
        "excludes_current": feature.excludes_current,
    }
