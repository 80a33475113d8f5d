"""Records anywhere in JSON: what the json module finds under a path of the same text, wherever blocks cut it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.time import TimeUnit
from graphtide_native.decoders import Decoding, json_lines
from graphtide_native.decoders import json as any_json
from graphtide_native.record_form import RecordForm, time_form
from graphtide_native.records import Symbols
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_native.records import Decoder

MAX_RECORD = 16 << 20


def decode(data: bytes, *, path: Sequence[str] = (), step: int = 1 << 20) -> tuple[list[int], list[tuple[int, str]], Decoder]:
    decoder = any_json(Decoding(Symbols(), ["n"], form=RecordForm(path=tuple(path))))
    found = []
    for start in range(0, len(data), step):
        found += decoder.decode(data[start : start + step]).to_records()
    found += decoder.finish().to_records()
    return [each["ts"] for each in found], [(line, reason) for line, reason, _ in decoder.take_dead_letters()], decoder


def at_path(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yield what is a record, as the documents say it: objects at the end of the path, and elements of lists on the way."""
    if isinstance(value, list):
        for each in value:
            yield from at_path(each, path)
    elif not path:
        if value is not None:
            yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from at_path(value[path[0]], path[1:])


records = st.builds(
    lambda ts, note: {"note": note, "ts": ts, "src": "a", "nested": {"]": ["}"]}, "dst": "b", "label": "x"},
    st.integers(0, 99),
    st.text('"\\{}[],: \nü', max_size=5),
)
others = st.sampled_from([None, 1, -2.5, True, "text", '"}\\', "]", {}, [], {"a": [{"Records": 1}]}, [[1], {"b": 2}]])
keys = st.sampled_from(["Records", "spans", "a", "b", '"', "", "Rec\u006frds"])


def under(path: Sequence[str]) -> st.SearchStrategy[Any]:
    """Return values that have records at a path, and others beside it."""
    if not path:
        return st.lists(records, max_size=3) | records
    beside = st.dictionaries(keys.filter(lambda key: key != path[0]), others, max_size=2)
    inner = under(path[1:])
    value = beside.flatmap(lambda rest: inner.map(lambda found: {**rest, path[0]: found, "last": 7}))
    return value | st.lists(value, max_size=2)


@given(
    data=st.data(),
    path=st.sampled_from([(), ("Records",), ("Records", "spans"), ("a", "b", '"')]),
    indent=st.sampled_from([None, 0, 2, "\t"]),
    ascii_only=st.booleans(),
    between=st.sampled_from(["", "\n", " \r\n"]),
    step=st.integers(1, 50),
)
def test_records_are_those_that_the_module_finds_under_the_path(
    *, data: st.DataObject, path: tuple[str, ...], indent: Any, ascii_only: bool, between: str, step: int
) -> None:
    values = data.draw(st.lists(under(path), max_size=3))
    text = between.join(json.dumps(each, indent=indent, ensure_ascii=ascii_only) for each in values)
    found, dead, decoder = decode(text.encode(), path=path, step=step)
    expected = [each["ts"] for value in values for each in at_path(value, path)]
    assert (found, dead) == (expected, [])
    assert decoder.ordinal() == len(expected)


@given(st.text('{}[]",:\\ \n1tn', max_size=30), st.integers(1, 9), st.sampled_from([(), ("",), ("1", "")]))
def test_no_text_is_read_otherwise_if_it_is_cut(text: str, step: int, path: tuple[str, ...]) -> None:
    def whole_or_refused(step: int) -> object:
        try:
            return decode(text.encode(), path=path, step=step)[:2]
        except UnreadableStreamError as error:
            return str(error)

    assert whole_or_refused(step) == whole_or_refused(len(text) + 1)


def test_a_record_over_several_lines_has_the_line_where_it_begins() -> None:
    text = '\ufeff[\n  {"ts": 1,\n   "src": "a", "dst": "b", "label": "x"},\n  {"ts": 2,\n   "src": }, 7,\n  "x"\n]\n'
    found, dead, _ = decode(text.encode())
    assert found == [1]
    assert dead == [
        (4, "not a JSON object: expected value (its line 2, column 11)"),
        (5, "not a JSON object: invalid type: integer `7`, expected an object (column 1)"),
        (6, 'not a JSON object: invalid type: string "x", expected an object (column 3)'),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"ts":1,"src":"a","dst":"b","label":"x"},', "it breaks off: an object, a list or a text is not closed"),
        ('[{"ts":1,"src":"a","dst":"b","label":"x"}}', "a '}' in line 1 does not belong there"),
        ('{"ts":1,"src":"a","dst":"b","label":"x"}\n]', "a ']' in line 2 closes nothing"),
        ('{"ts":1,"src":"a","dst":"b","label":"x"} "', "it breaks off: an object, a list or a text is not closed"),
    ],
)
def test_what_came_before_json_breaks_counts(text: str, reason: str) -> None:
    decoder = any_json(Decoding())
    assert len(decoder.decode(text.encode())) == 1
    with pytest.raises(UnreadableStreamError) as broken:
        decoder.finish()
    assert str(broken.value) == f"this is not JSON: {reason}"


def test_objects_that_stand_too_deep_in_each_other_are_refused() -> None:
    with pytest.raises(UnreadableStreamError, match="more than 128 deep in each other, in line 1"):
        decode(b"[" * 1_000_000)
    assert decode(b'{"x":' + b"[" * 1_000 + b"]" * 1_000 + b"}", path=["Records"])[:2] == ([], []), "what is skipped may be"


def test_a_record_past_the_bound_is_rejected_and_what_follows_is_read() -> None:
    good = b'{"ts":5,"src":"a","dst":"b","label":"x"}'
    data = b"[" + b'{"n":"' + b"y" * MAX_RECORD + b'","m":{}},' + good + b"]"
    for step in (1 << 16, (1 << 20) + 7, 1 << 26):
        found, dead, _ = decode(data, step=step)
        assert found == [5]
        assert dead == [(1, "the record is longer than 16777216 bytes; its first 65536 are kept")]


def test_times_are_read_as_they_are_written_and_lines_may_be_comments() -> None:
    form = RecordForm(times=time_form("s", None, TimeUnit.NANOSECOND), comment="//")
    decoder = json_lines(Decoding(form=form))
    rest = '"src":"a","dst":"b","label":"x"'
    lines = [
        "// first",
        f'{{"ts":1521911721.258458123,{rest}}}',
        f'{{"ts": 1.5e0 ,{rest}}}',
        f'{{"ts":"2.25",{rest}}}',
        f'{{"ts":3,{rest}}}',
    ]
    found = decoder.decode("".join(f"{line}\n" for line in lines).encode()).to_records()
    assert [each["ts"] for each in found] == [1_521_911_721_258_458_123, 1_500_000_000, 2_250_000_000, 3_000_000_000]
    decoder.decode(f'{{"ts":true,{rest}}}\n{{"ts":[],{rest}}}\n{{{rest}}}\n'.encode())
    assert [reason for _, reason, _ in decoder.take_dead_letters()] == [
        'ts "true" is not a number',
        'ts "a list or object" is not a number',
        "ts is missing",
    ]
