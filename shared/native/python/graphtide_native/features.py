"""Features of a stream as attributes of its records, and what EMIT gives; see `graphtide_core.stream_windows`.

The format is private to this package: `graphtide_features::spec` reads what is written here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core import predicate as p
from graphtide_core.record_expression import FieldPath
from graphtide_core.time import MAX_EVENT_TIME

from graphtide_native._native import Features
from graphtide_native.expression_spec import LABEL_COLUMNS, ExpressionWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.stream_emissions import Emission, Summary
    from graphtide_core.stream_features import Feature
    from graphtide_core.stream_windows import StreamWindows
    from graphtide_core.time import TimeUnit

    from graphtide_native._native import EdgeBatch
    from graphtide_native.expression_spec import Json

MOST_RECORDS: Final = 1 << 24
"""Records that the windows of features with one key and condition hold; beyond, the oldest leave before their time.

A window of EMIT holds so many records that can be deleted; beyond, others are not counted.
"""

MOST_KEYS: Final = 1 << 20
"""Keys that a window of EMIT has; records with further ones are not counted."""

_FIELDS: Final[dict[str, Json]] = {
    "ts": {"ts": 0},
    "id": {"id": 0},
    "src": {"end": [0, 0]},
    "dst": {"end": [0, 1]},
    "type": {"attribute": [0, LABEL_COLUMNS["label"]]},
    **{name: {"attribute": [0, column]} for name, column in LABEL_COLUMNS.items()},
}


class StreamFeatures:
    """Gives the records of one stream the values of its features, and between them what its EMIT clauses give.

    Cost: O(features) a record, whatever the windows and the number of keys. A deletion takes O(values), and so does a key at
    the end of a window of EMIT.

    Attributes:
        names: attributes that it adds.
        inputs: the attributes that it reads, which batches should have.
    """

    def __init__(
        self,
        windows: StreamWindows,
        unit: TimeUnit,
        kept: Iterable[str] | None = None,
        most_records: int = MOST_RECORDS,
        most_keys: int = MOST_KEYS,
    ) -> None:
        """Start before the first record of a stream.

        Args:
            windows: what is counted of it.
            unit: one tick of it.
            kept: attributes of what EMIT gives that are kept; None for all.
            most_records: see `MOST_RECORDS`.
            most_keys: see `MOST_KEYS`.
        """
        self.names, self.inputs = windows.names, windows.inputs
        self._emits = bool(windows.emissions)
        spec = _write(windows, self.inputs, unit, (most_records, most_keys))
        self._native = Features(spec, None if kept is None else list(kept))

    def add_to(self, batch: EdgeBatch) -> EdgeBatch:
        """Return the next batch, in order of time and without duplicates, with an attribute for each feature.

        What EMIT gives of windows that end by then is between the records. Deletions take their records out of the windows of
        later ones. An attribute with the name of a feature is replaced.
        """
        return self._native.add_to(batch)

    def advance(self, time: int) -> EdgeBatch | None:
        """Return what EMIT gives of windows that end at a time or before, as no earlier record comes; None for nothing."""
        return self._native.advance(time) if self._emits else None

    def clear(self) -> None:
        """Forget all records: times begin anew."""
        self._native.clear()

    @property
    def shed(self) -> int:
        """Records that left windows of features before their time, because there were too many."""
        return self._native.shed

    @property
    def uncounted(self) -> int:
        """Records that are in no window of EMIT, because it had too many keys, or records that can be deleted."""
        return self._native.uncounted

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

    def written(self) -> dict[str, object]:
        return {"keys": self.keys, "where": self.condition, "values": self.values, "features": self.features}


def _write(windows: StreamWindows, inputs: tuple[str, ...], unit: TimeUnit, most: tuple[int, int]) -> str:
    """Return features and emissions as they are read natively: features with equal keys and conditions together."""
    writer = _RecordWriter({name: column for column, name in enumerate(inputs)}, unit)
    groups: dict[object, _Group] = {}
    for each in windows.features:
        condition = None if each.where is None else writer.condition(each.where)
        keys = [writer.name(key) for key in each.keys]
        group = groups.setdefault(msgspec.json.encode((keys, condition)), _Group(keys, condition))
        group.features.append(_write_feature(each, _place(group, writer, each.of), unit))
    most_records, most_keys = most
    spec = {
        "inputs": inputs,
        "most_records": most_records,
        "most_keys": most_keys,
        "groups": [each.written() for each in groups.values()],
        "emissions": [_write_emission(each, writer, unit) for each in windows.emissions],
    }
    return msgspec.json.encode(spec).decode()


def _write_emission(emission: Emission, writer: _RecordWriter, unit: TimeUnit) -> dict[str, object]:
    condition = None if emission.where is None else writer.condition(emission.where)
    group = _Group([writer.name(key) for key in emission.whole_key], condition)
    # A key whose records were all deleted gives nothing, so its records are counted first.
    group.features.append(_write_function("", "count", None))
    for each in emission.sets:
        group.features.append(_write_function(each.name, _function(each), _place(group, writer, each.of)))
    given = _RecordWriter({name: column for column, name in enumerate(emission.attributes)}, unit)
    return {
        "label": emission.label,
        "ends": None if emission.ends is None else [each.label for each in emission.ends],
        "every": int(emission.every.ticks(unit)),
        "group": group.written(),
        "names": emission.attributes,
        "having": None if emission.having is None else given.condition(emission.having),
    }


def _place(group: _Group, writer: _RecordWriter, of: str | None) -> int | None:
    """Return where the group has the values of a function."""
    if of is None:
        return None
    value = writer.name(of)
    if value not in group.values:
        group.values.append(value)
    return group.values.index(value)


def _write_feature(feature: Feature, value: int | None, unit: TimeUnit) -> dict[str, object]:
    against = None
    if feature.against is not None:
        windows = float(feature.against.ticks(unit) / feature.over.ticks(unit))
        against = (feature.against.ticks_at_least(unit), windows)
    return {
        **_write_function(feature.name, _function(feature), value),
        "over": feature.over.ticks_at_least(unit),
        "against": against,
        "excludes_current": feature.excludes_current,
    }


def _write_function(name: str, function: str, value: int | None) -> dict[str, object]:
    """Return a function over all records of a group."""
    return {
        "name": name,
        "function": function,
        "value": value,
        "over": MAX_EVENT_TIME,
        "against": None,
        "excludes_current": False,
    }


def _function(stated: Feature | Summary) -> str:
    return "different" if stated.is_distinct else stated.function.value
