"""A raw record that the decoder fails on becomes a dead letter; those that were read with it are as they are without it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from graphtide_core.errors import TransientError
from graphtide_core.ports.log import Record
from graphtide_native.records import JsonLinesDecoder
from graphtide_ordering.raw_decoding import Decoded, RawDecoder
from graphtide_ordering.raw_groups import group_records
from graphtide_wire import raw
from graphtide_wire.dead_letters import ErrorCode
from graphtide_wire.raw import RawEdges
from hypothesis import given
from hypothesis import strategies as st


class NativePanicError(BaseException):
    """What a panic of native code looks like in Python: no `Exception`."""


def record(offset: int, *, bad: bool = False) -> Record:
    """Return a raw record of two edges."""
    lines = [{"ts": offset, "src": "bad" if bad else "a", "dst": str(each), "label": "k"} for each in range(2)]
    message = raw.encode("raw", RawEdges(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))
    return Record("raw", 0, offset, 0, None, message.value, message.headers)


def decode(records: list[Record], monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> Decoded:
    """Read records as one group with a decoder that fails on those that are bad."""
    decode = JsonLinesDecoder.decode_pieces

    def failing(self: Any, bodies: list[bytes], *rest: Any) -> Any:
        if any(b"bad" in body for body in bodies):
            raise error
        return decode(self, bodies, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(JsonLinesDecoder, "decode_pieces", failing)
        (group,) = group_records(records)
        return RawDecoder().decode(group, 10)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.sampled_from((ValueError, NativePanicError)))
def test_those_beside_it_are_read_as_without_it(bad: list[bool], error: type[BaseException]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        found = decode([record(offset, bad=each) for offset, each in enumerate(bad)], monkeypatch, error)
        good = [record(offset) for offset, each in enumerate(bad) if not each]
        alone = decode(good, monkeypatch, error) if good else Decoded([])
    assert [piece.record.offset for piece in found.pieces] == list(range(len(bad)))
    assert [piece for piece, each in zip(found.pieces, bad, strict=True) if not each] == alone.pieces
    letters = [piece.refused for piece, each in zip(found.pieces, bad, strict=True) if each]
    assert all(refused.code is ErrorCode.MALFORMED and error.__name__ in refused.reason for (refused,) in letters)
    ends = [piece.end for piece in found.pieces]
    assert ends == sorted(ends)
    edges = None if found.edges is None else found.edges.to_records()
    assert edges == (None if alone.edges is None else alone.edges.to_records())


def test_what_may_pass_by_itself_makes_no_dead_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (TransientError, MemoryError, OSError):
        with pytest.raises(error):
            decode([record(0, bad=True), record(1)], monkeypatch, error)
