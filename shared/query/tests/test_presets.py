"""Presets read records in the documented layout: each sample gives exactly the edges and events in the file beside it.

With GRAPHTIDE_WRITE_PRESETS=1 the test writes these files; read them before you keep them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import graphtide_query
import pytest
from graphtide_core.edge import Edge
from graphtide_core.errors import InvalidPatternError
from graphtide_query.presets import describe_preset, preset_names, read_preset
from graphtide_testing.oracles.record_files import read_records
from graphtide_testing.oracles.stream_records import FilteredRecord, RefusedRecord, read_stream

if TYPE_CHECKING:
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_testing.oracles.stream_records import GivenRecord, Outcome

SAMPLES = Path(__file__).parent / "fixtures" / "presets"
GIVEN = ".given"
ZEEK = ["zeek-conn", "zeek-dns", "zeek-http", "zeek-kerberos", "zeek-ssh"]


def sample_of(name: str) -> Path:
    (found,) = (each for each in SAMPLES.glob(f"{name}.*") if each.suffix != GIVEN)
    return found


def definition_of(name: str) -> StreamDefinition:
    (definition,) = graphtide_query.parse_streams(read_preset(name))
    return definition


def read_sample(name: str) -> list[Outcome]:
    definition = definition_of(name)
    return read_stream(definition, read_records(definition, sample_of(name).read_bytes()))


def show(outcome: Outcome) -> str:
    match outcome:
        case FilteredRecord():
            return "filtered\n"
        case RefusedRecord(reason):
            return f"rejected: {reason}\n"
        case _:
            return "".join(f"{show_given(each)}\n" for each in outcome)


def show_given(given: GivenRecord) -> str:
    record = given.record
    attributes = ", ".join(f"{name}: {value!r}" for name, value in sorted(record.attributes.items()))
    head = f"{given.change.value} {'made ' if record.made else ''}{record.id} at {record.ts}"
    if isinstance(record, Edge):
        source, target = (
            f"{end}:{label}" for end, label in ((record.source, record.source_label), (record.target, record.target_label))
        )
        return f"{head}: ({source})-[{record.label}]->({target}) {{{attributes}}}"
    return f"{head}: {record.type} {{{attributes}}}"


@pytest.mark.parametrize("name", preset_names())
def test_a_sample_gives_these_edges_and_events(name: str) -> None:
    found = "".join(map(show, read_sample(name)))
    beside = SAMPLES / (name + GIVEN)
    if os.environ.get("GRAPHTIDE_WRITE_PRESETS"):
        beside.write_text(found, encoding="utf-8")
    assert found == beside.read_text(encoding="utf-8")
    starts = {line.partition(" ")[0] for line in found.splitlines()}
    assert "insert" in starts
    assert "rejected:" not in starts


@pytest.mark.parametrize("name", ZEEK)
def test_both_forms_of_a_log_of_zeek_give_the_same(name: str) -> None:
    assert read_sample(name) == read_sample(f"{name}-json")


def test_every_sample_has_its_preset_and_every_preset_its_attributes_in_some_sample() -> None:
    assert {each.name.partition(".")[0] for each in SAMPLES.iterdir()} == set(preset_names())
    for name in preset_names():
        definition = definition_of(name)
        stated = {each.name for each in definition.sets} | {each.name for clause in definition.clauses for each in clause.sets}
        given = {
            attribute
            for outcome in read_sample(name)
            if isinstance(outcome, tuple)
            for each in outcome
            for attribute in each.record.attributes
        }
        assert given == stated, name


def test_a_preset_says_what_it_is_of_and_is_printed_as_it_is_read() -> None:
    for name in preset_names():
        assert describe_preset(name).endswith(".")
        definition = definition_of(name)
        assert graphtide_query.parse_streams(graphtide_query.print_stream(definition)) == (definition,)


def test_a_preset_that_does_not_exist_is_refused_with_one_that_does() -> None:
    with pytest.raises(InvalidPatternError, match="there is no preset 'zeek-con'") as caught:
        read_preset("zeek-con")
    assert "zeek-conn" in caught.value.hint
