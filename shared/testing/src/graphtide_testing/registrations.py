"""Registered patterns as the admin API writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphtide_core.any_pattern import ordered_stream
from graphtide_core.ports.log import Message
from graphtide_query import parse
from graphtide_query.reads import reads_of
from graphtide_wire import control
from graphtide_wire.reads_form import form_of

if TYPE_CHECKING:
    from datetime import datetime

    from graphtide_wire.topics import Topics


def registration(text: str, at: datetime, /, **changes: Any) -> control.PatternRecord:
    """Return the record of a text's one pattern, in its first version, with these members changed."""
    (pattern,) = parse(text)
    given: dict[str, Any] = {
        "name": pattern.name,
        "version": 1,
        "text": text,
        "stream": ordered_stream(pattern),
        "state": "active",
        "created_at": at,
        "updated_at": at,
        "etag": "1",
        "reads": form_of(reads_of(pattern)),
    }
    return control.PatternRecord(**given | changes)


def registering(topics: Topics, record: control.PatternRecord) -> Message:
    """Return the message that registers a pattern."""
    return Message(topics.patterns, record.name.encode(), control.encode_pattern(record))
