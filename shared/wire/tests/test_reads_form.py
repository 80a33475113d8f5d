"""What a pattern reads comes out of its record as it went in, or the record is refused."""

import re

import msgspec
import pytest
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ids import StreamName
from graphtide_core.reads import Lookback, Reads
from graphtide_core.time import Duration
from graphtide_core.window import EdgeCount
from graphtide_testing.wire_examples import PATTERN
from graphtide_wire import control
from graphtide_wire.reads_form import form_of

FLOWS = StreamName("flows")


@pytest.mark.parametrize(
    "reads",
    [
        Reads((FLOWS,), Lookback(Duration(10, "m")), None, ()),
        Reads((FLOWS, StreamName("logins")), Lookback(Duration(2**63 - 1)), ("dns", "tls"), ("bytes",)),
        Reads((FLOWS,), Lookback(EdgeCount(500)), None, ()),
        Reads((FLOWS,), Lookback(Duration(3, "w"), is_closed=True), (), ()),
    ],
)
def test_what_is_read_comes_back(reads: Reads) -> None:
    record = msgspec.structs.replace(PATTERN, reads=form_of(reads))
    assert control.registered_reads(control.encode_pattern(record)) == reads


def write(reads: dict[str, object] | None) -> bytes:
    """Return the record of a pattern that says this of what it reads; None says nothing."""
    record = msgspec.to_builtins(PATTERN)
    del record["reads"]
    return msgspec.json.encode(record if reads is None else record | {"reads": reads})


def test_a_registration_of_before_the_field_is_refused() -> None:
    value = write(None)
    with pytest.raises(PoisonRecordError, match=re.escape("missing required field `reads`")):
        control.decode_pattern(value)
    assert control.registered_reads(value) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"reach": "10m"},
        {"reach": {"length": "10 m"}},
        {"reach": {"length": "-5"}},
        {"reach": {"length": "0", "edges": 0}},
        {"streams": []},
        {"labels": "k"},
    ],
)
def test_what_cannot_be_read_is_refused(wrong: dict[str, object]) -> None:
    given = {"streams": ["flows"], "reach": {"length": "10m"}, "labels": None, "attributes": []}
    with pytest.raises(PoisonRecordError):
        control.decode_pattern(write(given | wrong))


def test_a_deleted_pattern_reads_nothing() -> None:
    assert control.registered_reads(None) is None
