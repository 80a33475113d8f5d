"""What a decoder made of records that a STREAM statement reads, in the form of the oracle's outcomes, to compare both whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from graphtide_core.edge import Edge, Operation

from graphtide_testing.oracles.stream_records import Change, FilteredRecord, RefusedRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.edge import Value

    from graphtide_testing.oracles.stream_records import GivenRecord, Outcome

Row = dict[str, Any]

REASONS: Final = (
    "no time",
    "the time",
    "no source",
    "no target",
    "no type",
    "no id",
    "unknown operation",
    "not an object",
    "not a JSON object",
    "the regular expression does not match",
    "not a message of syslog",
    "not a record of Avro",
    "not a message of Protobuf",
)
"""How reasons begin: the class of a dead letter."""

_NOT_RECORDS: Final = frozenset(
    {"not a JSON object", "the regular expression does not match", "not a message of syslog", "not a record of Avro"}
)


def expected_rows(outcomes: Iterable[Outcome], attributes: Sequence[str], places: Sequence[int]) -> list[Row]:
    """Return the rows of a batch that outcomes are; `places` are the lines of the records."""
    rows = []
    for ordinal, (outcome, line) in enumerate(zip(outcomes, places, strict=True)):
        if isinstance(outcome, FilteredRecord | RefusedRecord):
            continue
        for given in outcome:
            rows += [_row(given, attributes) | {"ordinal": ordinal, "line": line} for given in _steps(given)]
    return rows


def class_of(reason: str) -> str:
    """Return how a reason begins."""
    found = next((each for each in REASONS if reason.startswith(each)), reason)
    return "not an object" if found in _NOT_RECORDS else found


def values_of(row: Row) -> Row:
    """Return a row whose values show their types: 1, 1.0 and true are others."""
    typed = {name: (type(value).__name__, repr(value)) for name, value in row["attributes"].items()}
    return {name: value for name, value in row.items() if name != "raw"} | {"attributes": typed}


def _steps(given: GivenRecord) -> list[tuple[Operation, GivenRecord]]:
    match given.change:
        case Change.INSERT:
            return [(Operation.INSERT, given)]
        case Change.DELETE:
            return [(Operation.DELETE, given)]
        case Change.UPDATE:
            return [(Operation.DELETE, given), (Operation.INSERT, given)]


def _row(step: tuple[Operation, GivenRecord], attributes: Sequence[str]) -> Row:
    operation, given = step
    record = given.record
    row: Row = {"ts": record.ts, "op": operation.value, "id": record.id, "made": record.made}
    ends: dict[str, str] = dict.fromkeys(("src", "dst", "label", "src_label", "dst_label"), "")
    values: dict[str, Value] = dict.fromkeys(attributes)
    if operation is Operation.INSERT:
        if isinstance(record, Edge):
            labels = {"src_label": record.source_label or "", "dst_label": record.target_label or ""}
            ends = {"src": record.source, "dst": record.target, "label": record.label} | labels
        else:
            ends["label"] = record.type
        values = {name: record.attributes.get(name) for name in attributes}
    return row | ends | {"attributes": values}
