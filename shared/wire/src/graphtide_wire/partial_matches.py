"""Views of the partial matches of patterns, as hosts share them: MessagePack under a version.

A view is shared for a while only, so that a reader of another version may ignore it.
"""

from __future__ import annotations

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.partial_matches import PartialMatches

from graphtide_wire.json_form import Count, Instant, Name  # noqa: TC001 - msgspec reads annotations while the program runs

FORMAT = 1
"""Version of the form; rises where old readers would misread it."""


class PartialMatchesRecord(msgspec.Struct, frozen=True):
    """The partial matches of one version of a pattern on one host.

    `part` is the host and the stream; `at` is when the host looked. `position` is the offset of the next ordered record.
    """

    form: Count
    pattern: Name
    version: Count
    part: Name
    at: Instant
    position: Count
    view: PartialMatches


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(PartialMatchesRecord)
_FORM = msgspec.msgpack.Decoder(dict[str, msgspec.Raw])
_VIEW = msgspec.json.Decoder(PartialMatches)


def read_view(found: bytes) -> PartialMatches:
    """Return the view that the native matcher wrote as JSON."""
    return _VIEW.decode(found)


def encode_partial_matches(record: PartialMatchesRecord) -> bytes:
    """Return the bytes of a record."""
    return _ENCODER.encode(record)


def decode_partial_matches(value: bytes) -> PartialMatchesRecord | None:
    """Return the record; None if it is of another version of the form.

    Raises:
        PoisonRecordError: the bytes are no such record.
    """
    try:
        if msgspec.msgpack.decode(_FORM.decode(value).get("form", b"\xc0"), type=int) != FORMAT:
            return None
        return _DECODER.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = f"no view of partial matches: {error}"
        raise PoisonRecordError(reason, value) from error
