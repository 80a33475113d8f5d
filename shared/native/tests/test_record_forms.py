"""CSV as people have it: what a slow reader of Python makes of the same text, wherever blocks cut it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.time import TimeUnit
from graphtide_native.decoders import Decoding, csv, json, json_lines, zeek
from graphtide_native.record_form import RecordForm, time_form
from graphtide_native.records import Symbols
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_native.records import Decoder

words = st.text("ab1.-é", min_size=1, max_size=4)
rows = st.lists(st.lists(words, min_size=2, max_size=4), max_size=8)


def decode(
    make: Callable[[Decoding], Decoder],
    text: str | bytes,
    form: RecordForm,
    *,
    step: int = 1 << 20,
    attributes: Sequence[str] = (),
    columns: dict[str, str] | None = None,
    delimiter: str = ",",
    types: dict[str, str] | None = None,
) -> tuple[list[dict[str, Any]], list[tuple[int, str]], Decoder]:
    data = text if isinstance(text, bytes) else text.encode()
    asked = Decoding(
        Symbols(),
        attributes,
        columns or {},
        delimiter,
        types=types or {},
        settle=True,
        form=form,
        time_unit=TimeUnit.MICROSECOND,
    )
    decoder = make(asked)
    records = []
    for start in range(0, len(data), step):
        records += decoder.decode(data[start : start + step]).to_records()
    records += decoder.finish().to_records()
    return records, [(line, reason) for line, reason, _ in decoder.take_dead_letters()], decoder


def ends(records: Sequence[dict[str, Any]]) -> list[tuple[int, str, str, str]]:
    return [(each["ts"], each["src"], each["dst"], each["label"]) for each in records]


LINES = ["1 a b x", " 2\ta \t b  x ", "3 a b", "# 4 a b x", "", "  \t", '5 "a b" x', "6 a b x y"]
COMMENTED = ["1,a,b,x\n", '2,"a\n#c",b,x\n', '# a,"b\n', "//\n", "/", "#\r\n", "3,#a,b,x\n"]


@given(
    lines=st.lists(
        st.sampled_from(["1 a b x", " 2\ta \t b  x ", "3 a b", "# 4 a b x", "", "  \t", '5 "a b" x', "6 a b x y"]), max_size=9
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    step=st.integers(1, 30),
)
def test_fields_between_blanks_are_those_that_split_gives(*, lines: list[str], end: str, last: bool, step: int) -> None:
    text = end.join(lines) + (end if last else "")
    form = RecordForm(comment="#", heading="given", header=("ts", "src", "dst", "label"))
    records, dead, _ = decode(csv, text, form, step=step, delimiter="whitespace")
    kept = [(number, line.split()) for number, line in enumerate(lines, 1) if line.split() and not line.startswith("#")]
    assert ends(records) == [(int(row[0]), *row[1:]) for _, row in kept if len(row) == 4]
    assert dead == [(number, f"expected 4 fields, found {len(row)}") for number, row in kept if len(row) != 4]


@given(rows=rows, delimiter=st.sampled_from(["::", "||", "<>", "§", " - "]), step=st.integers(1, 30))
def test_a_delimiter_of_several_characters_splits_as_split_does(rows: list[list[str]], delimiter: str, step: int) -> None:
    lines = [delimiter.join(["7", *row, "x"]) for row in rows]
    text = "\n".join([delimiter.join(["ts", "src", "dst", "label"]), *lines, ""])
    records, dead, _ = decode(csv, text, RecordForm(), step=step, delimiter=delimiter)
    split = [line.split(delimiter) for line in lines]
    assert ends(records) == [(7, *row[1:]) for row in split if len(row) == 4]
    assert [line for line, _ in dead] == [number for number, row in enumerate(split, 2) if len(row) != 4]


@given(
    parts=st.lists(
        st.sampled_from(["1,a,b,x\n", '2,"a\n#c",b,x\n', '# a,"b\n', "//\n", "/", "#\r\n", "3,#a,b,x\n"]), max_size=8
    ),
    comment=st.sampled_from(["#", "//"]),
    step=st.integers(1, 20),
)
def test_lines_of_comments_are_no_records_and_their_quotes_protect_nothing(parts: list[str], comment: str, step: int) -> None:
    form = RecordForm(comment=comment, heading="given", header=("ts", "src", "dst", "label"))
    whole = decode(csv, "".join(parts), form)[:2]
    assert decode(csv, "".join(parts), form, step=step)[:2] == whole
    # Taking them out by hand gives the same records: outside quotes, a comment is what begins a line.
    without, rest = "", "".join(parts)
    while rest:
        if rest.startswith(comment):
            rest = rest.partition("\n")[2]
            continue
        found = re.match(r'(?:[^"\n,]*|"[^"]*")(?:,(?:[^"\n,]*|"[^"]*"))*(?:\n|$)', rest)
        if found is None:
            without, rest = without + rest, ""
        else:
            without, rest = without + found[0], rest[found.end() :]
    assert ends(decode(csv, without, RecordForm(heading="given", header=form.header))[0]) == ends(whole[0])


def test_columns_without_a_header_line_are_given_or_called_by_their_numbers() -> None:
    text = "5,a,b,x,7\n6,b,c,y,zip\n"
    named = RecordForm(heading="given", header=("ts", "src", "dst", "label", "n"))
    records, dead, decoder = decode(csv, text, named, attributes=["n"])
    assert dead == []
    assert ends(records) == [(5, "a", "b", "x"), (6, "b", "c", "y")]
    assert [each["attributes"]["n"] for each in records] == ["7", "zip"], "the first block settles that it holds texts"
    assert [each["line"] for each in records] == [1, 2]
    assert decoder.columns() == list(named.header)
    numbers = RecordForm(heading="numbers")
    columns = {"ts": "1", "src": "3", "dst": "2", "label": "4"}
    records, dead, decoder = decode(csv, text, numbers, attributes=["5"], columns=columns, step=3)
    assert (ends(records), dead) == ([(5, "b", "a", "x"), (6, "c", "b", "y")], [])
    assert decoder.columns() == ["1", "2", "3", "4", "5"]
    assert decode(csv, "", named)[:2] == ([], [])
    with pytest.raises(UnreadableStreamError, match='no column "label"; the columns are "ts", "src"'):
        decode(csv, text, RecordForm(heading="given", header=("ts", "src", "dst")))


def test_words_for_missing_values_are_missing_everywhere() -> None:
    form = RecordForm(nulls=("-", "NA"))
    text = 'ts,src,dst,label,id,n,note\n1,a,b,x,-,-,NA\n2,NA,b,x,e,7,"-"\n'
    records, dead, _ = decode(csv, text, form, attributes=["n", "note"])
    assert dead == [(3, "src is empty")]
    assert [(each["id"], each["attributes"]) for each in records] == [("0", {"n": None, "note": None})]
    lines = '{"ts":1,"src":"a","dst":"b","label":"x","id":"-","n":"NA"}\n{"ts":2,"src":"-","dst":"b","label":"x"}\n'
    records, dead, _ = decode(json_lines, lines, form, attributes=["n"])
    assert dead == [(2, "src is missing")]
    assert [(each["id"], each["attributes"]) for each in records] == [("0", {"n": None})]


@pytest.mark.parametrize("ts", ["0", "-1", "1.5", "1e3", "-2.0"])
@pytest.mark.parametrize("source", ["a", "\\u0061"])
@pytest.mark.parametrize("format", [json_lines, json])
def test_a_number_of_json_is_no_word_for_a_missing_value(format: Callable[[Decoding], Decoder], ts: str, source: str) -> None:
    form = RecordForm(nulls=(ts, "b"), times=time_form("s", None, TimeUnit.MICROSECOND))
    line = f'{{"ts":{ts},"src":"{source}","dst":"c","label":"x","n":{ts},"note":"b"}}\n'
    records, dead, _ = decode(format, line, form, attributes=["ts", "n", "note"])
    assert dead == []
    assert [(each["ts"], each["attributes"]) for each in records] == [
        (float(ts) * 1_000_000, {"ts": float(ts), "n": float(ts), "note": None})
    ]
    assert decode(format, line.replace(f'"ts":{ts}', f'"ts":"{ts}"'), form)[1] == [(1, "ts is missing")]


def test_numbers_with_a_decimal_comma_are_numbers() -> None:
    form = RecordForm(has_decimal_comma=True)
    text = "ts;src;dst;label;n;text\n1;a;b;x;1.234,50;1.5\n2;a;b;x;-7;2\n3;a;b;x;;\n"
    records, dead, decoder = decode(csv, text, form, attributes=["n", "text"], delimiter=";")
    assert dead == []
    assert [each["attributes"] for each in records] == [
        {"n": 1234.5, "text": "1.5"},
        {"n": -7, "text": "2"},
        {"n": None, "text": None},
    ]
    assert [column for column, _, _ in decoder.settled()] == ["text"]
    records, dead, _ = decode(csv, text, form, attributes=["n"], delimiter=";", types={"text": "number"})
    assert dead == [(2, 'text "1.5" is not of the type number, which was declared')]


def test_edges_without_a_label_have_the_one_that_is_given() -> None:
    form = RecordForm(label="flow")
    assert ends(decode(csv, "ts,src,dst\n1,a,b\n", form)[0]) == [(1, "a", "b", "flow")]
    assert ends(decode(csv, "ts,src,dst,label\n1,a,b,\n2,a,b,x\n", form)[0]) == [(1, "a", "b", "flow"), (2, "a", "b", "x")]
    lines = '{"ts":1,"src":"a","dst":"b"}\n{"ts":2,"src":"a","dst":"b","label":"x"}\n{"ts":3,"type":"t"}\n'
    records, dead, _ = decode(json_lines, lines, form)
    assert dead == []
    assert [(each["ts"], each["label"]) for each in records] == [(1, "flow"), (2, "x"), (3, "t")]


ZEEK = """#separator \\x09
#set_separator\t,
#empty_field\t(empty)
#unset_field\t-
#path\tconn
#open\t2018-03-24-17-15-21
#fields\tts\tuid\tid.orig_h\tid.resp_h\tid.resp_p\tproto\tservice\torig_bytes\tlocal_orig\tduration
#types\ttime\tstring\taddr\taddr\tport\tenum\tstring\tcount\tbool\tinterval
1521911721.255387\tC8Tful1TvM3Zf5x8fl\t10.164.94.120\t10.164.94.81\t443\ttcp\tssl\t77\tT\t0.25
1521911721.258458\tCXWfTK3LRdiuQxBbM6\t10.47.25.80\t10.128.0.218\t53\tudp\t-\t-\tF\t-
#close\t2018-03-24-17-20-00
#separator \\x7c
#unset_field|NA
#fields|id.resp_h|ts|id.orig_h|proto|uid|service
#types|addr|time|addr|enum|string|string
10.0.0.1|1521911722.0|10.0.0.2|tcp|u"3|"http
10.0.0.1|1521911723|NA|tcp|u4|(empty)
"""
MAPPED = {"src": "id.orig_h", "dst": "id.resp_h", "label": "proto", "id": "uid"}


@pytest.mark.parametrize("step", [1, 2, 7, 64, 1 << 20])
def test_a_log_of_zeek_says_how_it_is_written_and_may_say_it_anew(step: int) -> None:
    wanted = ["service", "orig_bytes", "local_orig", "duration", "id.resp_p"]
    records, dead, decoder = decode(zeek, ZEEK, RecordForm(), step=step, attributes=wanted, columns=MAPPED)
    assert dead == [(17, "src is empty")]
    assert [(each["ts"], each["src"], each["dst"], each["label"], each["id"]) for each in records] == [
        (1_521_911_721_255_387, "10.164.94.120", "10.164.94.81", "tcp", "C8Tful1TvM3Zf5x8fl"),
        (1_521_911_721_258_458, "10.47.25.80", "10.128.0.218", "udp", "CXWfTK3LRdiuQxBbM6"),
        (1_521_911_722_000_000, "10.0.0.2", "10.0.0.1", "tcp", 'u"3'),
    ]
    assert [tuple(each["attributes"][name] for name in wanted) for each in records] == [
        ("ssl", 77, True, 0.25, 443),
        (None, None, False, None, 53),
        ('"http', None, None, None, None),
    ]
    assert decoder.columns() == ["id.resp_h", "ts", "id.orig_h", "proto", "uid", "service"]


def test_words_for_missing_values_stay_while_a_log_of_zeek_says_its_own_anew() -> None:
    form = RecordForm(nulls=("ssl", "NA"))
    records, dead, _ = decode(zeek, ZEEK.replace("udp\t-", "udp\tNA"), form, attributes=["service"], columns=MAPPED)
    assert dead == [(17, "src is empty")]
    assert [each["attributes"]["service"] for each in records] == [None, None, '"http']


def test_what_is_no_log_of_zeek_is_refused() -> None:
    with pytest.raises(UnreadableStreamError, match="this is not a log of Zeek: it does not begin with lines such as #sep"):
        decode(zeek, "ts,src,dst,label\n1,a,b,x\n", RecordForm())
    with pytest.raises(UnreadableStreamError, match=r"its separator .* is no byte that separates fields"):
        decode(zeek, "#separator \\xff\n", RecordForm())
    with pytest.raises(UnreadableStreamError, match='no column "src"; the columns are "ts", "a"'):
        decode(zeek, "#fields\tts\ta\n", RecordForm())


def test_a_value_of_another_type_than_zeek_says_is_rejected() -> None:
    text = ZEEK.partition("#close")[0].replace("\t77\t", "\tmany\t")
    _, dead, _ = decode(zeek, text, RecordForm(), attributes=["orig_bytes"], columns=MAPPED)
    assert dead == [(9, 'orig_bytes "many" is not of the type integer, which was declared')]
