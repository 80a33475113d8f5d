"""Presets read their samples natively as the oracle does, whatever the blocks that the bytes come in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphtide_query
import pytest
from graphtide_native.record_form import clocks_of_zones
from graphtide_native.records import StatementDecoder, Symbols
from graphtide_query.presets import preset_names, read_preset
from graphtide_testing.given_rows import expected_rows, values_of
from graphtide_testing.oracles.record_files import read_records
from graphtide_testing.oracles.stream_records import FilteredRecord, RefusedRecord, read_stream
from graphtide_wire.stream_definition import encode_definition

SAMPLES = Path(__file__).parents[2] / "query" / "tests" / "fixtures" / "presets"


def without_line(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values_of(row).items() if name != "line"}


@pytest.mark.parametrize("size", [1, 100, 10_000])
@pytest.mark.parametrize("name", preset_names())
def test_a_sample_is_read_natively_as_by_the_oracle(name: str, size: int) -> None:
    (definition,) = graphtide_query.parse_streams(read_preset(name))
    (sample,) = (each for each in SAMPLES.glob(f"{name}.*") if each.suffix != ".given")
    assert definition.format is not None
    outcomes = read_stream(definition, read_records(definition, sample.read_bytes()))
    data = sample.read_bytes()
    attributes = sorted({each.name for part in (definition, *definition.clauses) for each in part.sets})
    decoder = StatementDecoder(
        Symbols(),
        attributes,
        encode_definition(definition),
        format=definition.format.name,
        zones=clocks_of_zones(definition.zones()),
    )
    batches = [decoder.decode(data[start : start + size]) for start in range(0, len(data), size)]
    rows = [row for batch in [*batches, decoder.finish()] for row in batch.to_records()]
    expected = expected_rows(outcomes, attributes, range(1, len(outcomes) + 1))
    assert [without_line(row) for row in rows] == [without_line(row) for row in expected]
    assert decoder.take_dead_letters() == []
    assert decoder.filtered() == sum(isinstance(each, FilteredRecord) for each in outcomes)
    assert not any(isinstance(each, RefusedRecord) for each in outcomes)
