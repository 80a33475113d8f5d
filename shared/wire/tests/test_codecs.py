"""What codecs do beyond giving back what they were given."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pytest
from graphtide_core.errors import PoisonRecordError
from graphtide_core.formats import JSON_LINES
from graphtide_core.plans import (
    Candidate,
    FilteringPlan,
    PhysicalPlan,
    SearchPlan,
    SjTreePlan,
    SjTreeStrategy,
    Storage,
    TimingPlan,
    plan_classes,
)
from graphtide_core.ports.log import Record
from graphtide_core.time import TimeUnit
from graphtide_testing.wire_examples import BODY, COLUMNS, HEADER, PLANS, SNAPSHOT
from graphtide_testing.wire_examples import PHYSICAL as PHYSICAL_EXAMPLES
from graphtide_wire import control, matches, ordered, ordered_body, raw, statistics
from graphtide_wire.json_form import decode, encode
from graphtide_wire.plans import PhysicalForm, PlanForm, form_of, physical_form, plan_of
from hypothesis import given
from hypothesis import strategies as st

EDGE = b'{"ts":1,"src":"a","dst":"b","label":"x"}'
NUMBERS = st.integers(0, 63)
ROWS = st.lists(st.lists(NUMBERS, max_size=4).map(tuple), max_size=4).map(tuple)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ESTIMATES = st.lists(st.lists(FLOATS, max_size=4).map(tuple), max_size=4).map(tuple)
CARDINALITIES = st.lists(st.tuples(st.text(max_size=4), FLOATS), max_size=3).map(tuple)
PHYSICAL: st.SearchStrategy[PhysicalPlan] = st.one_of(
    st.builds(TimingPlan, ROWS, st.sampled_from(Storage), CARDINALITIES),
    st.builds(SearchPlan, ROWS, ESTIMATES),
    st.builds(SjTreePlan, ROWS, st.sampled_from(SjTreeStrategy), CARDINALITIES),
    st.builds(
        FilteringPlan,
        ROWS,
        st.lists(NUMBERS, max_size=4).map(tuple),
        st.lists(FLOATS, max_size=4).map(tuple),
        ESTIMATES,
    ),
)


def send(value: bytes, *headers: tuple[str, bytes]) -> Record:
    return Record("t", 0, 0, 0, None, value, headers)


def stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


@given(PHYSICAL, st.lists(st.builds(Candidate, PHYSICAL, FLOATS, FLOATS, st.text(max_size=4)), max_size=2).map(tuple))
def test_every_plan_comes_back(physical: PhysicalPlan, considered: tuple[Candidate, ...]) -> None:
    value = encode(form_of(physical, considered))
    assert plan_of(decode(value, PlanForm, "plan", physical_form)) == (physical, considered)


def test_an_estimate_without_bound_becomes_the_largest_number() -> None:
    plan = SearchPlan(((0,),), ((math.inf,),))
    [[[largest]]] = (json.loads(encode(form_of(plan)))["physical"]["fan_outs"],)
    assert 1e308 < largest < math.inf


def test_a_plan_of_a_newer_format_is_known_by_name_alone() -> None:
    newer = json.loads(control.encode_plan(PLANS["timing"])) | {"format": 2, "plan": {"physical": {"engine": "new"}}}
    found = control.decode_plan(json.dumps(newer).encode())
    assert found == control.PlanHead("exfiltration", 2, 5, "matcher_timing", 0, 2)


def test_a_plan_for_an_unknown_engine_or_edge_is_refused() -> None:
    plan = json.loads(control.encode_plan(PLANS["timing"]))
    for physical in ({"engine": "new"}, {"engine": "timing", "subqueries": [[64]], "storage": "ms-dag"}):
        with pytest.raises(PoisonRecordError, match="no plan"):
            control.decode_plan(json.dumps(plan | {"plan": {"physical": physical}}).encode())


def test_the_plans_of_every_engine_have_an_example_whose_bytes_are_kept() -> None:
    own = [each for each in plan_classes() if each.__module__.startswith("graphtide_core")]
    assert {engine for each in own for engine in each.engines} == PHYSICAL_EXAMPLES.keys()


def test_a_plan_for_no_engine_says_which_there_are() -> None:
    for value in (7, {}, {"engine": ["timing"]}, {"engine": "new"}):
        with pytest.raises(ValueError, match=r"a plan is for one of the engines .*timing, .*, not for"):
            physical_form(PhysicalForm, value)


def test_fields_of_newer_writers_are_left_out() -> None:
    plan = json.loads(control.encode_plan(PLANS["sj-tree"])) | {"colour": "red"}
    assert control.decode_plan(json.dumps(plan).encode()) == PLANS["sj-tree"]


def test_the_match_record_is_sent_as_the_engine_wrote_it() -> None:
    message = matches.encode("t", BODY + b"\n", 2, TimeUnit.MILLISECOND)
    assert message.value == BODY
    assert message.key == b"exfiltration"
    assert dict(message.headers)["ce_time"] == b"2024-01-01T14:59:46.924000Z"


@pytest.mark.parametrize(("unit", "ts"), [(None, 0), (TimeUnit.SECOND, 2**62), (TimeUnit.SECOND, -(2**62))])
def test_a_match_whose_time_cannot_be_written_has_none(unit: TimeUnit | None, ts: int) -> None:
    line = BODY.replace(b'"detected_at":1704121186924', b'"detected_at":%d' % ts)
    assert "ce_time" not in dict(matches.encode("t", line, 2, unit).headers)


def test_a_retraction_has_an_id_of_its_own() -> None:
    headers = dict(matches.encode("t", BODY.replace(b'"kind":"match"', b'"kind":"retract"'), 2, None).headers)
    assert headers["ce_id"] == b"4232d89a8d4c036f868a7bc9f0d7cb5f-retract"
    assert headers["ce_type"] == b"io.graphtide.retraction"


def test_the_source_of_a_match_is_a_path_whatever_the_pattern_is_called() -> None:
    line = BODY.replace(b'"query":"exfiltration"', '"query":"größe/2"'.encode())
    headers = dict(matches.encode("t", line, 2, None).headers)
    assert headers["ce_source"] == b"/graphtide/patterns/gr%C3%B6%C3%9Fe%2F2"
    assert headers["ce_subject"].decode() == "größe/2"


@pytest.mark.parametrize(
    "record",
    [
        send(EDGE),
        send(EDGE + b"\n", ("content-type", b"application/json; charset=utf-8")),
        send(EDGE.replace(b",", b",\n  "), ("content-type", b"application/json")),
        send(EDGE, ("content-type", b"application/json"), ("ce_specversion", b"1.0"), ("ce_time", b"never")),
        send(b'{"specversion":"1.0","data":%b}' % EDGE, ("content-type", b"application/cloudevents+json")),
        send(b'{"specversion":"1.0",\n "data": [%b]}' % EDGE, ("content-type", b"Application/CloudEvents+JSON; charset=utf-8")),
    ],
    ids=["undeclared", "json", "indented", "binary event", "structured event", "event with a list"],
)
def test_an_edge_is_read_however_it_is_wrapped(record: Record) -> None:
    found = raw.decode(record)
    assert found.format is JSON_LINES
    assert json.loads(found.body) == json.loads(EDGE)
    assert found.body.count(b"\n") == 0


def test_a_list_in_an_event_becomes_lines() -> None:
    event = b'{"specversion":"1.0","data":[%b,{"ts":\n2}]}' % EDGE
    assert raw.decode(send(event, ("content-type", b"application/cloudevents+json"))).body == EDGE + b'\n{"ts":2}'


BINARY = (("content-type", b"application/json"), ("ce_specversion", b"1.0"), ("ce_type", b"reading"))
STRUCTURED = ("content-type", b"application/cloudevents+json")


@pytest.mark.parametrize(
    ("record", "lines"),
    [
        (send(b'{"ts":1,"v":1.50}', *BINARY), b'{"type":"reading","ts":1,"v":1.50}'),
        (send(b"{}", *BINARY), b'{"type":"reading"}'),
        (send(b'{"ts":1,"type":"own"}', *BINARY), b'{"ts":1,"type":"own"}'),
        (send(EDGE, *BINARY), EDGE),
        (send(b"[1]", *BINARY), b"[1]"),
        (send(b'{"specversion":"1.0","type":"t","data":[{"ts":1},%b]}' % EDGE, STRUCTURED), b'{"type":"t","ts":1}\n' + EDGE),
        (send(b'{"specversion":"1.0","data":{"ts":1}}', STRUCTURED), b'{"ts":1}'),
        (send(b'{"ts":1}', *BINARY[:2]), b'{"ts":1}'),
    ],
)
def test_an_event_that_does_not_say_its_type_has_that_of_its_cloud_event(record: Record, lines: bytes) -> None:
    assert raw.decode(record).body == lines


def test_lines_declared_as_one_value_stay_lines() -> None:
    assert raw.decode(send(EDGE + b"\n" + EDGE, ("content-type", b"application/json"))).body == EDGE + b"\n" + EDGE


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (send(b"<a/>", ("content-type", b"text/xml")), "content type 'text/xml'"),
        (send(b"1,a,b,x", ("content-type", b"text/csv")), "without the header graphtide-columns"),
        (send(b"{}", ("content-type", b"application/cloudevents+json")), "specversion"),
        (send(b"{}", ("graphtide-line", b"many")), "graphtide-line is not an integer"),
        (send(b"{}", ("graphtide-producer", b"\xff")), "graphtide-producer is not UTF-8"),
    ],
)
def test_what_is_no_raw_record_says_why(record: Record, reason: str) -> None:
    with pytest.raises(PoisonRecordError, match=reason):
        raw.decode(record)


def test_ordered_edges_come_back_with_their_types() -> None:
    table = ordered_body.decode(ordered_body.encode(COLUMNS))
    assert table.to_pydict() == COLUMNS
    assert [str(field.type) for field in table.schema] == [
        "int64",
        "string",
        "string",
        *["dictionary<values=string, indices=int32, ordered=0>"] * 3,
        "string",
        "dictionary<values=string, indices=int32, ordered=0>",
        "bool",
        "int64",
    ]


@pytest.mark.parametrize("column", ["op", ordered_body.MADE])
def test_a_batch_without_deletions_or_made_ids_does_not_speak_of_them(column: str) -> None:
    others = {name: values for name, values in COLUMNS.items() if name != column}
    assert ordered_body.decode(ordered_body.encode(others)).column_names == list(others)


def test_a_writer_may_number_labels_its_own_way() -> None:
    table = ordered_body.decode(ordered_body.encode(COLUMNS))
    narrow = table.set_column(3, "label", table.column("label").cast(pa.dictionary(pa.int8(), pa.utf8())))
    plain = table.set_column(3, "label", table.column("label").cast(pa.utf8()))
    assert ordered_body.decode(stream(narrow)).to_pydict() == COLUMNS
    with pytest.raises(PoisonRecordError, match="the column label"):
        ordered_body.decode(stream(plain))


@pytest.mark.parametrize("name", ["ts", "src", "label", "id"])
def test_ordered_edges_lack_no_column(name: str) -> None:
    less = {column: values for column, values in COLUMNS.items() if column != name}
    with pytest.raises(ValueError, match=name):
        ordered_body.encode(less)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("graphtide-unit", b"h"),
        ("graphtide-epoch", b"-1"),
        ("graphtide-epoch", b"x"),
        ("graphtide-records", b"-1"),
        ("graphtide-first-ts", b"10"),
        ("graphtide-ordinal", b"9" * 19),
    ],
)
def test_impossible_headers_are_refused(name: str, value: bytes) -> None:
    message = ordered.encode("t", HEADER, b"")
    with pytest.raises(PoisonRecordError):
        ordered.header((*message.headers, (name, value)))


def test_statistics_hold_the_snapshot_as_the_core_writes_it() -> None:
    record = json.loads(statistics.encode_statistics(SNAPSHOT))
    assert (record["stream"], record["snapshot_version"], record["drift"], record["schema"]) == ("flows", 12, 0.25, 1)


def test_statistics_that_contradict_themselves_are_refused() -> None:
    value = statistics.encode_statistics(SNAPSHOT).replace(b'"paths": [[0', b'"paths": [[9')
    with pytest.raises(PoisonRecordError, match="damaged"):
        statistics.decode_statistics(value)


def test_the_beginning_of_an_epoch_is_a_record_without_edges_that_readers_take() -> None:
    message = ordered.encode_beginning("t", 3, 17, TimeUnit.SECOND, ordered_body.encode_none())
    found = ordered.header(message.headers)
    assert (found.epoch, found.records, found.ordinal, found.unit) == (3, 0, 17, TimeUnit.SECOND)
    assert ordered_body.decode(message.value or b"").num_rows == 0


def test_edges_of_the_first_epoch_are_written_as_by_versions_without_epochs() -> None:
    names = {name for name, _ in ordered.encode("t", HEADER, b"").headers}
    assert "graphtide-epoch" not in names
    assert ordered.header(ordered.encode("t", HEADER, b"").headers).epoch == 0


def test_a_command_is_no_edges() -> None:
    message = raw.encode_reset("t", raw.Reset(4))
    record = send(b"", *message.headers)
    assert raw.parts(record)[0].reset == raw.Reset(4)
    with pytest.raises(PoisonRecordError, match="a command in place of edges"):
        raw.decode(record)
