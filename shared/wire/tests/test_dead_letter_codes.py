"""The code of a dead letter follows from what rejected it, whatever text the record itself has."""

from __future__ import annotations

import pytest
from graphtide_native.records import JsonLinesDecoder, Sequencer, Symbols, take_dead_letters
from graphtide_wire.dead_letters import ErrorCode, code_of

REST = b'"src":"a","dst":"b","label":"c"}\n'


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (b'{"ts":99,' + REST, ErrorCode.FUTURE),
        (b'{"ts":"99 is in the future: times",' + REST, ErrorCode.MALFORMED),
        (b'{"ts":1,"op":"upsert",' + REST, ErrorCode.UNKNOWN_OPERATION),
        (b'{"ts":1,"id":"' + b"i" * (1 << 24) + b'",' + REST, ErrorCode.TOO_LARGE),
        (b'{"ts":1,"src":"a","dst":"late: ts 1"}\n', ErrorCode.MALFORMED),
        (b"late: ts 1 is before the watermark 5\n", ErrorCode.MALFORMED),
    ],
)
def test_a_rejected_record_has_the_code_of_its_reason(record: bytes, code: ErrorCode) -> None:
    decoder = JsonLinesDecoder(Symbols(), (), {})
    decoder.accept_until(10)
    decoder.decode(record)
    decoder.finish()
    (letter,) = take_dead_letters(decoder)
    assert code_of(letter.reason) is code, letter.reason


def test_a_late_record_has_the_code_of_its_reason() -> None:
    decoder, sequencer = JsonLinesDecoder(Symbols(), (), {}), Sequencer(0, 10)
    for ts in (5, 1):
        sequencer.push(decoder.decode(b'{"ts":%d,' % ts + REST))
    (letter,) = take_dead_letters(sequencer)
    assert code_of(letter.reason) is ErrorCode.LATE
